/* SPDX-License-Identifier: MIT */
/* Jobs of a verification, and what becomes of their words. */
#include "daemon/bench/verify_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/bench/bench_verdict.h"
#include "lib/base/json.h"

enum {
	CALLS_A_SEED = 14, /* two in each layout */
	CALLS_MORE = 80,   /* further ones, and those that break rules */
	PATIENCE_MS = 3000,
	THREADS = 2,
	FINDINGS = 32,
	TEXT = 1024, /* bytes of what a worker says */
};

static json_t *more(const struct bench_plan *plan, const struct bench_row *row)
{
	json_t *grown = json_object_get(row->details, "grown");

	return json_pack("{s:O, s:O, s:O?, s:i}", "seeds",
		json_object_get(plan->details, "seeds"), "layouts",
		json_object_get(plan->details, "layouts"), "grown", grown, "threads",
		THREADS);
}

/* Beside the calls there are inputs to be made and results to be compared. */
static double timeout_ms(
	const struct bench_plan *plan, const struct bench_row *row, double call_ms)
{
	size_t seeds = json_array_size(json_object_get(plan->details, "seeds"));
	double calls = (double)(seeds * CALLS_A_SEED + CALLS_MORE);

	return bench_start_ms(row) + PATIENCE_MS + calls * BENCH_SLOWNESS * call_ms;
}

static const char *verdict_of(const struct bench_row *row,
	const struct bench_words *words, const struct kp_worker_result *result)
{
	const char *said = json_string_value(json_object_get(words->report, "verdict"));

	if (result && result->end == KP_WORKER_DONE && said &&
		strcmp(said, "finding") == 0)
		return "finding";
	return bench_verdict(row, words, result);
}

/* ---- words of workers -------------------------------------------------------------- */

static json_t *number(const json_t *report, const char *key)
{
	json_t *value = json_object_get(report, key);
	bool good = json_is_number(value) && isfinite(json_number_value(value)) &&
		    json_number_value(value) >= 0;

	return good ? json_incref(value) : json_null();
}

static json_int_t count(const json_t *report, const char *key)
{
	json_int_t value = json_integer_value(json_object_get(report, key));

	return value > 0 ? value : 0;
}

static json_t *strides_json(const json_t *said)
{
	json_t *all = json_object(), *strides;
	const char *role;

	json_object_foreach ((json_t *)said, role, strides) {
		json_t *one = json_array(), *stride;
		size_t i;
		json_array_foreach (strides, i, stride)
			one = kp_json_append(
				one, json_integer(json_integer_value(stride)));
		if (json_object_set_new(all, role, one) < 0) {
			json_decref(all);
			return NULL;
		}
	}
	return all;
}

/* A case, or null. */
static json_t *case_json(const json_t *said)
{
	const char *layout = json_string_value(json_object_get(said, "layout"));

	if (!layout)
		return json_null();
	return json_pack("{s:o, s:I, s:o}", "layout", kp_json_clean_string(layout),
		"seed", count(said, "seed"), "strides",
		strides_json(json_object_get(said, "strides")));
}

static json_t *findings_json(const json_t *said)
{
	json_t *all = json_array(), *finding;
	size_t i;

	json_array_foreach ((json_t *)said, i, finding) {
		char *text = i < FINDINGS && json_is_string(finding)
				     ? strndup(json_string_value(finding), TEXT)
				     : NULL;
		if (text)
			all = kp_json_append(all, kp_json_clean_string(text));
		free(text);
	}
	return all;
}

/* The case that failed by the worker's word, or that it died in. */
static json_t *failed_json(const json_t *report, const struct bench_words *words,
	const struct kp_worker_result *result)
{
	bool died = result && result->end != KP_WORKER_DONE;

	return case_json(died ? words->at : json_object_get(report, "failed"));
}

/* How it was checked belongs to what it says. */
static json_t *message_json(
	const struct bench_plan *plan, const char *verdict, const char *text)
{
	bool ran = strcmp(verdict, "ok") == 0 || strcmp(verdict, "unverified") == 0 ||
		   strcmp(verdict, "finding") == 0;
	const char *why = plan->trouble ? plan->trouble : plan->remark;

	return kp_json_clean_or_null(text ? text : ran ? why : NULL);
}

static json_t *run_json(const struct bench_plan *plan, const struct bench_row *row,
	const struct bench_words *words, const struct kp_worker_result *result)
{
	const json_t *report =
		result && result->end == KP_WORKER_DONE ? words->report : NULL;
	const char *verdict = verdict_of(row, words, result);
	char *text = bench_message(row, words, result);
	const char *digest = row->source.digest;
	json_t *run = json_pack(
		"{s:s, s:s, s:o, s:s, s:O, s:O, s:O, s:s, s:o, s:I, s:I, s:I, s:o, s:o, "
		"s:o, s:o}",
		"operation", plan->family->operation, "kernel", row->source.id, "sha256",
		kp_json_clean_or_null(digest), "signature", plan->signature, "shape",
		json_array_get(plan->shapes, row->shape), "traits", plan->traits, "seeds",
		json_object_get(plan->details, "seeds"), "verdict", verdict, "message",
		message_json(plan, verdict, text), "cases", count(report, "cases"),
		"passed", count(report, "passed"), "unsupported",
		count(report, "unsupported"), "failed",
		failed_json(report, words, result), "findings",
		findings_json(json_object_get(report, "findings")), "max_error",
		number(report, "max_error"), "tolerance", number(report, "tolerance"));

	free(text);
	return run;
}

const struct bench_task verify_task = {
	.kind = "verify", .more = more, .timeout_ms = timeout_ms, .run = run_json};
