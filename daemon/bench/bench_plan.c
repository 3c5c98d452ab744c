/* SPDX-License-Identifier: MIT */
/* From parameters, table and registry to rows. */
#include "daemon/bench/bench_plan.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/bench/bench_device.h"
#include "daemon/bench/bench_rows.h"
#include "daemon/bench/bench_source.h"
#include "daemon/bench/bench_traits.h"
#include "lib/base/json.h"
#include "lib/base/owned.h"
#include "lib/select/select.h"

static const double time_preset_s = 0.5;

/* ---- what was asked ---------------------------------------------------------------- */

static int read_numbers(
	struct bench_plan *plan, const json_t *parameters, struct kp_diag *diag)
{
	const json_t *time_s = json_object_get(parameters, "time_s");
	const json_t *seed = json_object_get(parameters, "seed");

	plan->time_s = json_is_number(time_s) ? json_number_value(time_s) : time_preset_s;
	plan->seed = json_is_integer(seed) ? json_integer_value(seed) : 1;
	if (!(plan->time_s > 0))
		return kp_diag_set(diag, "bad_time", "time_s",
			"time_s: %g seconds are not more than 0", plan->time_s);
	if (plan->time_s > BENCH_TIME_MOST_S)
		return kp_diag_set(diag, "bad_time", "time_s",
			"time_s: %g seconds for a kernel and shape are more than %d, "
			"the most",
			plan->time_s, BENCH_TIME_MOST_S);
	if (plan->seed < 0)
		return kp_diag_set(diag, "bad_seed", "seed", "seed: %lld is negative",
			(long long)plan->seed);
	return 0;
}

/* A whole number from 1 to most, or what holds where none was said. */
static int read_count(const json_t *parameters, const char *key, const char *code,
	json_int_t preset, json_int_t most, unsigned *count, struct kp_diag *diag)
{
	const json_t *value = json_object_get(parameters, key);
	json_int_t number = json_is_integer(value) ? json_integer_value(value) : preset;

	if (number < 1 || number > most)
		return kp_diag_set(diag, code, key, "%s: %lld is not from 1 to %lld", key,
			(long long)number, (long long)most);
	*count = (unsigned)number;
	return 0;
}

static int read_manner(
	struct bench_plan *plan, const json_t *parameters, struct kp_diag *diag)
{
	plan->is_unchecked = json_is_false(json_object_get(parameters, "check"));
	if (read_count(parameters, "rounds", "bad_rounds", BENCH_ROUNDS,
		    BENCH_ROUNDS_MOST, &plan->rounds, diag) < 0)
		return -1;
	return read_count(parameters, "threads", "bad_threads", 1, BENCH_THREADS_MOST,
		&plan->threads, diag);
}

static int find_family(struct bench_plan *plan, const struct kp_table *table,
	const struct kp_families *families, const char *operation, struct kp_diag *diag)
{
	const char **operations;
	bool is_known = false;

	plan->family = kp_families_find(families, operation);
	if (plan->family)
		return 0;
	if (*operation && !strchr(operation, '/'))
		return kp_diag_set(diag, "bad_operation", operation,
			"%s is no operation: FAMILY/MODE is expected", operation);
	operations = kp_table_operations(table);
	for (size_t i = 0; operations && operations[i]; i++)
		is_known |= strcmp(operations[i], operation) == 0;
	free(operations);
	if (!is_known)
		return kp_diag_set(diag, "unknown_operation", operation,
			"there is no operation %s", operation);
	return kp_diag_set(diag, "no_family", operation,
		"%s is not described by a family, so that nobody knows its inputs",
		operation);
}

/* Dims that are not said are those of the family's first shape. */
static json_t *complete(const struct bench_plan *plan, const json_t *asked)
{
	const json_t *presets = json_object_get(plan->family->shapes, "default");
	json_t *whole = json_copy(json_array_get(presets, 0));

	if (!whole)
		whole = json_object();
	if (json_object_update(whole, (json_t *)asked) == 0)
		return whole;
	json_decref(whole);
	return NULL;
}

/* What is asked for twice is measured once. */
static bool has_shape(const struct bench_plan *plan, const json_t *whole)
{
	size_t i;
	json_t *shape;

	json_array_foreach (plan->shapes, i, shape)
		if (json_equal(shape, whole))
			return true;
	return false;
}

static int add_shape(struct bench_plan *plan, const json_t *asked, struct kp_diag *diag)
{
	struct kp_shape shape;
	json_t *whole;

	if (kp_shape_from_json(asked, plan->family, &shape, diag) < 0)
		return -1;
	owned_json *named = kp_shape_json(&shape);
	whole = complete(plan, named);
	for (size_t i = 0; whole && i < plan->family->dims.count; i++) {
		const char *dim = plan->family->dims.items[i];
		if (json_object_get(whole, dim))
			continue;
		json_decref(whole);
		return kp_diag_set(diag, "bad_shape", dim,
			"the shape says nothing of %s, and the family has no default",
			dim);
	}
	if (whole && has_shape(plan, whole)) {
		json_decref(whole);
		return 0;
	}
	return json_array_append_new(plan->shapes, whole) < 0 ? kp_diag_no_memory(diag)
							      : 0;
}

static int read_shapes(struct bench_plan *plan, const json_t *asked, struct kp_diag *diag)
{
	size_t i;
	json_t *shape;

	plan->shapes = json_array();
	if (json_array_size(asked) == 0)
		asked = json_object_get(plan->family->shapes, "default");
	if (json_array_size(asked) == 0)
		return kp_diag_set(diag, "no_shape", plan->family->operation,
			"%s has no default shapes: say one", plan->family->operation);
	if (json_array_size(asked) > BENCH_SHAPES)
		return kp_diag_set(
			diag, "too_many", "shapes", "more than %d shapes", BENCH_SHAPES);
	json_array_foreach (asked, i, shape)
		if (add_shape(plan, shape, diag) < 0)
			return -1;
	return 0;
}

int bench_plan_make(struct bench_plan *plan, const struct kp_table *table,
	const struct kp_registry *registry, const struct kp_families *families,
	const json_t *parameters, struct kp_diag *diag)
{
	const char *operation =
		json_string_value(json_object_get(parameters, "operation"));

	if (read_numbers(plan, parameters, diag) < 0 ||
		read_manner(plan, parameters, diag) < 0 ||
		find_family(plan, table, families, operation ? operation : "", diag) <
			0 ||
		bench_traits_read(plan, json_object_get(parameters, "traits"), diag) <
			0 ||
		read_shapes(plan, json_object_get(parameters, "shapes"), diag) < 0)
		return -1;
	for (size_t i = 0; i < json_array_size(plan->shapes); i++)
		if (bench_rows_add(plan, table, registry, parameters, i, diag) < 0)
			return -1;
	if (plan->n_rows > 0)
		return bench_devices_find(plan, table, diag);
	return kp_diag_set(diag, "no_such_kernel", plan->family->operation,
		"there is no kernel of %s here", plan->family->operation);
}

void bench_plan_look(struct bench_plan *plan, size_t row, const struct kp_table *table,
	const struct kp_registry *registry)
{
	if (!plan->rows[row].verdict)
		bench_row_look(plan, &plan->rows[row], table, registry);
}

void bench_plan_finish(struct bench_plan *plan)
{
	for (size_t i = 0; i < plan->n_rows; i++)
		bench_row_finish(&plan->rows[i]);
	free(plan->rows);
	if (plan->next)
		bench_plan_finish(plan->next);
	free(plan->next);
	bench_source_finish(&plan->reference);
	json_decref(plan->request);
	json_decref(plan->traits);
	json_decref(plan->attributes);
	json_decref(plan->shapes);
	json_decref(plan->details);
	free(plan->remark);
	free(plan->trouble);
	*plan = (struct bench_plan){0};
}

int bench_plan_offer(const json_t *candidates, const char *name, struct kp_diag *diag)
{
	size_t count = 0, most = json_array_size(candidates);
	char **names = calloc(most + 1, sizeof(*names));
	const json_t *candidate;
	size_t i;

	json_array_foreach ((json_t *)(uintptr_t)candidates, i, candidate) {
		const char *id = kp_json_text(candidate, "kernel");
		if (names && (names[count] = strndup(id, strcspn(id, "/"))))
			count++;
	}
	if (names)
		(void)kp_diag_offer(diag, name, (const char *const *)names, count);
	while (count > 0)
		free(names[--count]);
	free(names);
	return -1;
}
