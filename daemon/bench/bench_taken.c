/* SPDX-License-Identifier: MIT */
/* Rounds put together. */
#include "daemon/bench/bench_taken.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/bench/bench_work.h"
#include "lib/base/json.h"

static double told(const json_t *report, const char *key)
{
	return json_number_value(json_object_get(report, key));
}

static int add_samples(struct bench_taken *taken, const json_t *samples_ps)
{
	size_t more = json_array_size(samples_ps);
	double *us = reallocarray(taken->us, taken->count + more + 1, sizeof(*us));

	if (!us)
		return -1;
	taken->us = us;
	for (size_t i = 0; i < more; i++)
		us[taken->count + i] =
			1e-6 * (double)json_integer_value(json_array_get(samples_ps, i));
	taken->count += more;
	return 0;
}

static int append(json_t **list, json_t *item)
{
	if (!*list)
		*list = json_array();
	return json_array_append_new(*list, item);
}

static json_t *clock_json(const json_t *report)
{
	return json_pack("{s:o, s:o}", "cpufreq_mhz",
		kp_json_or_null(json_object_get(report, "cpufreq_mhz")), "chain_mhz",
		kp_json_or_null(json_object_get(report, "chain_mhz")));
}

int bench_taken_add(
	struct bench_taken *taken, const json_t *report, const json_t *samples_ps)
{
	double min = told(report, "min_us"), max = told(report, "max_us");

	if (taken->rounds == BENCH_ROUNDS_MOST || add_samples(taken, samples_ps) < 0 ||
		append(&taken->repeats,
			json_integer((json_int_t)told(report, "repeats"))) < 0 ||
		append(&taken->clocks, clock_json(report)) < 0)
		return -1;
	taken->min = taken->rounds == 0 || min < taken->min ? min : taken->min;
	taken->max = taken->rounds == 0 || max > taken->max ? max : taken->max;
	const json_t *error = json_object_get(report, "max_error");
	double value = json_is_number(error) ? json_number_value(error) : -1;
	taken->error = taken->rounds == 0 || value > taken->error ? value : taken->error;
	taken->medians[taken->rounds++] = told(report, "median_us");
	taken->samples += json_integer_value(json_object_get(report, "samples"));
	taken->warmup += json_integer_value(json_object_get(report, "warmup"));
	return 0;
}

bool bench_taken_stats(const struct bench_taken *taken, struct kp_stats *stats)
{
	double *copy = calloc(taken->count + 1, sizeof(*copy));
	bool good = copy && taken->count > 0;

	if (good) {
		memcpy(copy, taken->us, taken->count * sizeof(*copy));
		good = kp_stats_of(copy, taken->count, stats);
	}
	free(copy);
	if (!good)
		return false;
	stats->min = taken->min;
	stats->max = taken->max;
	for (size_t i = 0; i < taken->rounds; i++) {
		stats->low = fmin(stats->low, taken->medians[i]);
		stats->high = fmax(stats->high, taken->medians[i]);
	}
	return true;
}

json_t *bench_taken_samples(const struct bench_taken *taken)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < taken->count; i++)
		list = kp_json_append(list, bench_number(taken->us[i]));
	return list;
}

void bench_taken_finish(struct bench_taken *taken)
{
	free(taken->us);
	json_decref(taken->order);
	json_decref(taken->repeats);
	json_decref(taken->clocks);
	*taken = (struct bench_taken){0};
}
