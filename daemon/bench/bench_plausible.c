/* SPDX-License-Identifier: MIT */
/* Times of a worker, held against what it can have measured. */
#include "daemon/bench/bench_plausible.h"

#include <stdint.h>
#include <string.h>

#include "daemon/worker/measure_clock.h"

enum { CLOCK_SLACK_MS = 5 }; /* the loop's clock is a little late, and has whole ones */
static const double call_least_us = 1e-4; /* less than a cycle of any processor */
static const double ps_us = 1e-6;

static double told(const json_t *report, const char *key)
{
	return json_number_value(json_object_get(report, key));
}

static bool is_right(const json_t *report)
{
	const char *verdict = json_string_value(json_object_get(report, "verdict"));

	if (!verdict)
		return false;
	return strcmp(verdict, "ok") == 0 || strcmp(verdict, "unverified") == 0;
}

/* The samples one by one: no more than were taken, and none beyond the least and the
 * largest, but for their last digit. */
static const char *samples_implausible(const json_t *report, const json_t *samples)
{
	double min = told(report, "min_us"), max = told(report, "max_us");
	size_t i;
	json_t *sample;

	if (json_array_size(samples) == 0)
		return "implausible: it has no samples";
	if ((double)json_array_size(samples) > told(report, "samples"))
		return "implausible: it tells more samples than it took";
	json_array_foreach ((json_t *)(uintptr_t)samples, i, sample) {
		double us = 1e-6 * (double)json_integer_value(sample);
		if (!json_is_integer(sample) || us < min - ps_us || us > max + ps_us)
			return "implausible: a sample is none of its times";
	}
	return NULL;
}

/*
 * A kernel runs in the process that reports on it. What it makes up must at least
 * have taken the time that it says, and as long as was asked for: then there is little
 * to be won. Half of the samples are not below their median.
 */
const char *bench_implausible(const struct bench_plan *plan,
	const struct bench_words *words, const struct kp_worker_result *result)
{
	const json_t *report = words->report;
	double elapsed_us = 1e3 * (result->elapsed_ms + CLOCK_SLACK_MS);
	double samples = told(report, "samples");
	double median = told(report, "median_us");

	if (!json_is_number(json_object_get(report, "median_us")))
		return is_right(report) ? "implausible: it is right and has no times"
					: NULL;
	if (!(samples >= 1 && samples <= MEASURE_SAMPLES_MOST))
		return "implausible: nobody takes so many samples";
	if (!(median >= call_least_us))
		return "implausible: no call is so quick";
	if (!(told(report, "min_us") <= told(report, "p10_us") &&
		    told(report, "p10_us") <= median &&
		    median <= told(report, "p90_us") &&
		    told(report, "p90_us") <= told(report, "max_us")))
		return "implausible: its times are in no order";
	if (samples / 2 * median > elapsed_us)
		return "implausible: its samples take longer than its worker ran";
	if (samples < MEASURE_SAMPLES_MOST &&
		1e6 * plan->time_s / bench_rounds(plan) > elapsed_us)
		return "implausible: its worker ran shorter than was asked for";
	return samples_implausible(report, words->samples);
}
