/* SPDX-License-Identifier: MIT */
/*
 * Numbers that look random and are the same everywhere for the same seed:
 * SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number
 * generators", OOPSLA 2014). Not for secrets.
 */
#ifndef KP_LIB_RANDOM_H
#define KP_LIB_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

struct kp_random {
	uint64_t state;
	bool has_spare; /* of the pair that Box-Muller makes */
	double spare;
};

/* A stream of its own for every seed and name. */
void kp_random_seed(struct kp_random *random, uint64_t seed, const char *name);

uint64_t kp_random_next(struct kp_random *random);
/* [0, 1), 53 bits. */
double kp_random_unit(struct kp_random *random);
/* [0, below), each as likely (rejection); 0 when `below` is 0. */
uint64_t kp_random_below(struct kp_random *random, uint64_t below);
/* Standard normal (Box and Muller, 1958). */
double kp_random_normal(struct kp_random *random);

#endif
