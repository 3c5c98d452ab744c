/* SPDX-License-Identifier: MIT */
/* Who else may change a file, or put another in its place. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/file.h"

enum { LINKS = 40, /* as the kernel's bound */ OTHERS = S_IWGRP | S_IWOTH };

static bool is_owned(const struct stat *st, uid_t owner)
{
	return st->st_uid == 0 || st->st_uid == owner;
}

static int not_trusted(
	const struct stat *st, const char *path, uid_t owner, struct kp_diag *diag)
{
	return kp_diag_set(diag, "not_trusted", path,
		"%s belongs to uid %u and has mode %04o: others than root and uid %u "
		"may change it",
		path, (unsigned)st->st_uid, (unsigned)st->st_mode & 07777,
		(unsigned)owner);
}

int kp_file_trusted(
	const struct stat *st, const char *path, uid_t owner, struct kp_diag *diag)
{
	if (is_owned(st, owner) && !(st->st_mode & OTHERS))
		return 0;
	return not_trusted(st, path, owner, diag);
}

/* A path that is followed: what has been walked, and what is still to walk. */
struct walk {
	uid_t owner;
	unsigned links;
	char done[PATH_MAX], rest[PATH_MAX];
};

static int too_long(const char *path, struct kp_diag *diag)
{
	return kp_diag_set(diag, "path_too_long", path,
		"%s: more than %d bytes on the way to it", path, PATH_MAX - 1);
}

static int unreachable(const char *path, struct kp_diag *diag)
{
	return kp_diag_set(diag, errno == ENOENT ? "missing_file" : "io_error", path,
		"cannot look at %s: %s", path, strerror(errno));
}

/* In a sticky directory nobody can replace what belongs to another. */
static int check_dir(const struct walk *walk, const struct stat *st, struct kp_diag *diag)
{
	if (is_owned(st, walk->owner) && st->st_mode & S_ISVTX)
		return 0;
	return kp_file_trusted(st, walk->done, walk->owner, diag);
}

/* Puts the text of the link at walk->done in front of the rest. */
static int follow(struct walk *walk, size_t parent, struct kp_diag *diag)
{
	char text[PATH_MAX];
	char joined[PATH_MAX];
	ssize_t n = readlink(walk->done, text, sizeof(text) - 1);

	if (n < 0)
		return unreachable(walk->done, diag);
	text[n] = '\0';
	if (++walk->links > LINKS)
		return kp_diag_set(diag, "link_loop", walk->done,
			"%s: too many symbolic links", walk->done);
	int length = snprintf(joined, sizeof(joined), "%s/%s", text, walk->rest);
	if (length < 0 || (size_t)length >= sizeof(joined))
		return too_long(walk->done, diag);
	memcpy(walk->rest, joined, (size_t)length + 1);
	walk->done[text[0] == '/' ? 0 : parent] = '\0';
	return 0;
}

/* Walks one component: `name` of `length` bytes. */
static int step(struct walk *walk, const char *name, size_t length, struct kp_diag *diag)
{
	size_t parent = strlen(walk->done);
	struct stat st;

	if (length == 1 && name[0] == '.')
		return 0;
	if (length == 2 && memcmp(name, "..", 2) == 0) {
		char *slash = strrchr(walk->done, '/');
		if (slash)
			*slash = '\0';
		return 0;
	}
	if (parent + 1 + length >= sizeof(walk->done))
		return too_long(walk->done, diag);
	walk->done[parent] = '/';
	memcpy(walk->done + parent + 1, name, length);
	walk->done[parent + 1 + length] = '\0';
	if (lstat(walk->done, &st) < 0)
		return unreachable(walk->done, diag);
	/* A link has no mode of its own: only its owner can have placed it. */
	if (S_ISLNK(st.st_mode))
		return is_owned(&st, walk->owner)
			       ? follow(walk, parent, diag)
			       : not_trusted(&st, walk->done, walk->owner, diag);
	return S_ISDIR(st.st_mode) ? check_dir(walk, &st, diag) : 0;
}

static int check_root(const struct walk *walk, struct kp_diag *diag)
{
	struct stat st;

	if (stat("/", &st) < 0)
		return unreachable("/", diag);
	return is_owned(&st, walk->owner) && st.st_mode & S_ISVTX
		       ? 0
		       : kp_file_trusted(&st, "/", walk->owner, diag);
}

static int walk_to(struct walk *walk, const char *path, struct kp_diag *diag)
{
	int length = snprintf(walk->rest, sizeof(walk->rest), "%s", path);

	if (length < 0 || (size_t)length >= sizeof(walk->rest))
		return too_long(path, diag);
	int result = check_root(walk, diag);
	while (result == 0) {
		char name[PATH_MAX];
		size_t skipped = strspn(walk->rest, "/");
		size_t n = strcspn(walk->rest + skipped, "/");
		if (n == 0)
			break;
		memcpy(name, walk->rest + skipped, n);
		memmove(walk->rest, walk->rest + skipped + n,
			strlen(walk->rest + skipped + n) + 1);
		result = step(walk, name, n, diag);
	}
	return result;
}

int kp_file_way_trusted(const char *path, uid_t owner, struct kp_diag *diag)
{
	struct walk *walk = calloc(1, sizeof(*walk));

	if (!walk)
		return kp_diag_no_memory(diag);
	walk->owner = owner;
	int result = walk_to(walk, path, diag);
	free(walk);
	return result;
}
