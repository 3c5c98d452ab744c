/* SPDX-License-Identifier: MIT */
/* Verdicts, rates and messages of rows. */
#include "daemon/bench_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/bench_verdict.h"
#include "daemon/worker/measure_clock.h"
#include "lib/json.h"
#include "lib/text.h"

enum {
	CLOCK_SLACK_MS = 5, /* the loop's clock is a little late, and has whole ones */
};
static const double call_least_us = 1e-4; /* less than a cycle of any processor */

/* How the row was checked belongs to what it says. */
static json_t *whole_message(
	const struct bench_plan *plan, const char *verdict, char *text)
{
	bool is_timed = strcmp(verdict, "ok") == 0 || strcmp(verdict, "unverified") == 0;
	const char *why = plan->trouble ? plan->trouble : plan->remark;
	const char *remark = is_timed ? why : NULL;

	if (!text && !remark)
		return json_null();
	return kp_json_clean_string(text ? text : remark);
}

/* ---- rates ------------------------------------------------------------------------- */

static double element_bytes(
	const struct kp_role *role, const struct kp_signature *signature)
{
	struct kp_format format;

	return kp_family_format(role, signature, &format)
		       ? (double)kp_element_bytes(format.element)
		       : 0;
}

/* Bytes that one call must move, each once; a role that is read and written, twice. */
static double traffic(const struct bench_plan *plan, const struct kp_shape *shape)
{
	struct kp_signature signature;
	double bytes = 0;

	if (kp_signature_parse(plan->signature, &signature, NULL) < 0)
		return 0;
	for (size_t i = 0; i < plan->family->n_roles; i++) {
		const struct kp_role *role = &plan->family->roles[i];
		double times = role->direction == KP_INOUT ? 2 : 1;
		bytes += times * kp_family_touched(plan->family, shape, role) *
			 element_bytes(role, &signature);
	}
	return bytes;
}

/* Work of one call over its median; null where there is none or it is nothing. */
static json_t *rate(double work, const json_t *median_us)
{
	double value = work / (json_number_value(median_us) * 1e3);

	if (!json_is_number(median_us) || !(work > 0) || !isfinite(value))
		return json_null();
	return json_real(value);
}

/* ---- words that no clock can have told -------------------------------------------- */

static double told(const json_t *report, const char *key)
{
	return json_number_value(json_object_get(report, key));
}

/*
 * A kernel runs in the process that reports on it. What it makes up must at least
 * have taken the time that it says, and as long as was asked for: then there is little
 * to be won. Half of the samples are not below their median.
 */
static const char *implausible(const struct bench_plan *plan, const json_t *report,
	const struct kp_worker_result *result)
{
	double elapsed_us = 1e3 * (result->elapsed_ms + CLOCK_SLACK_MS);
	double samples = told(report, "samples");
	double median = told(report, "median_us");

	if (!json_is_number(json_object_get(report, "median_us")))
		return NULL;
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
	if (samples < MEASURE_SAMPLES_MOST && 1e6 * plan->time_s > elapsed_us)
		return "implausible: its worker ran shorter than was asked for";
	return NULL;
}

/* ---- the row ----------------------------------------------------------------------- */

/* A number of the report that can be shown, or null. */
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

static json_t *text_or_null(const char *text)
{
	return text && text[0] ? json_string(text) : json_null();
}

static int set_numbers(const struct bench_plan *plan, const struct kp_shape *shape,
	const json_t *report, json_t *run)
{
	static const char *const times[] = {"median_us", "p10_us", "p90_us", "min_us",
		"max_us", "max_error", "tolerance"};
	int failed = 0;

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		failed |= json_object_set_new(run, times[i], number(report, times[i]));
	const json_t *median = json_object_get(run, "median_us");
	bool known = !plan->is_unusual;
	double flops =
		known ? kp_family_work(plan->family, shape, &plan->family->flops) : 0;
	double bytes = known ? traffic(plan, shape) : 0;
	failed |= json_object_set_new(run, "gflops", rate(flops, median));
	failed |= json_object_set_new(run, "gbytes_per_s", rate(bytes, median));
	return failed;
}

json_t *bench_run_json(const struct bench_plan *plan, const struct bench_row *row,
	const json_t *report, const json_t *fault, const struct kp_worker_result *result)
{
	const struct bench_words words = {report, fault, NULL};
	const json_t *said = result && result->end == KP_WORKER_DONE ? report : NULL;
	const char *lie = said ? implausible(plan, said, result) : NULL;
	const char *verdict = lie ? "error" : bench_verdict(row, &words, result);
	json_t *extents = json_array_get(plan->shapes, row->shape);
	char *text = lie ? bench_message_copy(lie) : bench_message(row, &words, result);
	struct kp_shape shape = {0};

	said = lie ? NULL : said;

	json_t *run = json_pack(
		"{s:s, s:s, s:o, s:s, s:O, s:O?, s:I, s:s, s:o, s:I, s:I}", "operation",
		plan->family->operation, "kernel", row->source.id, "sha256",
		text_or_null(row->source.digest), "signature", plan->signature, "shape",
		extents, "traits", plan->traits, "seed", plan->seed, "verdict", verdict,
		"message", whole_message(plan, verdict, text), "samples",
		count(said, "samples"), "warmup", count(said, "warmup"));
	free(text);
	if (kp_shape_from_json(extents, plan->family, &shape, NULL) < 0 || !run ||
		set_numbers(plan, &shape, said, run) != 0) {
		json_decref(run);
		return NULL;
	}
	return run;
}
