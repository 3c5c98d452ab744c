/* SPDX-License-Identifier: MIT */
/* Walks directories for files that could be kplug's. */
#include "cmd/check_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/file.h"
#include "lib/base/json.h"
#include "lib/base/owned.h"
#include "lib/base/text.h"

enum { FILES_MOST = 65536, DEPTH_MOST = 16 };

/* Takes the path. */
static int add_file(struct check_files *files, char *path, bool named, bool likely,
	struct kp_diag *diag)
{
	if (files->count == files->room) {
		size_t room = files->room ? files->room * 2 : 64;
		void *items = reallocarray(files->items, room, sizeof(*files->items));
		if (!items) {
			free(path);
			return kp_diag_no_memory(diag);
		}
		files->items = items;
		files->room = room;
	}
	files->items[files->count++] =
		(struct check_file){.path = path, .named = named, .likely = likely};
	return files->count <= FILES_MOST
		       ? 0
		       : kp_diag_set(diag, "too_many", path,
				 "more than %d files to check", FILES_MOST);
}

static bool is_wanted(const char *name)
{
	return kp_text_ends_with(name, ".json") || kp_text_ends_with(name, ".so");
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int walk(struct check_files *files, const char *directory, int depth, bool likely,
	struct kp_diag *diag);

/* Takes the path. */
static int visit(struct check_files *files, char *path, const char *name, int depth,
	bool likely, struct kp_diag *diag)
{
	struct stat st;
	if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
		int result = depth < DEPTH_MOST
				     ? walk(files, path, depth + 1,
					       strcmp(name, "plugins.d") == 0, diag)
				     : 0;
		free(path);
		return result;
	}
	/* A link to a directory leads to what somebody else may be checking. */
	bool leads_away = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
	if (is_wanted(name) && !leads_away)
		return add_file(files, path, false, likely, diag);
	free(path);
	return 0;
}

static int walk(struct check_files *files, const char *directory, int depth, bool likely,
	struct kp_diag *diag)
{
	struct dirent **entries;
	int count = scandir(directory, &entries, is_visible, by_name);
	int result = 0;
	size_t length = strlen(directory);
	bool here = strcmp(directory, ".") == 0;
	const char *between =
		here || (length > 0 && directory[length - 1] == '/') ? "" : "/";
	if (count < 0)
		return kp_diag_set(diag, "not_readable", directory, "cannot read %s: %s",
			directory, strerror(errno));
	for (int i = 0; i < count; i++) {
		char *path = NULL;
		if (result == 0 && asprintf(&path, "%s%s%s", here ? "" : directory,
					   between, entries[i]->d_name) < 0)
			result = kp_diag_no_memory(diag);
		if (result == 0)
			result = visit(
				files, path, entries[i]->d_name, depth, likely, diag);
		free(entries[i]);
	}
	free(entries);
	return result;
}

int check_files_add(struct check_files *files, const char *word, struct kp_diag *diag)
{
	struct stat st;
	if (lstat(word, &st) < 0)
		return kp_diag_set(diag,
			errno == ENOENT || errno == ENOTDIR ? "missing_file"
							    : "not_readable",
			word, "cannot look at %s: %s", word, strerror(errno));
	if (stat(word, &st) == 0 && S_ISDIR(st.st_mode))
		return walk(files, word, 0, true, diag);
	char *path = strdup(word);
	return path ? add_file(files, path, true, true, diag) : kp_diag_no_memory(diag);
}

/* ---- what they are --------------------------------------------------------------- */

static const char *const manifest_keys[] = {
	"library", "config", "sha256", "timeout_ms", "priority_offset", "enabled"};
static const char *const note_keys[] = {"kernels", "abi", "host"};
static const char *const family_keys[] = {
	"roles", "dims", "operation", "revision", "check", "attributes"};

/* How many of the names it has; near ones, too, where `near`. */
static size_t keys_of(
	const json_t *root, const char *const *names, size_t count, bool near)
{
	const char *key;
	json_t *value;
	size_t found = 0;
	json_object_foreach ((json_t *)root, key, value) {
		const char *nearest = near ? kp_text_nearest(key, names, count) : NULL;
		for (size_t i = 0; !nearest && i < count; i++)
			nearest = strcmp(names[i], key) == 0 ? key : NULL;
		found += nearest != NULL;
	}
	return found;
}

static bool is_called(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');
	return strcmp(slash ? slash + 1 : path, name) == 0;
}

static bool is_in(const char *path, const char *directory)
{
	size_t length = strlen(directory);
	const char *slash = strrchr(path, '/');
	if (!slash || (size_t)(slash - path) < length ||
		strncmp(slash - length, directory, length) != 0)
		return false;
	return (size_t)(slash - path) == length || slash[-(ptrdiff_t)length - 1] == '/';
}

/* Other people's JSON has keys of these names, too: two are asked for, or the one. */
static enum check_kind kind_of(const struct check_file *file)
{
	const json_t *root = file->root;
	bool near = file->likely;
	size_t family = keys_of(root, family_keys, KP_COUNT(family_keys), false);
	if (family >= 3 &&
		(json_object_get(root, "roles") || json_object_get(root, "dims")))
		return CHECK_FAMILY;
	if (json_is_array(json_object_get(root, "kernels")))
		return CHECK_NOTE;
	if (json_is_string(json_object_get(root, "library")))
		return CHECK_MANIFEST;
	if (is_in(file->path, "plugins.d"))
		return CHECK_MANIFEST;
	if (!near)
		return CHECK_OTHER;
	if (is_called(file->path, "plugin.json") ||
		keys_of(root, note_keys, KP_COUNT(note_keys), true) > 1)
		return CHECK_NOTE;
	if (is_called(file->path, "manifest.json") ||
		keys_of(root, manifest_keys, KP_COUNT(manifest_keys), true) > 0)
		return CHECK_MANIFEST;
	return family >= 2 ? CHECK_FAMILY : CHECK_OTHER;
}

/* A mask, which is nothing to check: empty, or a link to where nothing is. */
static bool is_mask(const struct check_file *file)
{
	struct stat st;
	return stat(file->path, &st) == 0 &&
	       (S_ISCHR(st.st_mode) || (S_ISREG(st.st_mode) && st.st_size == 0));
}

static void read_text(struct check_file *file, struct kp_lint *lint)
{
	struct kp_diag diag;
	bool likely = file->likely || is_called(file->path, "manifest.json") ||
		      is_called(file->path, "plugin.json");
	if (is_mask(file))
		return;
	int result = kp_file_read(
		AT_FDCWD, file->path, KP_JSON_BYTES, &file->bytes, &file->size, &diag);
	if (result == 0)
		result = kp_json_parse(
			file->bytes, file->size, file->path, &file->root, &diag);
	if (result < 0 && likely)
		kp_lint_add(lint, file->path, &diag);
	if (result == 0)
		file->kind = kind_of(file);
	if (result == 0 && file->kind == CHECK_OTHER && file->named) {
		kp_diag_set(&diag, "unknown_kind", file->path,
			"it is neither a manifest, nor a plugin's note, nor a family");
		kp_lint_add(lint, file->path, &diag);
	}
}

void check_files_read(struct check_files *files, struct kp_lint *lint)
{
	for (size_t i = 0; i < files->count; i++) {
		struct check_file *file = &files->items[i];
		if (kp_text_ends_with(file->path, ".json"))
			read_text(file, lint);
		else
			file->kind = CHECK_LIBRARY;
	}
}

struct kp_lint_text check_file_text(const struct check_file *file)
{
	return (struct kp_lint_text){file->path, file->bytes, file->size};
}

void check_files_finish(struct check_files *files)
{
	for (size_t i = 0; i < files->count; i++) {
		free(files->items[i].path);
		free(files->items[i].bytes);
		json_decref(files->items[i].root);
	}
	free(files->items);
	*files = (struct check_files){0};
}
