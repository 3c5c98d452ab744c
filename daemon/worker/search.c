/* SPDX-License-Identifier: MIT */
/* Looks for libraries in the order of the loader. */
#include "daemon/worker/search.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/worker/ld_cache.h"
#include "lib/base/file.h"
#include "lib/base/json.h"

#if defined(__x86_64__)
#define MULTIARCH "x86_64-linux-gnu"
#elif defined(__aarch64__)
#define MULTIARCH "aarch64-linux-gnu"
#elif defined(__riscv)
#define MULTIARCH "riscv64-linux-gnu"
#elif defined(__powerpc64__)
#define MULTIARCH "powerpc64le-linux-gnu"
#elif defined(__s390x__)
#define MULTIARCH "s390x-linux-gnu"
#endif

enum { PATH_MOST = 4096 };

struct finder {
	const struct search_path *path;
	const char *name;
	json_t *searched;
	char found[PATH_MOST];
};

/* Like the loader: not ours is as good as not there. */
static bool fits(const struct finder *finder, const char *path)
{
	Elf64_Ehdr header; /* e_machine has one place in both classes */
	__attribute__((cleanup(kp_file_close))) int fd =
		kp_file_open(AT_FDCWD, path, NULL, NULL);
	if (fd < 0 || pread(fd, &header, sizeof(header), 0) < (ssize_t)sizeof(Elf32_Ehdr))
		return false;
	return memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
	       header.e_ident[EI_CLASS] == finder->path->class &&
	       header.e_machine == finder->path->machine;
}

static bool try_directory(struct finder *finder, const char *directory)
{
	json_array_append_new(finder->searched, kp_json_clean_string(directory));
	int n = snprintf(
		finder->found, sizeof(finder->found), "%s/%s", directory, finder->name);
	return n > 0 && (size_t)n < sizeof(finder->found) && fits(finder, finder->found);
}

bool search_expand(const char *text, const char *origin, char *out, size_t size)
{
	size_t used = 0;
	while (*text) {
		size_t skip = strncmp(text, "$ORIGIN", 7) == 0	   ? 7
			      : strncmp(text, "${ORIGIN}", 9) == 0 ? 9
								   : 0;
		size_t n = skip ? strlen(origin) : 1;
		if (used + n >= size)
			return false;
		memcpy(out + used, skip ? origin : text, n);
		used += n;
		text += skip ? skip : 1;
	}
	out[used] = '\0';
	return true;
}

static bool try_list(struct finder *finder, const json_t *list)
{
	size_t i;
	json_t *item;
	char directory[PATH_MOST];
	json_array_foreach ((json_t *)list, i, item) {
		const char *text = json_string_value(item);
		if (text && *text &&
			search_expand(text, finder->path->origin, directory,
				sizeof(directory)) &&
			try_directory(finder, directory))
			return true;
	}
	return false;
}

static bool try_environment(struct finder *finder)
{
	const char *list = getenv("LD_LIBRARY_PATH");
	char directory[PATH_MOST];
	while (list && *list) {
		size_t n = strcspn(list, ":;");
		snprintf(directory, sizeof(directory), "%.*s", (int)n, list);
		if (n > 0 && n < sizeof(directory) && try_directory(finder, directory))
			return true;
		list += n + (list[n] != '\0');
	}
	return false;
}

static bool fits_cached(void *context, const char *path)
{
	struct finder *finder = context;
	int n = snprintf(finder->found, sizeof(finder->found), "%s", path);
	return n > 0 && (size_t)n < sizeof(finder->found) && fits(finder, path);
}

static bool try_cache(struct finder *finder)
{
	json_array_append_new(finder->searched, json_string(LD_CACHE_PATH));
	return ld_cache_find(LD_CACHE_PATH, finder->name, fits_cached, finder);
}

static bool try_defaults(struct finder *finder)
{
	static const char *const directories[] = {
#ifdef MULTIARCH
		"/lib/" MULTIARCH,
		"/usr/lib/" MULTIARCH,
#endif
		"/lib64",
		"/usr/lib64",
		"/lib",
		"/usr/lib",
	};
	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++)
		if (try_directory(finder, directories[i]))
			return true;
	return false;
}

/* A name with a slash is a path, and nothing is searched. */
static bool try_path(struct finder *finder)
{
	return search_expand(finder->name, finder->path->origin, finder->found,
		       sizeof(finder->found)) &&
	       fits(finder, finder->found);
}

json_t *search_library(const struct search_path *path, const char *name)
{
	struct finder finder = {.path = path, .name = name, .searched = json_array()};
	bool has_runpath = json_array_size(path->runpath) > 0;
	bool found = strchr(name, '/')
			     ? try_path(&finder)
			     : (!has_runpath && try_list(&finder, path->rpath)) ||
				       try_environment(&finder) ||
				       try_list(&finder, path->runpath) ||
				       try_cache(&finder) || try_defaults(&finder);
	return json_pack("{s:o, s:o, s:o}", "name", kp_json_clean_string(name), "path",
		found ? kp_json_clean_string(finder.found) : json_null(), "searched",
		finder.searched);
}

int search_found(const json_t *found)
{
	return json_is_string(json_object_get(found, "path"));
}

const char *search_sentence(const json_t *found, char *text, size_t size)
{
	size_t i;
	json_t *item;
	int n = snprintf(text, size, "%s is not found (searched",
		json_string_value(json_object_get(found, "name")));
	json_array_foreach (json_object_get(found, "searched"), i, item) {
		if (n < 0 || (size_t)n >= size)
			return text;
		n += snprintf(text + n, size - (size_t)n, "%s %s", i ? "," : "",
			json_string_value(item));
	}
	if (n > 0 && (size_t)n < size)
		snprintf(text + n, size - (size_t)n, ")");
	return text;
}

const char *search_directory(const char *path, char *text, size_t size)
{
	const char *slash = strrchr(path, '/');
	if (!slash)
		snprintf(text, size, ".");
	else
		snprintf(
			text, size, "%.*s", (int)(slash > path ? slash - path : 1), path);
	return text;
}
