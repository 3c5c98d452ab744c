/* SPDX-License-Identifier: MIT */
/* Matching runs, and what may be said of the difference. */
#include "cmd/bench_change.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "cmd/bench_table.h"
#include "cmd/field.h"
#include "lib/base/json.h"
#include "lib/base/owned.h"

static const double width_most = 0.25;

static const char *const verdicts[] = {
	"slower", "wrong", "unstable", "missing", "indistinguishable", "faster", "new"};

/* What is said of the times of a run. */
struct times {
	double p10, low, median, high, p90;
};

static double us(const json_t *run, const char *key)
{
	return json_number_value(json_object_get(run, key));
}

/* false: it has none. */
static bool times_of(const json_t *run, struct times *times)
{
	*times = (struct times){us(run, "p10_us"), us(run, "low_us"),
		us(run, "median_us"), us(run, "high_us"), us(run, "p90_us")};
	return run && times->median > 0 && times->low > 0 && isfinite(times->high);
}

static bool is_wide(const struct times *times)
{
	return times->high - times->low > width_most * times->median;
}

/* Are both medians and most of the samples on the same side? */
static bool is_clear(const struct times *fast, const struct times *slow)
{
	return fast->p90 < slow->median && slow->p10 > fast->median;
}

static const char *judge(
	const struct times *old, const struct times *new, double threshold)
{
	bool is_slower = new->median > old->median;
	const struct times *fast = is_slower ? old : new, *slow = is_slower ? new : old;

	if (is_wide(old) || is_wide(new))
		return "unstable";
	if (slow->low <= fast->high || fabs(new->median / old->median - 1) <= threshold)
		return "indistinguishable";
	if (!is_clear(fast, slow))
		return "unstable";
	return is_slower ? "slower" : "faster";
}

/* ---- rows -------------------------------------------------------------------- */

static const json_t *find(const json_t *runs, const json_t *wanted)
{
	const char *kernel = field_text(wanted, "kernel", "");
	size_t i;
	json_t *run;
	json_array_foreach ((json_t *)(uintptr_t)runs, i, run)
		if (field_is(run, "kernel", kernel) && bench_table_same_work(run, wanted))
			return run;
	return NULL;
}

/* Of a run what a comparison shows; null where there is none. */
static json_t *side_json(const json_t *run)
{
	static const char *const keys[] = {"median_us", "low_us", "high_us", "p10_us",
		"p90_us", "samples", "sha256", "verdict"};
	json_t *side = run ? json_object() : json_null();
	for (size_t i = 0; run && side && i < KP_COUNT(keys); i++)
		(void)json_object_set_new(
			side, keys[i], kp_json_or_null(json_object_get(run, keys[i])));
	return side;
}

static json_t *ratio_json(double over, double under)
{
	double ratio = under > 0 ? over / under : -1;
	return isfinite(ratio) && ratio > 0 ? json_real(ratio) : json_null();
}

static json_t *row_json(const json_t *old, const json_t *new, double threshold)
{
	const json_t *any = new ? new : old;
	struct times before, now;
	bool has_old = times_of(old, &before), has_new = times_of(new, &now);
	bool both = has_old && has_new;
	const char *verdict = "missing";
	if (new &&bench_table_is_failure(field_text(new, "verdict", "?")))
		verdict = "wrong";
	else if (both)
		verdict = judge(&before, &now, threshold);
	else if (has_new)
		verdict = "new";
	return json_pack("{s:O, s:O, s:O, s:O, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:o}",
		"operation", json_object_get(any, "operation"), "kernel",
		json_object_get(any, "kernel"), "signature",
		json_object_get(any, "signature"), "shape", json_object_get(any, "shape"),
		"traits", kp_json_or_null(json_object_get(any, "traits")), "old",
		side_json(old), "new", side_json(new), "ratio",
		ratio_json(both ? now.median : -1, before.median), "ratio_low",
		ratio_json(both ? now.low : -1, before.high), "ratio_high",
		ratio_json(both ? now.high : -1, before.low), "verdict", verdict,
		"message", kp_json_or_null(json_object_get(new, "message")));
}

json_t *bench_change_rows(
	const json_t *old, const json_t *new, double threshold, bool is_whole)
{
	json_t *rows = json_array();
	size_t i;
	json_t *run;
	json_array_foreach ((json_t *)(uintptr_t) new, i, run)
		rows = kp_json_append(rows, row_json(find(old, run), run, threshold));
	json_array_foreach ((json_t *)(uintptr_t)old, i, run)
		if (is_whole && !find(new, run))
			rows = kp_json_append(rows, row_json(run, NULL, threshold));
	return rows;
}

json_t *bench_change_counts(const json_t *rows)
{
	json_t *counts = json_object();
	for (size_t i = 0; counts && i < KP_COUNT(verdicts); i++) {
		size_t j, n = 0;
		json_t *row;
		json_array_foreach ((json_t *)(uintptr_t)rows, j, row)
			n += field_is(row, "verdict", verdicts[i]);
		(void)json_object_set_new(
			counts, verdicts[i], json_integer((json_int_t)n));
	}
	return counts;
}
