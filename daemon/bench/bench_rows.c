/* SPDX-License-Identifier: MIT */
/* Rows of a plan: which kernels, whether they may run, and what checks them. */
#include "daemon/bench/bench_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/bench/bench_source.h"
#include "lib/select/select.h"
#include "lib/table/table_read.h"

void bench_row_finish(struct bench_row *row)
{
	bench_source_finish(&row->source);
	bench_taken_finish(&row->taken);
	json_decref(row->run);
	json_decref(row->details);
	json_decref(row->device);
	free(row->message);
}

/* ---- candidates -------------------------------------------------------------------- */

/* A select finds nobody for what the family does not allow; here it is a mistake. */
static int check_signature(
	const struct bench_plan *plan, const char *text, struct kp_diag *diag)
{
	struct kp_signature signature;

	if (kp_signature_parse(text, &signature, diag) < 0)
		return -1;
	return kp_family_check_signature(plan->family, &signature, diag);
}

static int make_request(
	struct bench_plan *plan, const json_t *parameters, struct kp_diag *diag)
{
	json_t *signature = json_object_get(parameters, "signature");

	if (json_is_string(signature) &&
		check_signature(plan, json_string_value(signature), diag) < 0)
		return -1;
	plan->request = json_pack("{s:s, s:O}", "operation", plan->family->operation,
		"traits", plan->traits);
	if (plan->request && json_is_string(signature) &&
		json_object_set(plan->request, "signature", signature) < 0) {
		json_decref(plan->request);
		plan->request = NULL;
	}
	return plan->request ? 0 : kp_diag_no_memory(diag);
}

static json_t *request_json(const struct bench_plan *plan, const json_t *shape)
{
	json_t *request = json_copy(plan->request);

	if (!request || json_object_set(request, "shape", (json_t *)shape) == 0)
		return request;
	json_decref(request);
	return NULL;
}

/* The candidates of a shape in selection order; keeps the signature that holds. */
static json_t *explain(struct bench_plan *plan, const struct kp_table *table,
	size_t shape, struct kp_diag *diag)
{
	struct kp_request request;
	json_t *asked = request_json(plan, json_array_get(plan->shapes, shape));

	if (!asked) {
		(void)kp_diag_no_memory(diag);
		return NULL;
	}
	int failed = kp_request_from_json(table, asked, &request, diag);
	json_decref(asked);
	if (failed)
		return NULL;
	const char *signature =
		request.signature ? request.signature : plan->family->signature;
	json_t *candidates = NULL;
	if (!signature) {
		kp_diag_set(diag, "no_signature", plan->family->operation,
			"%s has no default signature: say one", plan->family->operation);
	} else {
		(void)snprintf(plan->signature, sizeof(plan->signature), "%s", signature);
		candidates = kp_explain_json(table, &request);
		if (!candidates)
			(void)kp_diag_no_memory(diag);
	}
	kp_request_finish(&request);
	return candidates;
}

const json_t *bench_candidate(const json_t *candidates, const char *id)
{
	size_t i;
	json_t *candidate;

	json_array_foreach (candidates, i, candidate) {
		const char *kernel =
			json_string_value(json_object_get(candidate, "kernel"));
		if (kernel && strcmp(kernel, id) == 0)
			return candidate;
	}
	return NULL;
}

/* "signature: required a=bf16, actual a=f32 (kernel)"; malloc'ed. */
static char *reasons_text(const json_t *candidate)
{
	const json_t *reasons = json_object_get(candidate, "reasons");
	size_t i, size;
	json_t *reason;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	json_array_foreach (reasons, i, reason) {
		const char *code = "", *required = "", *actual = "";
		(void)json_unpack(reason, "{s:s, s:s, s:s}", "code", &code, "required",
			&required, "actual", &actual);
		(void)fprintf(out, "%s%s: required %s, actual %s", i ? "; " : "", code,
			required, actual);
	}
	return fclose(out) == 0 ? text : NULL;
}

/* ---- rows -------------------------------------------------------------------------- */

/* By now; rows of a shape lie together, at the end. */
static bool has_row(const struct bench_plan *plan, size_t shape, const char *id)
{
	for (size_t i = plan->n_rows; i-- > 0 && plan->rows[i].shape == shape;)
		if (strcmp(plan->rows[i].source.id, id) == 0)
			return true;
	return false;
}

/* The same for any kernel of a plugin. */
static bool has_plugin(const struct bench_plan *plan, size_t shape, const char *plugin)
{
	size_t length = strlen(plugin);

	for (size_t i = plan->n_rows; i-- > 0 && plan->rows[i].shape == shape;)
		if (strncmp(plan->rows[i].source.id, plugin, length) == 0 &&
			plan->rows[i].source.id[length] == '/')
			return true;
	return false;
}

static int add_row(struct bench_plan *plan, const struct kp_registry *registry,
	size_t shape, const json_t *candidate, struct kp_diag *diag)
{
	const char *id = json_string_value(json_object_get(candidate, "kernel"));

	if (has_row(plan, shape, id))
		return 0;
	if (plan->n_rows == BENCH_ROWS)
		return kp_diag_set(diag, "too_many", "kernels",
			"more than %d rows of kernels and shapes", BENCH_ROWS);
	struct bench_row *rows =
		reallocarray(plan->rows, plan->n_rows + 1, sizeof(*rows));
	if (!rows)
		return kp_diag_no_memory(diag);
	plan->rows = rows;
	struct bench_row *row = &rows[plan->n_rows];
	*row = (struct bench_row){.shape = shape};
	if (bench_source_find(&row->source, registry, id, diag) < 0)
		return -1;
	plan->n_rows++;
	if (!json_is_true(json_object_get(candidate, "eligible"))) {
		row->verdict = "not_eligible";
		row->message = reasons_text(candidate);
	} else if (!row->source.stored) {
		row->verdict = "error";
		row->message = strdup("its plugin has no copy in the store");
	}
	return 0;
}

/* Those of one plugin, or (NULL) of all; with `eligible` only what may run. */
static int add_those(struct bench_plan *plan, const struct kp_registry *registry,
	size_t shape, const json_t *candidates, const char *plugin, bool eligible,
	struct kp_diag *diag)
{
	size_t i, length = plugin ? strlen(plugin) : 0;
	json_t *candidate;

	json_array_foreach (candidates, i, candidate) {
		const char *id = json_string_value(json_object_get(candidate, "kernel"));
		if (plugin && (strncmp(id, plugin, length) != 0 || id[length] != '/'))
			continue;
		if (eligible && !json_is_true(json_object_get(candidate, "eligible")))
			continue;
		if (add_row(plan, registry, shape, candidate, diag) < 0)
			return -1;
	}
	return 0;
}

static int add_kernel(struct bench_plan *plan, const struct kp_table *table,
	const struct kp_registry *registry, size_t shape, const json_t *candidates,
	const char *name, struct kp_diag *diag)
{
	const char *operation = plan->family->operation;
	size_t kernel;
	char id[160];

	if (kp_table_find(table, operation, name, &kernel, diag) < 0)
		return -1;
	(void)kp_table_kernel_id(table, kernel, id, sizeof(id));
	const json_t *candidate = bench_candidate(candidates, id);
	if (!candidate)
		return kp_diag_set(diag, "no_such_kernel", name, "%s is no kernel of %s",
			name, operation);
	return add_row(plan, registry, shape, candidate, diag);
}

static int add_named(struct bench_plan *plan, const struct kp_table *table,
	const struct kp_registry *registry, size_t shape, const json_t *candidates,
	const json_t *names, struct kp_diag *diag)
{
	size_t i;
	json_t *item;

	json_array_foreach (names, i, item) {
		const char *name = json_string_value(item);
		size_t before = plan->n_rows;
		if (add_those(plan, registry, shape, candidates, name, false, diag) < 0)
			return -1;
		if (plan->n_rows > before || has_plugin(plan, shape, name))
			continue;
		if (add_kernel(plan, table, registry, shape, candidates, name, diag) < 0)
			return strchr(name, '/')
				       ? -1
				       : bench_plan_offer(candidates, name, diag);
	}
	return 0;
}

/* Where nothing may run, everything says why. */
static int add_eligible(struct bench_plan *plan, const struct kp_registry *registry,
	size_t shape, const json_t *candidates, struct kp_diag *diag)
{
	size_t before = plan->n_rows;

	if (add_those(plan, registry, shape, candidates, NULL, true, diag) < 0)
		return -1;
	return plan->n_rows > before
		       ? 0
		       : add_those(plan, registry, shape, candidates, NULL, false, diag);
}

static int has_code(const json_t *candidate, const char *code)
{
	size_t i;
	json_t *reason;

	json_array_foreach (json_object_get(candidate, "reasons"), i, reason) {
		const char *text = json_string_value(json_object_get(reason, "code"));
		if (text && strcmp(text, code) == 0)
			return 1;
	}
	return 0;
}

static int remark(struct bench_plan *plan, const char *format, const char *what)
{
	free(plan->remark);
	if (asprintf(&plan->remark, format, what) >= 0)
		return 0;
	plan->remark = NULL;
	return -1;
}

static int drop_reference(struct bench_plan *plan, const char *format, const char *what)
{
	bench_source_finish(&plan->reference);
	return remark(plan, format, what);
}

/* Off or not, the reference says what is right; that it is off is said. */
static int find_reference(struct bench_plan *plan, const struct kp_registry *registry,
	const json_t *candidates, struct kp_diag *diag)
{
	const char *id = plan->family->reference;

	if (plan->reference.stored || plan->remark)
		return 0;
	if (plan->is_unchecked)
		return remark(plan, "%s", "not checked, as was asked for");
	if (!id)
		return remark(plan, "%s has no reference", plan->family->operation);
	const json_t *candidate = bench_candidate(candidates, id);
	if (bench_source_find(&plan->reference, registry, id, diag) < 0)
		return -1;
	if (!candidate || !plan->reference.stored)
		return drop_reference(plan, "the reference %s is not here", id);
	if (has_code(candidate, "signature"))
		return drop_reference(
			plan, "the reference %s does not have this signature", id);
	if (json_is_true(json_object_get(candidate, "eligible")))
		return 0;
	return remark(plan, "checked against %s, which is not in use", id);
}

int bench_rows_add(struct bench_plan *plan, const struct kp_table *table,
	const struct kp_registry *registry, const json_t *parameters, size_t shape,
	struct kp_diag *diag)
{
	const json_t *names = json_object_get(parameters, "kernels");

	if (!plan->request && make_request(plan, parameters, diag) < 0)
		return -1;
	json_t *candidates = explain(plan, table, shape, diag);
	if (!candidates)
		return -1;
	int failed =
		json_array_size(names) > 0
			? add_named(plan, table, registry, shape, candidates, names, diag)
			: add_eligible(plan, registry, shape, candidates, diag);
	if (!failed)
		failed = find_reference(plan, registry, candidates, diag);
	json_decref(candidates);
	return failed;
}

/* What is said of the kernel now; malloc'ed, NULL: it may be run. */
static char *look(struct bench_plan *plan, const struct bench_row *row,
	const struct kp_table *table, const struct kp_registry *registry)
{
	struct bench_source now = {0};
	struct kp_diag diag;
	json_t *candidates = explain(plan, table, row->shape, &diag);
	const json_t *candidate = bench_candidate(candidates, row->source.id);
	char *text = NULL;

	if (!candidate)
		text = strdup("it has gone since the benchmark began");
	else if (!json_is_true(json_object_get(candidate, "eligible")))
		text = reasons_text(candidate);
	else if (bench_source_find(&now, registry, row->source.id, &diag) < 0 ||
		 !now.stored || strcmp(now.stored, row->source.stored) != 0)
		text = strdup("its library has changed since the benchmark began");
	bench_source_finish(&now);
	json_decref(candidates);
	return text;
}

void bench_row_look(struct bench_plan *plan, struct bench_row *row,
	const struct kp_table *table, const struct kp_registry *registry)
{
	char *text = look(plan, row, table, registry);

	if (!text)
		return;
	row->verdict = "not_eligible";
	free(row->message);
	row->message = text;
}
