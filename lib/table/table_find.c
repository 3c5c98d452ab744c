/* SPDX-License-Identifier: MIT */
/* Finding the kernel that a person named. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/text.h"
#include "lib/table/table_read.h"

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

/* The kernels whose names are offered: those of a plugin that is named, else all. */
struct choice {
	size_t count;
	const char **names;
	size_t *kernels;
};

static bool is_offered(
	const struct kp_table *table, size_t kernel, const char *name, size_t length)
{
	const char *plugin = kp_table_kernel_plugin(table, kernel);
	return strncmp(plugin, name, length) == 0 && plugin[length] == '\0';
}

static bool choose(const struct kp_table *table, const struct scope *scope,
	const char *plugin, size_t length, struct choice *choice)
{
	size_t room = scope->end - scope->first;

	if (room > NAMES_OFFERED)
		room = NAMES_OFFERED;
	*choice = (struct choice){0, calloc(room + 1, sizeof(*choice->names)),
		calloc(room + 1, sizeof(*choice->kernels))};
	if (!choice->names || !choice->kernels)
		return false;
	for (size_t k = scope->first; k < scope->end && choice->count < room; k++) {
		if (plugin && !is_offered(table, k, plugin, length))
			continue;
		choice->names[choice->count] = kp_table_kernel_name(table, k);
		choice->kernels[choice->count++] = k;
	}
	return true;
}

/* The nearest kernel's name is the one that is asked about, so that it is accepted. */
static const char *offer(const struct kp_table *table, const struct choice *choice,
	const char *name, bool as_id, char *text, size_t size)
{
	const char *nearest = kp_text_nearest(name, choice->names, choice->count);
	char id[KP_KERNEL_ID_BYTES];
	size_t first = 0;
	size_t same = 0;

	text[0] = '\0';
	if (!nearest)
		return text;
	for (size_t i = choice->count; i-- > 0;)
		if (strcmp(choice->names[i], nearest) == 0) {
			first = choice->kernels[i];
			same++;
		}
	kp_table_kernel_id(table, first, id, sizeof(id));
	(void)snprintf(
		text, size, "; did you mean %s?", as_id || same > 1 ? id : nearest);
	return text;
}

static int not_found(const struct kp_table *table, const struct scope *scope,
	const char *name, struct kp_diag *diag)
{
	const char *slash = strchr(name, '/');
	size_t length = slash ? (size_t)(slash - name) : 0;
	char where[160] = "";
	char text[KP_KERNEL_ID_BYTES + 32] = "";
	struct choice choice;

	/* Of the plugin that is named, else of any. */
	for (int all = slash ? 0 : 1; all < 2 && !text[0]; all++) {
		if (choose(table, scope, all ? NULL : name, length, &choice))
			offer(table, &choice, slash ? slash + 1 : name, slash != NULL,
				text, sizeof(text));
		free(choice.names);
		free(choice.kernels);
	}
	if (scope->operation)
		(void)snprintf(where, sizeof(where), " of %s", scope->operation);
	return kp_diag_set(diag, "no_such_kernel", name, "there is no kernel %s%s%s",
		name, where, text);
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
