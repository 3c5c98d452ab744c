/* SPDX-License-Identifier: MIT */
/* The devices of rows, asked of the predicates that select them. */
#include "daemon/bench/bench_device.h"

#include <stdlib.h>
#include <string.h>

#include "lib/select/predicate.h"
#include "lib/select/query.h"
#include "lib/select/select.h"

/* A row before it of the same kernel: where that runs, this one does. */
static const json_t *known(const struct bench_plan *plan, size_t row)
{
	for (size_t i = 0; i < row; i++)
		if (plan->rows[i].device &&
			strcmp(plan->rows[i].source.id, plan->rows[row].source.id) == 0)
			return plan->rows[i].device;
	return NULL;
}

/* {"id", "vendor"}, null for the CPU. */
static json_t *ask(const struct kp_query *query, const struct kp_table *table,
	const struct bench_plan *plan, const char *id)
{
	size_t kernel, device = SIZE_MAX;

	if (kp_table_find(table, plan->family->operation, id, &kernel, NULL) < 0)
		return json_null();
	(void)kp_predicate_check(query, kernel, KP_SKIP_STATE, NULL, &device);
	if (device == SIZE_MAX || query->devices[device].kind != KP_GPU)
		return json_null();
	return json_pack("{s:s, s:s}", "id", query->devices[device].id, "vendor",
		query->devices[device].vendor_text);
}

static json_t *find(const struct bench_plan *plan, const struct kp_table *table,
	const struct bench_row *row)
{
	struct kp_request request;
	json_t *asked = json_copy(plan->request), *found = NULL;
	json_t *shape = json_array_get(plan->shapes, row->shape);

	if (!asked || json_object_set(asked, "shape", shape) < 0 ||
		kp_request_from_json(table, asked, &request, NULL) < 0) {
		json_decref(asked);
		return NULL;
	}
	struct kp_query *query = kp_query_new(table, &request, NULL);
	if (query)
		found = ask(query, table, plan, row->source.id);
	free(query);
	kp_request_finish(&request);
	json_decref(asked);
	return found;
}

int bench_devices_find(
	struct bench_plan *plan, const struct kp_table *table, struct kp_diag *diag)
{
	for (size_t i = 0; i < plan->n_rows; i++) {
		struct bench_row *row = &plan->rows[i];
		const json_t *same = known(plan, i);
		if (row->device || row->verdict)
			continue;
		row->device = same ? json_incref((json_t *)same) : find(plan, table, row);
		if (!row->device)
			return kp_diag_no_memory(diag);
	}
	return 0;
}
