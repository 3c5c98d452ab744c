/* SPDX-License-Identifier: MIT */
/* SplitMix64 and what is drawn from it. */
#include "lib/base/random.h"

#include <math.h>
#include <string.h>

#include "lib/base/hash.h"

void kp_random_seed(struct kp_random *random, uint64_t seed, const char *name)
{
	*random = (struct kp_random){.state = seed};
	random->state =
		kp_random_next(random) ^ kp_hash_bytes(KP_HASH_START, name, strlen(name));
}

uint64_t kp_random_next(struct kp_random *random)
{
	uint64_t z = random->state += 0x9e3779b97f4a7c15U;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
	z = (z ^ z >> 27) * 0x94d049bb133111ebU;
	return z ^ z >> 31;
}

double kp_random_unit(struct kp_random *random)
{
	return (double)(kp_random_next(random) >> 11) * 0x1p-53;
}

uint64_t kp_random_below(struct kp_random *random, uint64_t below)
{
	if (below == 0)
		return 0;
	/* The lowest 2^64 mod below values would make small results likelier. */
	uint64_t skip = -below % below;
	uint64_t value = kp_random_next(random);
	while (value < skip)
		value = kp_random_next(random);
	return value % below;
}

double kp_random_normal(struct kp_random *random)
{
	if (random->has_spare) {
		random->has_spare = false;
		return random->spare;
	}
	/* 1 - unit is never 0, which has no logarithm. */
	double radius = sqrt(-2 * log(1 - kp_random_unit(random)));
	double angle = 2 * 3.14159265358979323846 * kp_random_unit(random);
	random->spare = radius * sin(angle);
	random->has_spare = true;
	return radius * cos(angle);
}
