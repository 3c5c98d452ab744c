/* SPDX-License-Identifier: MIT */
/* Replaces members that a reader complained about. */
#include "lib/lint/mend.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/text.h"

const char kp_mend_operation[] = "kplug/mended";

/* The member of `value` whose name the path begins with: names may have dots. */
static const char *member_of(
	const json_t *value, const json_t *good, const char *path, size_t *length)
{
	const char *key, *found = NULL;
	json_t *item;

	*length = 0;
	for (int i = 0; i < 2; i++) {
		json_object_foreach ((json_t *)(i ? good : value), key, item) {
			size_t size = strlen(key);
			if (size > *length && strncmp(path, key, size) == 0 &&
				(!path[size] || path[size] == '.' || path[size] == '[')) {
				found = key;
				*length = size;
			}
		}
	}
	return found;
}

static bool mend_member(json_t *value, const char *path, const json_t *good)
{
	size_t length;
	const char *member = member_of(value, good, path, &length);
	json_t *better = member ? json_object_get(good, member) : NULL;
	bool changed;

	if (!member)
		return false;
	char *key = strdup(member);
	if (!key)
		return false;
	if (better)
		changed = !json_equal(better, json_object_get(value, key)) &&
			  json_object_set(value, key, better) == 0;
	else
		changed = json_object_del(value, key) == 0;
	free(key);
	return changed;
}

/* A name that no other kernel has. */
static bool rename_kernel(json_t *kernel, size_t index)
{
	char name[48];

	(void)snprintf(name, sizeof(name), "kplug-mended-%zu", index);
	return json_object_set_new(kernel, "name", json_string(name)) == 0;
}

static bool mend_kernel(
	json_t *kernels, size_t index, const char *path, const json_t *good)
{
	json_t *kernel = json_array_get(kernels, index);

	if (!kernel)
		return false;
	/* "kernels[2]" as a whole, or its name: one of ours takes its place. */
	if (!*path || !json_is_object(kernel)) {
		kernel = json_deep_copy(good);
		return kernel && json_array_set_new(kernels, index, kernel) == 0 &&
		       rename_kernel(kernel, index);
	}
	if (strcmp(path, "name") == 0)
		return rename_kernel(kernel, index);
	/* A kernel without its operation's or signatures' own words is not judged on. */
	if (strncmp(path, "signatures", strlen("signatures")) == 0)
		return json_object_update(kernel, (json_t *)good) == 0 &&
		       rename_kernel(kernel, index);
	return mend_member(kernel, path, good);
}

bool kp_mend(
	json_t *root, const char *path, const json_t *good, const json_t *good_kernel)
{
	static const char kernels[] = "kernels[";
	size_t length = strlen(kernels);
	char *end;

	if (!good_kernel || strncmp(path, kernels, length) != 0 ||
		!isdigit((unsigned char)path[length]))
		return mend_member(root, path, good);
	unsigned long index = strtoul(path + length, &end, 10);
	if (*end != ']')
		return false;
	end++;
	return mend_kernel(json_object_get(root, "kernels"), index,
		*end == '.' ? end + 1 : end, good_kernel);
}
