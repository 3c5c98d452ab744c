/* SPDX-License-Identifier: MIT */
/* Rows as objects of the interface. */
#include "daemon/bench/bench_run.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/bench/bench_plausible.h"
#include "daemon/bench/bench_verdict.h"
#include "daemon/bench/bench_work.h"
#include "lib/base/json.h"
#include "lib/base/owned.h"

static bool is_timed(const char *verdict)
{
	return strcmp(verdict, "ok") == 0 || strcmp(verdict, "unverified") == 0;
}

/* How the row was checked belongs to what it says. */
static json_t *whole_message(
	const struct bench_plan *plan, const char *verdict, const char *text)
{
	const char *why = plan->trouble ? plan->trouble : plan->remark;
	const char *remark = is_timed(verdict) ? why : NULL;

	if (!text && !remark)
		return json_null();
	return kp_json_clean_string(text ? text : remark);
}

/* ---- parts ------------------------------------------------------------------------- */

static json_t *told(const json_t *report, const char *key)
{
	const json_t *value = json_object_get(report, key);

	return json_is_number(value) ? bench_number(json_number_value(value))
				     : json_null();
}

static json_int_t count(const json_t *report, const char *key)
{
	json_int_t value = json_integer_value(json_object_get(report, key));

	return value > 0 ? value : 0;
}

static json_t *plugin_json(const struct bench_row *row)
{
	const struct bench_source *source = &row->source;
	char *plugin = strndup(source->id, strcspn(source->id, "/"));
	json_t *value = json_pack("{s:s?, s:o, s:o, s:o, s:o, s:o}", "plugin", plugin,
		"version", kp_json_clean_or_null(source->version), "sha256",
		kp_json_clean_or_null(source->digest), "closure",
		kp_json_clean_or_null(source->closure), "solution",
		kp_json_clean_or_null(source->solution), "priority",
		source->priority >= 0 ? json_integer(source->priority) : json_null());

	free(plugin);
	return value;
}

/* NULL of stats: there are no times. */
static json_t *times_json(const struct kp_stats *stats)
{
	static const struct {
		const char *key;
		size_t offset;
	} times[] = {
		{"median_us", offsetof(struct kp_stats, median)},
		{"p10_us", offsetof(struct kp_stats, p10)},
		{"p90_us", offsetof(struct kp_stats, p90)},
		{"min_us", offsetof(struct kp_stats, min)},
		{"max_us", offsetof(struct kp_stats, max)},
		{"mad_us", offsetof(struct kp_stats, mad)},
		{"low_us", offsetof(struct kp_stats, low)},
		{"high_us", offsetof(struct kp_stats, high)},
	};
	json_t *object = json_object();

	for (size_t i = 0; object && i < KP_COUNT(times); i++) {
		const char *at = (const char *)stats + times[i].offset;
		json_t *time = stats ? bench_number(*(const double *)(const void *)at)
				     : json_null();
		(void)json_object_set_new(object, times[i].key, time);
	}
	return object;
}

static json_t *work_json(const struct bench_plan *plan, const struct kp_shape *shape,
	const struct kp_stats *stats)
{
	struct bench_work work;
	double us = stats ? stats->median : 0;

	bench_work_init(&work, plan, shape);
	json_t *object = json_pack("{s:o, s:o, s:o}", "work", bench_work_json(&work),
		"gflops", bench_work_rate(work.flops, us), "gbytes_per_s",
		bench_work_rate(work.bytes, us));
	bench_work_finish(&work);
	return object;
}

/* How it was checked, and how well it went; null where nobody said what is right. */
static json_t *check_json(
	const struct bench_plan *plan, const json_t *report, const json_t *error)
{
	static const char *const kinds[] = {"norm", "exact", "set", "distribution"};
	const json_t *passed = json_object_get(report, "passed");
	const json_t *failed = json_object_get(report, "failed");

	if (!report || !plan->reference.stored || plan->trouble)
		return json_null();
	return json_pack("{s:s, s:o, s:o, s:s, s:o, s:o}", "kind",
		kinds[plan->family->check], "tolerance", told(report, "tolerance"),
		"max_error", kp_json_or_null(error), "reference", plan->reference.id,
		"passed", json_is_array(passed) ? kp_json_or_null(passed) : json_array(),
		"failed", kp_json_or_null(failed));
}

/* null for a row that nobody timed on a GPU. */
static json_t *gpu_json(const struct bench_row *row, const json_t *report)
{
	const json_t *said = json_object_get(report, "gpu");
	const char *id = json_string_value(json_object_get(row->device, "id"));

	if (!json_is_object(said) || !id)
		return json_null();
	return json_pack("{s:o, s:I, s:b, s:b, s:o, s:o}", "device",
		kp_json_clean_string(id), "sets", count(said, "sets"), "cold",
		json_is_true(json_object_get(said, "cold")), "graph",
		json_is_true(json_object_get(said, "graph")), "copy_gbytes_per_s",
		told(said, "copy_gbytes_per_s"), "clock_mhz", told(said, "clock_mhz"));
}

static json_t *sampling_json(
	const struct bench_row *row, const json_t *report, bool is_good)
{
	const struct bench_taken *taken = &row->taken;

	return json_pack("{s:I, s:I, s:o, s:o, s:o, s:o}", "samples",
		is_good ? taken->samples : count(report, "samples"), "warmup",
		is_good ? taken->warmup : count(report, "warmup"), "samples_us",
		is_good ? bench_taken_samples(taken) : json_array(), "order",
		taken->order ? json_incref(taken->order) : json_array(), "repeats",
		is_good ? kp_json_or_null(taken->repeats) : json_array(), "clocks",
		is_good ? kp_json_or_null(taken->clocks) : json_array());
}

/* ---- the row ----------------------------------------------------------------------- */

bool bench_run_keep(const struct bench_plan *plan, struct bench_row *row,
	const struct bench_words *words, const struct kp_worker_result *result)
{
	if (!is_timed(bench_verdict(row, words, result)) ||
		bench_implausible(plan, words, result))
		return false;
	return bench_taken_add(&row->taken, words->report, words->samples) == 0;
}

static json_t *what_json(const struct bench_plan *plan, const struct bench_row *row,
	const char *verdict, const char *text)
{
	return json_pack("{s:s, s:s, s:s, s:O, s:O?, s:I, s:i, s:I, s:s, s:o, s:n}",
		"operation", plan->family->operation, "kernel", row->source.id,
		"signature", plan->signature, "shape",
		json_array_get(plan->shapes, row->shape), "traits", plan->traits, "seed",
		plan->seed, "threads", plan->threads > 0 ? (int)plan->threads : 1,
		"revision", (json_int_t)plan->family->revision, "verdict", verdict,
		"message", whole_message(plan, verdict, text), "share");
}

json_t *bench_run_json(const struct bench_plan *plan, const struct bench_row *row,
	const struct bench_words *words, const struct kp_worker_result *result)
{
	const json_t *report =
		result && result->end == KP_WORKER_DONE ? words->report : NULL;
	const char *lie = report ? bench_implausible(plan, words, result) : NULL;
	const char *verdict = lie ? "error" : bench_verdict(row, words, result);
	const json_t *said = lie ? NULL : report;
	owned_text text =
		lie ? bench_message_copy(lie) : bench_message(row, words, result);
	struct kp_stats stats;
	struct kp_shape shape = {0};
	bool is_good = is_timed(verdict) && bench_taken_stats(&row->taken, &stats);

	if (kp_shape_from_json(json_array_get(plan->shapes, row->shape), plan->family,
		    &shape, NULL) < 0)
		return NULL;
	json_t *run = what_json(plan, row, verdict, text);
	run = kp_json_merge(run, plugin_json(row));
	run = kp_json_merge(run, sampling_json(row, said, is_good));
	run = kp_json_merge(run, times_json(is_good ? &stats : NULL));
	run = kp_json_merge(run, work_json(plan, &shape, is_good ? &stats : NULL));
	json_t *error =
		is_good ? bench_number(row->taken.error) : told(said, "max_error");
	return kp_json_merge(run,
		json_pack("{s:o, s:o, s:o, s:o}", "check", check_json(plan, said, error),
			"tolerance", told(said, "tolerance"), "max_error", error, "gpu",
			gpu_json(row, said)));
}

/* ---- beside others ----------------------------------------------------------------- */

static double right_median(const struct bench_row *row)
{
	const char *verdict = json_string_value(json_object_get(row->run, "verdict"));
	double median = json_number_value(json_object_get(row->run, "median_us"));

	return verdict && strcmp(verdict, "ok") == 0 && median > 0 ? median : INFINITY;
}

void bench_run_compare(struct bench_row *rows, size_t count)
{
	double best = INFINITY;

	for (size_t i = 0; i < count; i++)
		best = fmin(best, right_median(&rows[i]));
	for (size_t i = 0; i < count; i++) {
		double median =
			json_number_value(json_object_get(rows[i].run, "median_us"));
		if (median > 0 && isfinite(best))
			(void)json_object_set_new(
				rows[i].run, "share", bench_number(best / median));
	}
}
