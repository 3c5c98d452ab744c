/* SPDX-License-Identifier: MIT */
/* From parameters to plans, one a signature. */
#include "daemon/bench/verify_plan.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/bench/verify_rows.h"
#include "daemon/bench/verify_run.h"
#include "lib/base/json.h"
#include "lib/family/placement.h"
#include "lib/table/table_read.h"

/* What is asked for, while plans are made of it. */
struct asking {
	const struct kp_table *table;
	const struct kp_registry *registry;
	const struct kp_families *families;
	const struct kp_family *family;
	const json_t *parameters;
	json_t *details;    /* of each plan: seeds and layouts */
	json_t *base;	    /* parameters of a benchmark, but for signature and kernels */
	json_t *signatures; /* object: signature -> array of ids */
	bool is_named, is_signed;
};

/* ---- what was asked ---------------------------------------------------------------- */

static json_t *read_seeds(const json_t *parameters, struct kp_diag *diag)
{
	json_t *asked = json_object_get(parameters, "seeds"), *seed;
	size_t i;

	if (json_array_size(asked) == 0)
		return json_pack("[i, i, i]", 1, 2, 3);
	if (json_array_size(asked) > VERIFY_SEEDS) {
		kp_diag_set(
			diag, "bad_seed", "seeds", "seeds: more than %d", VERIFY_SEEDS);
		return NULL;
	}
	json_array_foreach (asked, i, seed)
		if (json_integer_value(seed) < 0) {
			kp_diag_set(diag, "bad_seed", "seeds", "seeds: %lld is negative",
				(long long)json_integer_value(seed));
			return NULL;
		}
	return json_incref(asked);
}

static int check_layouts(const json_t *layouts, struct kp_diag *diag)
{
	size_t i;
	const json_t *name;

	json_array_foreach (layouts, i, name)
		if (!kp_placement_find(json_string_value(name), diag))
			return -1;
	return 0;
}

static int read_details(struct asking *asking, struct kp_diag *diag)
{
	json_t *layouts = json_object_get(asking->parameters, "layouts");

	if (check_layouts(layouts, diag) < 0)
		return -1;
	json_t *seeds = read_seeds(asking->parameters, diag);
	if (!seeds)
		return -1;
	asking->details = json_pack("{s:o, s:O?}", "seeds", seeds, "layouts",
		json_array_size(layouts) > 0 ? layouts : NULL);
	return asking->details ? 0 : kp_diag_no_memory(diag);
}

/* The family's: those that are measured, and those where kernels go wrong. */
static json_t *all_shapes(const struct kp_family *family)
{
	static const char *const kinds[] = {"default", "edge"};
	json_t *all = json_array();

	for (size_t i = 0; all && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		json_t *shapes = json_object_get(family->shapes, kinds[i]);
		if (shapes && json_array_extend(all, shapes) < 0) {
			json_decref(all);
			return NULL;
		}
	}
	return all;
}

static int read_base(struct asking *asking, struct kp_diag *diag)
{
	json_t *shapes = json_object_get(asking->parameters, "shapes");

	shapes = json_array_size(shapes) > 0 || !asking->family
			 ? json_incref(shapes)
			 : all_shapes(asking->family);
	asking->base = json_pack("{s:O?, s:o?, s:O?, s:O?, s:O?}", "operation",
		json_object_get(asking->parameters, "operation"), "shapes", shapes,
		"traits", json_object_get(asking->parameters, "traits"), "kernels",
		json_object_get(asking->parameters, "kernels"), "signature",
		json_object_get(asking->parameters, "signature"));
	return asking->base ? 0 : kp_diag_no_memory(diag);
}

/* ---- kernels and signatures -------------------------------------------------------- */

/* "plugin/kernel", its plugin, or the kernel alone. */
static bool is_meant(const char *name, const char *id)
{
	size_t plugin = strcspn(id, "/");

	return strcmp(name, id) == 0 || strcmp(name, id + plugin + 1) == 0 ||
	       (strlen(name) == plugin && strncmp(name, id, plugin) == 0);
}

static bool is_asked(const struct asking *asking, const char *id)
{
	size_t i;
	const json_t *name;

	json_array_foreach (json_object_get(asking->parameters, "kernels"), i, name)
		if (is_meant(json_string_value(name), id))
			return true;
	return !asking->is_named;
}

static int add_signature(
	struct asking *asking, const char *text, const char *id, struct kp_diag *diag)
{
	const char *asked = kp_json_text(asking->base, "signature");
	json_t *ids = json_object_get(asking->signatures, text);
	struct kp_signature signature;

	if (kp_signature_parse(text, &signature, NULL) < 0 ||
		kp_family_check_signature(asking->family, &signature, NULL) < 0 ||
		(asked && strcmp(asked, text) != 0))
		return 0;
	if (!ids && json_object_size(asking->signatures) == VERIFY_SIGNATURES)
		return kp_diag_set(diag, "too_many", "signatures",
			"more than %d signatures: say one", VERIFY_SIGNATURES);
	if (!ids && json_object_set_new(asking->signatures, text, ids = json_array()) < 0)
		return kp_diag_no_memory(diag);
	return json_array_append_new(ids, json_string(id)) < 0 ? kp_diag_no_memory(diag)
							       : 0;
}

static int add_signatures(struct asking *asking, size_t kernel, struct kp_diag *diag)
{
	struct kp_spec spec;
	struct kp_entry_state state;
	char id[KP_KERNEL_ID_BYTES];
	void *memory = NULL;
	int failed = 0;

	if (kp_table_spec(asking->table, kernel, &spec, &state, &memory) < 0)
		return kp_diag_no_memory(diag);
	(void)kp_table_kernel_id(asking->table, kernel, id, sizeof(id));
	if (strcmp(spec.operation, asking->family->operation) == 0 &&
		is_asked(asking, id))
		for (size_t i = 0; !failed && i < spec.signatures.count; i++)
			failed =
				add_signature(asking, spec.signatures.items[i], id, diag);
	free(memory);
	return failed;
}

static int collect(struct asking *asking, struct kp_diag *diag)
{
	asking->signatures = json_object();
	if (!asking->signatures)
		return kp_diag_no_memory(diag);
	for (size_t i = 0; asking->family && i < kp_table_kernels(asking->table); i++)
		if (add_signatures(asking, i, diag) < 0)
			return -1;
	return 0;
}

/* ---- plans ------------------------------------------------------------------------- */

static struct bench_plan *add_plan(struct verify_plans *plans, struct kp_diag *diag)
{
	struct bench_plan *items =
		reallocarray(plans->items, plans->count + 1, sizeof(*items));

	if (!items) {
		(void)kp_diag_no_memory(diag);
		return NULL;
	}
	plans->items = items;
	items[plans->count] = (struct bench_plan){.task = &verify_task};
	return &items[plans->count++];
}

static int make_plan(struct verify_plans *plans, const struct asking *asking,
	const json_t *parameters, struct kp_diag *diag)
{
	struct bench_plan *plan = add_plan(plans, diag);

	if (!plan)
		return -1;
	plan->details = json_incref(asking->details);
	return bench_plan_make(plan, asking->table, asking->registry, asking->families,
		parameters, diag);
}

static int make_signed(struct verify_plans *plans, const struct asking *asking,
	const char *signature, json_t *ids, struct kp_diag *diag)
{
	json_t *parameters = json_copy(asking->base);
	int failed = parameters ? 0 : kp_diag_no_memory(diag);

	if (!failed && (json_object_set_new(
				parameters, "signature", json_string(signature)) < 0 ||
			       json_object_set(parameters, "kernels", ids) < 0))
		failed = kp_diag_no_memory(diag);
	if (!failed)
		failed = make_plan(plans, asking, parameters, diag);
	json_decref(parameters);
	return failed ? -1
		      : verify_rows_settle(&plans->items[plans->count - 1], asking->table,
				asking->is_named, diag);
}

/* ---- references -------------------------------------------------------------------- */

static bool has_kernel(const struct bench_plan *plan, const char *id)
{
	for (size_t i = 0; i < plan->n_rows; i++)
		if (strcmp(plan->rows[i].source.id, id) == 0)
			return true;
	return false;
}

/* Is there a signature of the kernel that the reference has? */
static bool is_covered(const struct verify_plans *plans, const char *id)
{
	for (size_t i = 0; i < plans->count; i++)
		if (plans->items[i].reference.stored && has_kernel(&plans->items[i], id))
			return true;
	return false;
}

static int remark(struct verify_plans *plans, const struct bench_plan *plan,
	const char *id, struct kp_diag *diag)
{
	json_t *text = json_sprintf("%s is not verified for %s: %s", id, plan->signature,
		plan->remark ? plan->remark : "there is no reference");

	return json_array_append_new(plans->remarks, text) < 0 ? kp_diag_no_memory(diag)
							       : 0;
}

/* A kernel is verified where the reference says what is right. */
static int leave_out(
	struct verify_plans *plans, struct bench_plan *plan, struct kp_diag *diag)
{
	for (size_t i = plan->n_rows; !plan->reference.stored && i-- > 0;) {
		const char *id = plan->rows[i].source.id;
		bool is_first = i == 0 || strcmp(plan->rows[i - 1].source.id, id) != 0;
		if (!is_covered(plans, id))
			continue;
		if (is_first && plan->rows[i].shape == 0 &&
			remark(plans, plan, id, diag) < 0)
			return -1;
		verify_rows_drop(plan, i);
	}
	return 0;
}

/* ---- all --------------------------------------------------------------------------- */

static size_t count_rows(const struct verify_plans *plans)
{
	size_t rows = 0;

	for (size_t i = 0; i < plans->count; i++)
		rows += plans->items[i].n_rows;
	return rows;
}

static void drop_plans(struct verify_plans *plans)
{
	while (plans->count > 0)
		bench_plan_finish(&plans->items[--plans->count]);
}

static int make_all(
	struct verify_plans *plans, struct asking *asking, struct kp_diag *diag)
{
	const char *signature;
	json_t *ids;

	json_object_foreach (asking->signatures, signature, ids)
		if (make_signed(plans, asking, signature, ids, diag) < 0)
			return -1;
	for (size_t i = 0; i < plans->count; i++)
		if (leave_out(plans, &plans->items[i], diag) < 0)
			return -1;
	if (count_rows(plans) > 0)
		return 0;
	/* What was asked for is not here, or not to be run: a benchmark says why. */
	drop_plans(plans);
	return make_plan(plans, asking, asking->base, diag);
}

int verify_plans_make(struct verify_plans *plans, const struct kp_table *table,
	const struct kp_registry *registry, const struct kp_families *families,
	const json_t *parameters, struct kp_diag *diag)
{
	struct asking asking = {
		.table = table,
		.registry = registry,
		.families = families,
		.family =
			kp_families_find(families, kp_json_text(parameters, "operation")),
		.parameters = parameters,
		.is_named = json_array_size(json_object_get(parameters, "kernels")) > 0,
	};

	plans->remarks = json_array();
	int failed = !plans->remarks || read_details(&asking, diag) < 0 ||
		     read_base(&asking, diag) < 0 || collect(&asking, diag) < 0 ||
		     make_all(plans, &asking, diag) < 0;
	json_decref(asking.details);
	json_decref(asking.base);
	json_decref(asking.signatures);
	return failed ? -1 : 0;
}

void verify_plans_finish(struct verify_plans *plans)
{
	drop_plans(plans);
	free(plans->items);
	json_decref(plans->remarks);
	*plans = (struct verify_plans){0};
}
