/* SPDX-License-Identifier: MIT */
/* Follows needed names, breadth first, as the loader does. */
#include "daemon/worker/closure.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/worker/elf_facts.h"
#include "lib/base/file.h"
#include "lib/base/json.h"
#include "lib/base/owned.h"

/* What every process has that could load a plugin. */
static const char *const implied[] = {"libc.so.6"};

static void part_free(struct closure_part *part)
{
	if (!part)
		return;
	elf_image_finish(&part->image);
	kp_file_close(&part->fd);
	free(part->name);
	free(part->path);
	free(part);
}

void closure_finish(struct closure *closure)
{
	for (size_t i = 0; i < closure->count; i++)
		part_free(closure->parts[i]);
	json_decref(closure->missing);
	*closure = (struct closure){0};
}

const struct closure_part *closure_find(const struct closure *closure, const char *name)
{
	for (size_t i = 0; i < closure->count; i++)
		if (strcmp(closure->parts[i]->name, name) == 0)
			return closure->parts[i];
	return NULL;
}

static bool is_missed(const struct closure *closure, const char *name)
{
	size_t i;
	json_t *row;
	json_array_foreach (closure->missing, i, row)
		if (strcmp(kp_json_text(row, "name"), name) == 0)
			return true;
	return false;
}

static struct closure_part *part_new(const char *name, const char *path, const char *by)
{
	struct closure_part *part = calloc(1, sizeof(*part));
	if (!part)
		return NULL;
	part->fd = -1;
	part->by = by;
	part->name = strdup(name);
	part->path = strdup(path);
	if (part->name && part->path)
		return part;
	part_free(part);
	return NULL;
}

/* One that cannot be read is the loader's to judge. */
static int add(
	struct closure *closure, const char *name, const char *path, const char *by)
{
	struct kp_diag diag;
	if (closure->count == CLOSURE_MOST) {
		closure->is_cut = true;
		return 0;
	}
	struct closure_part *part = part_new(name, path, by);
	if (!part)
		return -1;
	part->fd = kp_file_open(AT_FDCWD, path, NULL, NULL);
	if (part->fd < 0 ||
		elf_image_open(part->fd, part->path, &part->image, &diag) < 0) {
		closure->is_cut = true;
		part_free(part);
		return 0;
	}
	closure->parts[closure->count++] = part;
	return 0;
}

/* Takes `row`. */
static int miss(struct closure *closure, json_t *row, const char *by)
{
	if (!closure->missing)
		closure->missing = json_array();
	closure->is_cut = true;
	int failed = json_object_set_new(row, "by", by ? json_string(by) : json_null());
	return json_array_append_new(closure->missing, row) < 0 || failed ? -1 : 0;
}

static int follow(struct closure *closure, const struct search_path *path,
	const char *name, const char *by)
{
	if (closure_find(closure, name) || is_missed(closure, name))
		return 0;
	json_t *row = search_library(path, name);
	if (!row)
		return -1;
	if (!search_found(row))
		return miss(closure, row, by);
	int result = add(closure, name, kp_json_text(row, "path"), by);
	json_decref(row);
	return result;
}

static int follow_all(struct closure *closure, const json_t *facts,
	const struct search_path *path, const char *by)
{
	size_t i;
	json_t *name;
	json_array_foreach (json_object_get(facts, "needed"), i, name)
		if (follow(closure, path, json_string_value(name), by) < 0)
			return -1;
	return 0;
}

/* The RPATH of the library that all is for holds for its parts, from where it lies. */
static int inherit(json_t *rpath, const struct search_path *first)
{
	char directory[4096];
	size_t i;
	json_t *item;
	if (json_array_size(first->runpath) > 0)
		return 0;
	json_array_foreach ((json_t *)first->rpath, i, item)
		if (search_expand(json_string_value(item), first->origin, directory,
			    sizeof(directory)) &&
			json_array_append_new(rpath, kp_json_clean_string(directory)) < 0)
			return -1;
	return 0;
}

/* What a part needs, by its own paths and those that it inherits. */
static int follow_part(struct closure *closure, const struct closure_part *part,
	const struct search_path *first)
{
	char origin[4096];
	owned_json *facts = elf_facts(&part->image);
	owned_json *rpath = json_copy(json_object_get(facts, "rpath"));
	if (!facts || !rpath || inherit(rpath, first) < 0)
		return -1;
	const struct search_path path = {
		.origin = search_directory(part->path, origin, sizeof(origin)),
		.rpath = rpath,
		.runpath = json_object_get(facts, "runpath"),
		.machine = first->machine,
		.class = first->class,
	};
	return follow_all(closure, facts, &path, part->name);
}

int closure_gather(
	struct closure *closure, const json_t *facts, const struct search_path *path)
{
	if (follow_all(closure, facts, path, NULL) < 0)
		return -1;
	for (size_t i = 0; i < closure->count; i++)
		if (follow_part(closure, closure->parts[i], path) < 0)
			return -1;
	for (size_t i = 0; i < KP_COUNT(implied); i++)
		if (follow(closure, path, implied[i], NULL) < 0)
			return -1;
	return 0;
}
