/* SPDX-License-Identifier: MIT */
/* Finding the kernel that a person named. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/table_read.h"
#include "lib/text.h"

enum { LISTED_BYTES = 512, NAMES_OFFERED = 4096 };

/* Kernels [first, end) that may be meant: all, or those of an operation. */
struct scope {
	size_t first, end;
	const char *operation;
};

static struct scope scope_of(const struct kp_table *table, const char *operation)
{
	if (!operation)
		return (struct scope){0, kp_table_kernels(table), NULL};
	size_t index = kp_table_operation(table, operation);
	if (index == SIZE_MAX)
		return (struct scope){0, 0, operation};
	const unsigned char *record =
		kp_table_record(table, KP_SECTION_OPERATIONS, index);
	size_t first = kp_load32(record + KP_OPERATION_KERNELS);
	return (struct scope){
		first, first + kp_load32(record + KP_OPERATION_KERNELS + 4), operation};
}

/* The kernel of an id whose plugin is the first `length` bytes, or SIZE_MAX. */
static size_t find_id(const struct kp_table *table, const char *id, size_t length)
{
	char plugin[128];

	if (length >= sizeof(plugin))
		return SIZE_MAX;
	memcpy(plugin, id, length);
	plugin[length] = '\0';
	size_t p = kp_table_plugin(table, plugin);
	if (p == SIZE_MAX)
		return SIZE_MAX;
	struct kp_list kernels = kp_table_list(
		table, kp_load32(kp_table_record(table, KP_SECTION_PLUGINS, p) +
				 KP_PLUGIN_KERNEL_LIST));
	for (size_t i = 0; i < kernels.count; i++) {
		size_t kernel = kp_list_get(kernels, i);
		if (strcmp(kp_table_kernel_name(table, kernel), id + length + 1) == 0)
			return kernel;
	}
	return SIZE_MAX;
}

/* The nearest bare name; "plugin/kernel" is compared by its kernel. */
static const char *nearest_name(
	const struct kp_table *table, const struct scope *scope, const char *name)
{
	const char *slash = strchr(name, '/');
	size_t count = scope->end - scope->first;
	if (count > NAMES_OFFERED)
		count = NAMES_OFFERED;
	const char **names = calloc(count + 1, sizeof(*names));
	if (!names)
		return NULL;
	for (size_t i = 0; i < count; i++)
		names[i] = kp_table_kernel_name(table, scope->first + i);
	const char *nearest = kp_text_nearest(slash ? slash + 1 : name, names, count);
	free(names);
	return nearest;
}

static int not_found(const struct kp_table *table, const struct scope *scope,
	const char *name, struct kp_diag *diag)
{
	const char *nearest = nearest_name(table, scope, name);
	char where[160] = "";

	if (scope->operation)
		(void)snprintf(where, sizeof(where), " of %s", scope->operation);
	if (nearest)
		return kp_diag_set(diag, "no_such_kernel", name,
			"there is no kernel %s%s; did you mean %s?", name, where,
			nearest);
	return kp_diag_set(
		diag, "no_such_kernel", name, "there is no kernel %s%s", name, where);
}

static int find_by_id(const struct kp_table *table, const struct scope *scope,
	const char *name, size_t *i, struct kp_diag *diag)
{
	size_t kernel = find_id(table, name, (size_t)(strchr(name, '/') - name));

	if (kernel == SIZE_MAX)
		return not_found(table, scope, name, diag);
	if (kernel < scope->first || kernel >= scope->end)
		return kp_diag_set(diag, "no_such_kernel", name,
			"%s is a kernel of another operation than %s", name,
			scope->operation);
	*i = kernel;
	return 0;
}

static void append_id(
	const struct kp_table *table, size_t kernel, char *list, size_t size)
{
	char id[KP_KERNEL_ID_BYTES];
	size_t used = strlen(list);

	kp_table_kernel_id(table, kernel, id, sizeof(id));
	(void)snprintf(list + used, size - used, "%s%s", used ? ", " : "", id);
}

int kp_table_find(const struct kp_table *table, const char *operation, const char *name,
	size_t *i, struct kp_diag *diag)
{
	struct scope scope = scope_of(table, operation);
	char listed[LISTED_BYTES] = "";
	size_t found = SIZE_MAX;
	size_t matches = 0;

	if (strchr(name, '/'))
		return find_by_id(table, &scope, name, i, diag);
	for (size_t k = scope.first; k < scope.end; k++) {
		if (strcmp(kp_table_kernel_name(table, k), name) != 0)
			continue;
		found = k;
		matches++;
		append_id(table, k, listed, sizeof(listed));
	}
	if (matches == 0)
		return not_found(table, &scope, name, diag);
	if (matches > 1)
		return kp_diag_set(diag, "ambiguous_name", name,
			"%s is the name of %zu kernels: %s", name, matches, listed);
	*i = found;
	return 0;
}
