/* SPDX-License-Identifier: MIT */
/* Warm-up, samples, and the checks between them. */
#include "daemon/worker/measure_clock.h"

#include <stdlib.h>

#include "daemon/worker/measure_result.h"
#include "lib/base/clock.h"

enum { PATIENCE = 10, WARMUP = 3, SAMPLES_LEAST = 3, REPEATS_MOST = 1 << 20 };
static const double sample_s = 20e-6;
static const double warmup_most_s = 0.05;

/* A call that takes all the time that there is has warmed itself. */
static bool is_cold(unsigned calls, double elapsed, double most, double time_s)
{
	return elapsed < most || (calls < WARMUP && elapsed < time_s);
}

/* Until the kernel has shown how long it takes when nothing is new to it. */
static int warm_up(struct measure_kernel *kernel, double time_s,
	struct measure_times *times, struct kp_diag *diag)
{
	double most = time_s / 4 < warmup_most_s ? time_s / 4 : warmup_most_s;
	double start = kp_clock_s(), fastest = 1e9;

	do {
		double before = kp_clock_s();
		if (measure_kernel_run(kernel, diag) < 0)
			return -1;
		double took = kp_clock_s() - before;
		fastest = took < fastest ? took : fastest;
		times->warmup++;
	} while (is_cold(times->warmup, kp_clock_s() - start, most, time_s));
	double repeats = fastest > 0 ? sample_s / fastest : REPEATS_MOST;
	times->repeats = repeats < 1		  ? 1
			 : repeats > REPEATS_MOST ? REPEATS_MOST
						  : (unsigned)(repeats + 1);
	return 0;
}

static int take_sample(struct measure_kernel *kernel, unsigned repeats, double *sample)
{
	int status = 0;
	double before = kp_clock_s();

	for (unsigned i = 0; i < repeats; i++)
		status |= measure_kernel_call(kernel);
	*sample = (kp_clock_s() - before) / repeats;
	return status;
}

/* A status was lost in the sum: the call is made again to hear it. */
static int say_failure(struct measure_kernel *kernel, struct kp_diag *diag)
{
	if (measure_kernel_run(kernel, diag) < 0)
		return -1;
	return kp_diag_set(diag, "error", "run",
		"run failed while it was timed, and not when it was called again");
}

/* Of what is wanted of all rounds together. */
static size_t share(const struct measure_wish *wish, size_t of_all)
{
	return (of_all + wish->rounds - 1) / wish->rounds;
}

bool measure_wants_more(size_t count, double elapsed, const struct measure_wish *wish)
{
	if (count < share(wish, SAMPLES_LEAST))
		return true;
	if (count >= MEASURE_SAMPLES_MOST)
		return false;
	return elapsed < wish->time_s || (count < share(wish, MEASURE_SAMPLES) &&
						 elapsed < PATIENCE * wish->time_s);
}

/* What a call does to its own inputs cannot be checked after several calls. */
static bool is_checked(const struct measure_case *c, size_t number)
{
	return !c->drifts && (number & (number - 1)) == 0;
}

/* One sample, perhaps with a check around it; the check's time does not count. */
static int sample(struct measure_kernel *kernel, struct measure_case *c, size_t number,
	unsigned repeats, double *seconds, struct kp_diag *diag)
{
	bool checked = is_checked(c, number);

	if (checked && measure_case_poison(c, diag) < 0)
		return -1;
	if (take_sample(kernel, repeats, seconds) != 0)
		return say_failure(kernel, diag);
	return checked ? measure_result_check(c, diag) : 0;
}

static int take_samples(struct measure_kernel *kernel, struct measure_case *c,
	const struct measure_wish *wish, struct measure_times *times, double *samples,
	size_t *count, struct kp_diag *diag)
{
	double start = kp_clock_s();
	size_t n = 0;

	while (measure_wants_more(n, kp_clock_s() - start, wish)) {
		if (sample(kernel, c, n + 1, times->repeats, &samples[n], diag) < 0)
			return -1;
		samples[n++] *= 1e6;
	}
	*count = n;
	return c->drifts ? 0 : measure_result_check(c, diag);
}

/* They are sorted afterwards: then nobody can tell when which was taken. */
void measure_keep(const double *samples, size_t count, const struct measure_wish *wish,
	struct measure_times *times)
{
	size_t most = wish->keep < MEASURE_KEPT ? wish->keep : MEASURE_KEPT;

	times->n_kept = count < most ? count : most;
	for (size_t i = 0; i < times->n_kept; i++)
		times->kept[i] = samples[i * count / times->n_kept];
}

int measure_time(struct measure_kernel *kernel, struct measure_case *c,
	const struct measure_wish *wish, struct measure_times *times,
	struct kp_diag *diag)
{
	double *samples = calloc(MEASURE_SAMPLES_MOST, sizeof(*samples));
	size_t count;

	*times = (struct measure_times){0};
	if (!samples)
		return kp_diag_set(diag, "error", NULL, "memory is exhausted");
	int failed = warm_up(kernel, wish->time_s, times, diag) < 0 ||
		     take_samples(kernel, c, wish, times, samples, &count, diag) < 0;
	if (!failed)
		measure_keep(samples, count, wish, times);
	if (!failed && !kp_stats_of(samples, count, &times->stats))
		failed = kp_diag_set(diag, "error", NULL, "the clock gave no times");
	free(samples);
	return failed ? -1 : 0;
}
