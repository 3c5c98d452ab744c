/* SPDX-License-Identifier: MIT */
/* Looks up what a request names: operation, solution, features, what is left out. */
#include "lib/select/query.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/text.h"

enum { NAMES_OFFERED = 256 };

/* Is it an operation of the family that somebody typed? */
static bool is_mode_of(const char *operation, const char *family)
{
	size_t length = strlen(family);
	return strncasecmp(operation, family, length) == 0 && operation[length] == '/';
}

/* Is it one whose mode alone somebody typed? */
static bool has_mode(const char *operation, const char *mode)
{
	const char *slash = strchr(operation, '/');
	return slash && strcasecmp(slash + 1, mode) == 0;
}

static int unknown_operation(
	const struct kp_table *table, const char *operation, struct kp_diag *diag)
{
	size_t count = kp_table_count(table, KP_SECTION_OPERATIONS);
	const char *names[NAMES_OFFERED];
	char text[KP_TEXT_OFFER] = "";
	const char *meant = NULL;
	size_t n = 0;
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		const char *name = kp_table_text(table,
			kp_load32(kp_table_record(table, KP_SECTION_OPERATIONS, i) +
				  KP_OPERATION_NAME));
		if (n < NAMES_OFFERED)
			names[n++] = name;
		if (has_mode(name, operation))
			meant = name;
		if (is_mode_of(name, operation))
			used = kp_text_add(
				text, sizeof(text), used, "%s%s", used ? ", " : "", name);
	}
	if (used)
		return kp_diag_set(diag, "unknown_operation", operation,
			"%s is a family: %s", operation, text);
	return kp_diag_set(diag, "unknown_operation", operation,
		"no kernel and no family has the operation %s%s", operation,
		meant ? kp_text_meant(meant, text)
		      : kp_text_offer(operation, names, n, NULL, text));
}

/* "plugin" or "plugin/kernel"; names that are not there leave nothing out. */
static void leave_out(struct kp_query *query, const char *name)
{
	const struct kp_table *table = query->table;
	size_t plugin = SIZE_MAX;
	size_t kernel = SIZE_MAX;

	if (strchr(name, '/')) {
		if (kp_table_find(table, NULL, name, &kernel, NULL) == 0)
			plugin = kp_load32(
				kp_table_kernel(table, kernel) + KP_KERNEL_PLUGIN);
	} else {
		plugin = kp_table_plugin(table, name);
	}
	if (plugin == SIZE_MAX) {
		query->n_unknown_without++;
		return;
	}
	query->without[query->n_without].name = name;
	query->without[query->n_without].plugin = plugin;
	query->without[query->n_without++].kernel = kernel;
}

static int init(struct kp_query *query, const struct kp_table *table,
	const struct kp_request *request, struct kp_diag *diag)
{
	query->table = table;
	query->request = request;
	query->n_traits = query->n_values = query->n_devices = query->n_without = 0;
	query->n_unknown_without = 0;
	query->operation = kp_table_operation(table, request->operation);
	if (query->operation == SIZE_MAX)
		return unknown_operation(table, request->operation, diag);
	query->family = kp_table_family(table, query->operation);
	query->solution =
		request->solution ? kp_table_symbol(table, request->solution) : 0;
	query->layout = request->layout ? kp_table_symbol(table, request->layout) : 0;
	for (size_t i = 0; i < request->n_features; i++)
		query->features[i] = kp_table_symbol(table, request->features[i]);
	for (size_t i = 0; i < request->n_without && i < KP_QUERY_WITHOUT; i++)
		leave_out(query, request->without[i]);
	if (kp_query_signature(query, diag) < 0 || kp_query_values(query, diag) < 0)
		return -1;
	return kp_query_devices(query, diag);
}

struct kp_query *kp_query_new(const struct kp_table *table,
	const struct kp_request *request, struct kp_diag *diag)
{
	struct kp_query *query = malloc(sizeof(*query));

	if (!query) {
		kp_diag_no_memory(diag);
		return NULL;
	}
	if (init(query, table, request, diag) == 0)
		return query;
	free(query);
	return NULL;
}
