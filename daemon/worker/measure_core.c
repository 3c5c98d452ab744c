/* SPDX-License-Identifier: MIT */
/* Clocks of the processor: asked of cpufreq, and told by a chain of additions. */
#include "daemon/worker/measure_core.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/clock.h"

enum { TRIES = 3, TURNS = 4096, ADDITIONS = 16 /* a turn */ };

static double cpufreq_mhz(void)
{
	char path[96], text[32] = "";
	double khz = 0;
	int cpu = sched_getcpu();

	if (cpu < 0)
		return 0;
	(void)snprintf(path, sizeof(path),
		"/sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", cpu);
	FILE *file = fopen(path, "re");
	if (!file)
		return 0;
	if (fgets(text, sizeof(text), file))
		khz = strtod(text, NULL);
	(void)fclose(file);
	return khz > 0 ? khz / 1e3 : 0;
}

#if defined(__x86_64__)
#define ADDITION "add %1, %0\n\t"
#elif defined(__aarch64__)
#define ADDITION "add %0, %0, %1\n\t"
#endif

#ifdef ADDITION
#define FOUR ADDITION ADDITION ADDITION ADDITION

/* Of registers: an addition of a constant may be folded before it is done. */
static double chain_mhz(void)
{
	unsigned long sum = 1, one = 1;
	double best = 0;

	for (int try = 0; try < TRIES; try++) {
		double before = kp_clock_s();
		for (int i = 0; i < TURNS; i++)
			__asm__ volatile(FOUR FOUR FOUR FOUR : "+r"(sum) : "r"(one));
		double mhz = 1e-6 * TURNS * ADDITIONS / (kp_clock_s() - before);
		best = mhz > best ? mhz : best;
	}
	return best;
}
#else
static double chain_mhz(void)
{
	return 0;
}
#endif

void measure_core_read(struct measure_core *core)
{
	*core = (struct measure_core){cpufreq_mhz(), chain_mhz()};
}
