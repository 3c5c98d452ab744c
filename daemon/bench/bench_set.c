/* SPDX-License-Identifier: MIT */
/* A plan for each operation of a family. */
#include "daemon/bench/bench_set.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/json.h"
#include "lib/base/owned.h"
#include "lib/select/select.h"

/* What all plans are made of. */
struct making {
	const struct kp_table *table;
	const struct kp_registry *registry;
	const struct kp_families *families;
	const json_t *parameters;
};

static bool is_of(const char *operation, const char *family)
{
	size_t length = strlen(family);

	return strncmp(operation, family, length) == 0 && operation[length] == '/';
}

static int make(const struct making *making, struct bench_plan *plan,
	const json_t *parameters, struct kp_diag *diag)
{
	return bench_plan_make(plan, making->table, making->registry, making->families,
		parameters, diag);
}

/* Is it a plugin with a kernel of the operation, or such a kernel itself? */
static bool has_kernel(
	const struct making *making, const char *operation, const char *name)
{
	owned_text plugin = strndup(name, strcspn(name, "/"));
	owned_json *info =
		plugin ? kp_registry_info_json(making->registry, plugin) : NULL;
	size_t i;
	json_t *kernel;

	json_array_foreach (json_object_get(info, "kernels"), i, kernel) {
		const char *of = kp_json_text(kernel, "operation");
		const char *id = kp_json_text(kernel, "id");
		if (of && id && strcmp(of, operation) == 0 &&
			(!strchr(name, '/') || strcmp(id, name) == 0))
			return true;
	}
	return kp_table_find(making->table, operation, name, &i, NULL) == 0;
}

/* Those of the names that are of this operation; NULL when memory is exhausted. */
static json_t *names_of(const struct making *making, const char *operation)
{
	json_t *names = json_array();
	size_t i;
	json_t *name;

	json_array_foreach (json_object_get(making->parameters, "kernels"), i, name)
		if (has_kernel(making, operation, json_string_value(name)) &&
			json_array_append(names, name) < 0) {
			json_decref(names);
			return NULL;
		}
	return names;
}

/* 1: the operation has a plan; 0: nothing of what is asked for is of it. */
static int make_one(const struct making *making, const char *operation,
	struct bench_plan *plan, struct kp_diag *diag)
{
	bool is_named =
		json_array_size(json_object_get(making->parameters, "kernels")) > 0;
	owned_json *names = names_of(making, operation);
	owned_json *parameters = json_copy((json_t *)(uintptr_t)making->parameters);

	if (!names || !parameters ||
		json_object_set_new(parameters, "operation", json_string(operation)) <
			0 ||
		json_object_set(parameters, "kernels", names) < 0)
		return kp_diag_no_memory(diag);
	if (is_named && json_array_size(names) == 0)
		return 0;
	if (make(making, plan, parameters, diag) == 0)
		return 1;
	bool is_empty = strcmp(diag->code, "no_such_kernel") == 0;
	bench_plan_finish(plan);
	return is_empty && !is_named ? 0 : -1;
}

/* A name that is of no operation at all: the first operation says so. */
static int check_names(
	const struct making *making, const char *family, struct kp_diag *diag)
{
	const json_t *names = json_object_get(making->parameters, "kernels");
	size_t i;
	json_t *name;

	json_array_foreach (names, i, name) {
		bool is_known = false;
		for (size_t j = 0; j < making->families->count; j++) {
			const char *operation = making->families->items[j].operation;
			is_known |=
				is_of(operation, family) &&
				has_kernel(making, operation, json_string_value(name));
		}
		if (!is_known)
			return kp_diag_set(diag, "no_such_kernel",
				json_string_value(name),
				"%s is no kernel and no plugin of %s",
				json_string_value(name), family);
	}
	return 0;
}

static int make_all(const struct making *making, const char *family,
	struct bench_plan *plan, struct kp_diag *diag)
{
	struct bench_plan *last = NULL;

	for (size_t i = 0; i < making->families->count; i++) {
		const char *operation = making->families->items[i].operation;
		struct bench_plan made = {0};
		if (!is_of(operation, family))
			continue;
		int has_plan = make_one(making, operation, &made, diag);
		if (has_plan < 0)
			return -1;
		if (has_plan == 0)
			continue;
		struct bench_plan *place =
			last ? last->next = calloc(1, sizeof(*place)) : plan;
		if (!place) {
			bench_plan_finish(&made);
			return kp_diag_no_memory(diag);
		}
		*place = made;
		last = place;
	}
	return last ? 0
		    : kp_diag_set(diag, "no_such_kernel", family,
			      "there is no kernel of %s here", family);
}

int bench_set_make(struct bench_plan *plan, const struct kp_table *table,
	const struct kp_registry *registry, const struct kp_families *families,
	const json_t *parameters, struct kp_diag *diag)
{
	const struct making making = {table, registry, families, parameters};
	const char *asked = json_string_value(json_object_get(parameters, "operation"));
	bool is_family = false;

	for (size_t i = 0; asked && i < families->count; i++)
		is_family |= is_of(families->items[i].operation, asked);
	if (!is_family)
		return make(&making, plan, parameters, diag);
	if (check_names(&making, asked, diag) < 0)
		return -1;
	return make_all(&making, asked, plan, diag);
}
