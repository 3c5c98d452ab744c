/* SPDX-License-Identifier: MIT */
/* What can only be told of several plugins: duplicates, ties, libraries that clash. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/check.h"
#include "lib/base/file.h"
#include "lib/base/json.h"
#include "lib/lint/ties.h"

enum { CHUNK = 64 << 10 };

/* ---- duplicates ------------------------------------------------------------------ */

/* The first name keeps it, as in plugind; names are in no order here. */
static const struct check_plugin *original_of(
	const struct check *check, const struct check_plugin *plugin)
{
	const struct check_plugin *first = NULL;
	for (size_t i = 0; i < check->n_plugins; i++) {
		const struct check_plugin *other = &check->plugins[i];
		bool same_file =
			other->digest[0] && strcmp(other->digest, plugin->digest) == 0;
		bool same_name = other->has_note && plugin->has_note &&
				 strcmp(other->note.name, plugin->note.name) == 0;
		if (other == plugin || !other->manifest || (!same_file && !same_name) ||
			strcmp(other->name, plugin->name) >= 0)
			continue;
		if (!first || strcmp(other->name, first->name) < 0)
			first = other;
	}
	return first;
}

static void check_duplicates(struct check *check)
{
	for (size_t i = 0; i < check->n_plugins; i++) {
		const struct check_plugin *plugin = &check->plugins[i];
		const struct check_plugin *original =
			plugin->manifest ? original_of(check, plugin) : NULL;
		struct kp_diag diag;
		if (!original)
			continue;
		kp_diag_set(&diag, "duplicate_of", original->name,
			"it is the plugin of %s (%s) once more: plugind rejects it",
			original->name, original->manifest);
		kp_lint_add(&check->lint, plugin->manifest, &diag);
	}
}

/* ---- ties ------------------------------------------------------------------------ */

/* A source and the library made of it are one plugin: the one with a manifest counts. */
static bool is_twin(const struct check *check, size_t index)
{
	const struct check_plugin *plugin = &check->plugins[index];
	for (size_t i = 0; i < check->n_plugins; i++) {
		const struct check_plugin *other = &check->plugins[i];
		int rank = !!other->manifest * 2 + !!other->library -
			   !!plugin->manifest * 2 - !!plugin->library;
		if (i != index && other->has_note &&
			strcmp(other->note.name, plugin->note.name) == 0 &&
			(rank > 0 || (rank == 0 && i < index)))
			return true;
	}
	return false;
}

static void check_ties(struct check *check)
{
	struct kp_lint_plugin *rows = calloc(check->n_plugins + 1, sizeof(*rows));
	size_t count = 0;
	if (!rows) {
		check->lint.failed = true;
		return;
	}
	for (size_t i = 0; i < check->n_plugins; i++) {
		const struct check_plugin *plugin = &check->plugins[i];
		if (plugin->has_note && !is_twin(check, i))
			rows[count++] = (struct kp_lint_plugin){
				plugin->name, &plugin->note, plugin->text};
	}
	kp_lint_ties(&check->lint, &check->families, rows, count);
	free(rows);
}

/* ---- libraries that plugins bring ------------------------------------------------ */

static bool are_equal(int a, int b)
{
	char *left = malloc(CHUNK);
	char *right = malloc(CHUNK);
	ssize_t n = 0;
	bool same = left && right;
	while (same && (n = read(a, left, CHUNK)) > 0) {
		ssize_t got = 0, more = 1;
		while (got < n && (more = read(b, right + got, (size_t)(n - got))) > 0)
			got += more;
		same = got == n && memcmp(left, right, (size_t)n) == 0;
	}
	free(left);
	free(right);
	return same && n == 0;
}

/* By content: a copy of the same file is no clash. Nothing is parsed here. */
static bool is_same_file(const char *a, const char *b)
{
	struct stat one, other;
	owned_fd left = kp_file_open(AT_FDCWD, a, &one, NULL);
	owned_fd right = kp_file_open(AT_FDCWD, b, &other, NULL);
	if (left < 0 || right < 0)
		return true;
	if (one.st_dev == other.st_dev && one.st_ino == other.st_ino)
		return true;
	return one.st_size == other.st_size && are_equal(left, right);
}

/* Where it lies with the plugin, its path; else NULL. */
static const char *brought(const struct check_plugin *plugin, const json_t *library)
{
	const char *path = kp_json_text(library, "path");
	const char *slash = strrchr(plugin->text.file, '/');
	size_t length = slash ? (size_t)(slash - plugin->text.file) + 1 : 2;
	const char *directory = slash ? plugin->text.file : "./";
	return path && strncmp(path, directory, length) == 0 ? path : NULL;
}

static void tell_clash(struct check *check, const struct check_plugin *plugin,
	const struct check_plugin *other, const char *name, const char *path,
	const char *other_path)
{
	struct kp_diag diag;
	kp_diag_set(&diag, "soname_conflict", name,
		"it brings %s as %s, and %s another %s as %s", name, path, other->name,
		name, other_path);
	kp_lint_add(&check->lint, plugin->text.file, &diag);
}

static void compare_libraries(struct check *check, const struct check_plugin *plugin,
	const struct check_plugin *other)
{
	size_t i, k;
	json_t *mine, *theirs;
	json_array_foreach (plugin->libraries, i, mine) {
		const char *path = brought(plugin, mine);
		const char *name = kp_json_text(mine, "name");
		if (!path || !name)
			continue;
		json_array_foreach (other->libraries, k, theirs) {
			const char *other_path = brought(other, theirs);
			const char *other_name = kp_json_text(theirs, "name");
			if (other_path && other_name && strcmp(name, other_name) == 0 &&
				!is_same_file(path, other_path))
				tell_clash(check, plugin, other, name, path, other_path);
		}
	}
}

void check_together(struct check *check)
{
	check_duplicates(check);
	check_ties(check);
	for (size_t i = 0; i < check->n_plugins; i++)
		for (size_t k = 0; k < i; k++)
			if (check->plugins[i].text.file && check->plugins[k].text.file)
				compare_libraries(
					check, &check->plugins[i], &check->plugins[k]);
}
