/* SPDX-License-Identifier: MIT */
/* $ORIGIN in RUNPATH and RPATH. */
#include "daemon/store/origin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct search {
	const char *name;
	int (*visit)(void *context, const char *path, bool exists);
	void *context;
	bool found;
};

static bool exists(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0;
}

/* "$ORIGIN/lib", "${ORIGIN}": the rest behind the token, or NULL. */
static const char *behind_origin(const char *entry, size_t length)
{
	static const char *const tokens[] = {"$ORIGIN", "${ORIGIN}"};

	for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++) {
		size_t size = strlen(tokens[i]);
		if (length >= size && memcmp(entry, tokens[i], size) == 0 &&
			(length == size || entry[size] == '/'))
			return entry + size;
	}
	return NULL;
}

/* $LIB and $PLATFORM depend on the loader: such an entry is nothing of ours. */
static int try_entry(
	struct search *search, const char *library, const char *entry, size_t length)
{
	const char *rest = behind_origin(entry, length);
	const char *end = entry + length;
	char *path;
	int n;

	if (memchr(rest ? rest : entry, '$', (size_t)(end - (rest ? rest : entry))))
		return 0;
	if (rest)
		n = asprintf(&path, "%.*s%.*s/%s", (int)(strrchr(library, '/') - library),
			library, (int)(end - rest), rest, search->name);
	else
		n = asprintf(&path, "%.*s/%s", (int)length, entry, search->name);
	if (n < 0)
		return -1;
	search->found = exists(path);
	int result = rest ? search->visit(search->context, path, search->found) : 0;
	free(path);
	return result;
}

static int try_list(struct search *search, const char *library, const json_t *list)
{
	size_t i;
	json_t *item;

	json_array_foreach (list, i, item) {
		const char *entry = json_string_value(item);
		if (!entry || !*entry)
			continue;
		int result = try_entry(search, library, entry, strlen(entry));
		if (result != 0 || search->found)
			return result;
	}
	return 0;
}

int origin_search(const struct origin *origin, const char *name,
	int (*visit)(void *context, const char *path, bool exists), void *context)
{
	struct search search = {name, visit, context, false};

	if (!*name || strchr(name, '/'))
		return 0;
	if (json_array_size(origin->runpath) > 0)
		return try_list(&search, origin->path, origin->runpath);
	int result = try_list(&search, origin->path, origin->rpath);
	if (result == 0 && !search.found && origin->inherited)
		result = try_list(&search, origin->inherited_path, origin->inherited);
	return result;
}
