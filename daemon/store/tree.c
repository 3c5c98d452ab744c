/* SPDX-License-Identifier: MIT */
/* Walking trees of the store. */
#include "daemon/store/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/scan/stamp.h"
#include "lib/base/file.h"
#include "lib/base/text.h"

enum { TREE_DEPTH = 32 };
static const uint64_t file_most = 1u << 30;

static int open_dir(int dir, const char *name)
{
	return openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Takes the descriptor. */
static DIR *list(int fd)
{
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);

	if (!stream && fd >= 0)
		(void)close(fd);
	return stream;
}

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Calls `visit` for each name of the directory until one fails. */
static int each(int dir, const char *name,
	int (*visit)(int dir, const char *name, void *context), void *context)
{
	DIR *stream = list(open_dir(dir, name));
	struct dirent *item;
	int failed = 0;

	if (!stream)
		return -1;
	while (!failed && (item = readdir(stream)))
		if (!is_dots(item->d_name))
			failed = visit(dirfd(stream), item->d_name, context);
	(void)closedir(stream);
	return failed;
}

static int remove_visit(int dir, const char *name, void *context)
{
	int *depth = context;

	if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (*depth >= TREE_DEPTH)
		return -1;
	(*depth)++;
	int failed = each(dir, name, remove_visit, depth);
	(*depth)--;
	return failed ? -1 : unlinkat(dir, name, AT_REMOVEDIR);
}

int tree_remove(int dir, const char *name)
{
	int depth = 0;

	return remove_visit(dir, name, &depth);
}

struct sizing {
	int64_t bytes;
	int depth;
};

static int size_visit(int dir, const char *name, void *context)
{
	struct sizing *sizing = context;
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		sizing->depth >= TREE_DEPTH)
		return 0;
	sizing->bytes += (int64_t)st.st_blocks * 512;
	if (!S_ISDIR(st.st_mode))
		return 0;
	sizing->depth++;
	(void)each(dir, name, size_visit, sizing);
	sizing->depth--;
	return 0;
}

int64_t tree_bytes(int dir, const char *name)
{
	struct sizing sizing = {0};

	(void)size_visit(dir, name, &sizing);
	return sizing.bytes;
}

static int publish_visit(int dir, const char *name, void *context)
{
	int *depth = context;
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || *depth >= TREE_DEPTH)
		return -1;
	if (!S_ISDIR(st.st_mode))
		return 0;
	(*depth)++;
	int failed = each(dir, name, publish_visit, depth);
	(*depth)--;
	return failed ? -1 : fchmodat(dir, name, 0755, 0);
}

int tree_publish(int dir, const char *name)
{
	int depth = 0;

	return publish_visit(dir, name, &depth);
}

int tree_lines_add(struct tree_lines *lines, const char *digest, const char *name)
{
	char **items = reallocarray(lines->items, lines->count + 1, sizeof(*items));

	if (!items)
		return -1;
	lines->items = items;
	if (asprintf(&items[lines->count], "%s  %s", digest, name) < 0)
		return -1;
	lines->count++;
	return 0;
}

int tree_lines_digest(struct tree_lines *lines, char digest[DIGEST_TEXT])
{
	size_t size = 0, used = 0;

	if (lines->count > 0)
		qsort(lines->items, lines->count, sizeof(*lines->items), kp_text_compare);
	for (size_t i = 0; i < lines->count; i++)
		size += strlen(lines->items[i]) + 1;
	char *text = malloc(size + 1);
	if (!text)
		return -1;
	for (size_t i = 0; i < lines->count; i++) {
		size_t length = strlen(lines->items[i]);
		memcpy(text + used, lines->items[i], length);
		text[used + length] = '\n';
		used += length + 1;
	}
	digest_bytes(text, used, digest);
	free(text);
	return 0;
}

void tree_lines_finish(struct tree_lines *lines)
{
	for (size_t i = 0; i < lines->count; i++)
		free(lines->items[i]);
	free(lines->items);
	*lines = (struct tree_lines){0};
}

struct hashing {
	struct tree_lines lines;
	char path[PATH_MAX]; /* of the directory, "" or with a slash at its end */
	const char *tree;
	size_t files;
	bool stamps;	     /* in place of content */
	struct trace *trace; /* of these; or NULL */
};

static int hash_visit(int dir, const char *name, void *context);

/* What is in the tree is told by its path below the directory of the tree. */
static int trace_stat(
	const struct hashing *hashing, const char *path, const struct stat *st)
{
	char whole[PATH_MAX];
	struct stamp stamp;
	int n = snprintf(
		whole, sizeof(whole), "%s%s%s", hashing->tree, path[0] ? "/" : "", path);

	if (!hashing->trace)
		return 0;
	if (n < 0 || (size_t)n >= sizeof(whole))
		return -1;
	stamp_from_stat(st, &stamp);
	return trace_add(hashing->trace, whole, &stamp);
}

static int hash_dir(
	int dir, const char *name, const struct stat *st, struct hashing *hashing)
{
	size_t before = strlen(hashing->path);
	size_t room = sizeof(hashing->path) - before;
	int n = snprintf(hashing->path + before, room, "%s/", name);

	if (n < 0 || (size_t)n >= room)
		return -1;
	hashing->path[before + (size_t)n - 1] = '\0';
	int failed = trace_stat(hashing, hashing->path, st);
	hashing->path[before + (size_t)n - 1] = '/';
	if (!failed)
		failed = each(dir, name, hash_visit, hashing);
	hashing->path[before] = '\0';
	return failed;
}

/* All but the device, whose number may be another after a while. */
static void digest_stamp(const struct stat *st, char digest[DIGEST_TEXT])
{
	char text[128];
	struct stamp stamp;

	stamp_from_stat(st, &stamp);
	int n = snprintf(text, sizeof(text), "%llu %lld %lld %lld",
		(unsigned long long)stamp.ino, (long long)stamp.size,
		(long long)stamp.mtime, (long long)stamp.ctime);
	digest_bytes(text, (size_t)n, digest);
}

static int digest_content(int dir, const char *name, char digest[DIGEST_TEXT])
{
	int fd = kp_file_open(dir, name, NULL, NULL);

	if (fd < 0)
		return -1;
	int failed = digest_copy(fd, -1, file_most, name, digest, NULL, NULL);
	kp_file_close(&fd);
	return failed;
}

static int hash_file(
	int dir, const char *name, const struct stat *st, struct hashing *hashing)
{
	char digest[DIGEST_TEXT];
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s%s", hashing->path, name);

	if (n < 0 || (size_t)n >= sizeof(path) || hashing->lines.count >= hashing->files)
		return -1;
	if (!hashing->stamps && digest_content(dir, name, digest) < 0)
		return -1;
	if (hashing->stamps)
		digest_stamp(st, digest);
	if (trace_stat(hashing, path, st) < 0)
		return -1;
	return tree_lines_add(&hashing->lines, digest, path);
}

static int hash_visit(int dir, const char *name, void *context)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	if (S_ISDIR(st.st_mode))
		return hash_dir(dir, name, &st, context);
	return S_ISREG(st.st_mode) ? hash_file(dir, name, &st, context) : -1;
}

/* The tree itself first: what is changed in it meanwhile gives it another time. */
static int trace_tree(int dir, const struct hashing *hashing)
{
	struct stat st;

	if (!hashing->trace)
		return 0;
	if (fstatat(dir, hashing->tree, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	return trace_stat(hashing, "", &st);
}

static int digest(int dir, const char *name, size_t files, bool stamps,
	struct trace *trace, char text[DIGEST_TEXT])
{
	struct hashing *hashing = calloc(1, sizeof(*hashing));

	if (!hashing)
		return -1;
	hashing->tree = name;
	hashing->files = files;
	hashing->stamps = stamps;
	hashing->trace = trace;
	int failed = trace_tree(dir, hashing);
	if (!failed)
		failed = each(dir, name, hash_visit, hashing);
	if (!failed)
		failed = tree_lines_digest(&hashing->lines, text);
	tree_lines_finish(&hashing->lines);
	free(hashing);
	return failed;
}

int tree_digest(int dir, const char *name, size_t files, char text[DIGEST_TEXT])
{
	return digest(dir, name, files, false, NULL, text);
}

int tree_stamps(int dir, const char *name, size_t files, char text[DIGEST_TEXT],
	struct trace *trace)
{
	return digest(dir, name, files, true, trace, text);
}
