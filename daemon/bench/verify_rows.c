/* SPDX-License-Identifier: MIT */
/* Why a row would not be taken, and what that means for a check of results. */
#include "daemon/bench/verify_rows.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/bench/bench_device.h"
#include "daemon/bench/bench_rows.h"
#include "lib/base/json.h"
#include "lib/select/select.h"

enum {
	GROWN_SHAPES = 2,     /* of a plan: asking what is eligible takes its time */
	EXTENT_MOST = 1 << 20 /* of a dim that grows */
};

/* A new reference, or NULL. */
static json_t *explain(const struct bench_plan *plan, const struct kp_table *table,
	const json_t *shape, struct kp_diag *diag)
{
	struct kp_request request;
	json_t *asked = json_copy(plan->request), *candidates = NULL;

	if (!asked || json_object_set(asked, "shape", (json_t *)shape) < 0) {
		json_decref(asked);
		(void)kp_diag_no_memory(diag);
		return NULL;
	}
	int failed = kp_request_from_json(table, asked, &request, diag);
	json_decref(asked);
	if (failed)
		return NULL;
	candidates = kp_explain_json(table, &request);
	kp_request_finish(&request);
	if (!candidates)
		(void)kp_diag_no_memory(diag);
	return candidates;
}

/* ---- reasons ----------------------------------------------------------------------- */

enum reason {
	REASON_FIT = 1, /* not what it says it does */
	REASON_OFF = 2, /* somebody turned it off */
	REASON_SIGNATURE = 4,
	REASON_OTHER = 8,
};

static enum reason reason_of(const char *code)
{
	static const struct {
		const char *code;
		enum reason reason;
	} all[] = {{"trait", REASON_FIT}, {"trait_required", REASON_FIT},
		{"shape", REASON_FIT}, {"plugin_disabled", REASON_OFF},
		{"kernel_disabled", REASON_OFF}, {"signature", REASON_SIGNATURE}};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (strcmp(all[i].code, code) == 0)
			return all[i].reason;
	return REASON_OTHER;
}

/* All that speaks against it; 0: nothing. */
static unsigned reasons_of(const json_t *candidate)
{
	size_t i;
	const json_t *reason;
	unsigned all = 0;

	json_array_foreach (json_object_get(candidate, "reasons"), i, reason)
		all |= reason_of(kp_json_text(reason, "code"));
	return candidate ? all : REASON_OTHER;
}

/* ---- larger shapes ----------------------------------------------------------------- */

static json_t *grown_shape(const json_t *shape, const char *dim, json_int_t extent)
{
	json_t *grown = json_copy((json_t *)shape);

	if (grown && json_object_set_new(grown, dim, json_integer(extent)) == 0)
		return grown;
	json_decref(grown);
	return NULL;
}

/* For each row of the shape that would take it. */
static int add_grown(struct bench_plan *plan, const struct kp_table *table, size_t shape,
	const char *dim, json_int_t extent, struct kp_diag *diag)
{
	json_t *grown = grown_shape(json_array_get(plan->shapes, shape), dim, extent);
	json_t *candidates = grown ? explain(plan, table, grown, diag) : NULL;
	int failed = candidates ? 0 : -1;

	for (size_t i = 0; !failed && i < plan->n_rows; i++) {
		const struct bench_row *row = &plan->rows[i];
		if (row->shape != shape || row->verdict ||
			(reasons_of(bench_candidate(candidates, row->source.id)) &
				~REASON_OFF))
			continue;
		failed = json_array_append_new(json_object_get(row->details, "grown"),
			json_pack("{s:s, s:O}", "dim", dim, "shape", grown));
	}
	json_decref(candidates);
	json_decref(grown);
	return failed ? kp_diag_no_memory(diag) : 0;
}

static int grow(struct bench_plan *plan, const struct kp_table *table, size_t shape,
	struct kp_diag *diag)
{
	const struct kp_strings *dims = &plan->family->dims;
	const json_t *extents = json_array_get(plan->shapes, shape);

	for (size_t i = 0; i < dims->count; i++) {
		json_int_t extent =
			json_integer_value(json_object_get(extents, dims->items[i]));
		for (json_int_t more = extent + 1; more < 4 * extent + 8;
			more = 2 * more + 1)
			if (more <= EXTENT_MOST &&
				add_grown(plan, table, shape, dims->items[i], more,
					diag) < 0)
				return -1;
	}
	return 0;
}

/* ---- rows -------------------------------------------------------------------------- */

void verify_rows_drop(struct bench_plan *plan, size_t row)
{
	struct bench_row *gone = &plan->rows[row];

	bench_row_finish(gone);
	plan->n_rows--;
	memmove(gone, gone + 1, (plan->n_rows - row) * sizeof(*gone));
}

/* False: the row goes. */
static bool settle(struct bench_row *row, unsigned reasons, bool is_named)
{
	if (!row->verdict || strcmp(row->verdict, "not_eligible") != 0)
		return true;
	if (reasons & (REASON_SIGNATURE | REASON_OTHER))
		return is_named && !(reasons & REASON_SIGNATURE);
	if (reasons & REASON_OFF && !is_named)
		return false;
	if (reasons & REASON_FIT) {
		row->verdict = "unsupported";
		return true;
	}
	if (row->source.stored) {
		row->verdict = NULL;
		row->is_forced = true;
	}
	return true;
}

static int settle_shape(struct bench_plan *plan, const struct kp_table *table,
	size_t shape, bool is_named, struct kp_diag *diag)
{
	json_t *candidates =
		explain(plan, table, json_array_get(plan->shapes, shape), diag);

	if (!candidates)
		return -1;
	for (size_t i = plan->n_rows; i-- > 0;) {
		struct bench_row *row = &plan->rows[i];
		unsigned reasons =
			reasons_of(bench_candidate(candidates, row->source.id));
		if (row->shape == shape && !settle(row, reasons, is_named))
			verify_rows_drop(plan, i);
	}
	json_decref(candidates);
	return 0;
}

int verify_rows_settle(struct bench_plan *plan, const struct kp_table *table,
	bool is_named, struct kp_diag *diag)
{
	size_t shapes = json_array_size(plan->shapes);

	for (size_t i = 0; i < shapes; i++)
		if (settle_shape(plan, table, i, is_named, diag) < 0)
			return -1;
	if (bench_devices_find(plan, table, diag) < 0)
		return -1;
	for (size_t i = 0; i < plan->n_rows; i++) {
		plan->rows[i].details = json_pack("{s:[]}", "grown");
		if (!plan->rows[i].details)
			return kp_diag_no_memory(diag);
	}
	for (size_t i = 0; i < shapes && i < GROWN_SHAPES; i++)
		if (grow(plan, table, i, diag) < 0)
			return -1;
	return 0;
}
