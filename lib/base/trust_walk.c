/* SPDX-License-Identifier: MIT */
/* Walking paths by descriptors, and judging each component by what is open. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/file.h"
#include "lib/base/trust.h"

enum {
	LINKS = 40, /* as the kernel's bound */
	PASS = O_PATH | O_NOFOLLOW | O_CLOEXEC,
};

/* A path that is followed: what has been walked, and what is still to walk. */
struct walk {
	const struct kp_trust *trust;
	unsigned links;
	int at;			 /* the directory that `done` names */
	int end;		 /* what is no directory, at the end of the way; or -1 */
	struct stat st;		 /* of what was walked last */
	char name[NAME_MAX + 1]; /* of `end`, in `at` */
	char done[PATH_MAX], rest[PATH_MAX];
};

static int too_long(const char *path, struct kp_diag *diag)
{
	return kp_diag_set(diag, "path_too_long", path,
		"%s: more than %d bytes on the way to it", path, PATH_MAX - 1);
}

/* ---- what cannot be reached ------------------------------------------------------ */

static int not_permitted(const struct stat *st, const char *what, const char *path,
	const char *mend, struct kp_diag *diag)
{
	return kp_diag_set(diag, "not_permitted", path,
		"uid %u may not %s %s, which belongs to uid %u and has mode %04o: %s it "
		"for that user",
		(unsigned)geteuid(), what, path, (unsigned)st->st_uid,
		(unsigned)st->st_mode & 07777, mend);
}

/* Of a component of the directory at walk->at; `path` is both together. */
static int unreachable(const struct walk *walk, const char *path, struct kp_diag *diag)
{
	int error = errno;
	struct stat st;
	char above[PATH_MAX];

	if (error == EACCES && fstat(walk->at, &st) == 0) {
		const char *slash = strrchr(path, '/');
		(void)snprintf(above, sizeof(above), "%.*s",
			slash && slash != path ? (int)(slash - path) : 1, path);
		return not_permitted(&st, "go through", above, "chmod +x", diag);
	}
	const char *code = error == ENOENT || error == ENOTDIR ? "missing_file"
			   : error == ENAMETOOLONG	       ? "path_too_long"
							       : "io_error";
	return kp_diag_set(
		diag, code, path, "cannot look at %s: %s", path, strerror(error));
}

/* ---- steps ----------------------------------------------------------------------- */

static const char *done_of(const struct walk *walk)
{
	return walk->done[0] ? walk->done : "/";
}

/* In a sticky directory nobody can replace what belongs to another. */
static int judge(const struct walk *walk, int fd, const char *path, struct kp_diag *diag)
{
	struct stat st = walk->st;

	if (S_ISDIR(st.st_mode) && kp_trust_is_above(walk->trust, &st))
		return 0;
	if (S_ISDIR(st.st_mode) && st.st_mode & S_ISVTX)
		st.st_mode &= ~(mode_t)(S_IWGRP | S_IWOTH);
	if (S_ISLNK(st.st_mode))
		st.st_mode = S_IFLNK;
	if (!kp_trust_is_owner(walk->trust, st.st_uid))
		return kp_trust_file(walk->trust, fd, &walk->st, path, diag);
	return S_ISDIR(st.st_mode) || S_ISREG(st.st_mode)
		       ? kp_trust_file(walk->trust, fd, &st, path, diag)
		       : 0;
}

static int enter(struct walk *walk, int fd, struct kp_diag *diag)
{
	kp_file_close(&walk->at);
	walk->at = fd;
	if (fstat(fd, &walk->st) < 0)
		return unreachable(walk, done_of(walk), diag);
	return judge(walk, fd, done_of(walk), diag);
}

static int enter_root(struct walk *walk, struct kp_diag *diag)
{
	int fd = open("/", PASS | O_DIRECTORY);

	walk->done[0] = '\0';
	return fd < 0 ? unreachable(walk, "/", diag) : enter(walk, fd, diag);
}

static int go_up(struct walk *walk, struct kp_diag *diag)
{
	char *slash = strrchr(walk->done, '/');
	int fd = openat(walk->at, "..", PASS | O_DIRECTORY);

	if (fd < 0)
		return unreachable(walk, done_of(walk), diag);
	if (slash)
		*slash = '\0';
	return enter(walk, fd, diag);
}

/* Puts the text of a link in front of the rest. */
static int follow(struct walk *walk, int fd, const char *path, struct kp_diag *diag)
{
	char text[PATH_MAX];
	char joined[PATH_MAX];
	ssize_t n = readlinkat(fd, "", text, sizeof(text) - 1);

	if (n < 0)
		return kp_diag_set(diag, "io_error", path, "cannot read the link %s: %s",
			path, strerror(errno));
	text[n] = '\0';
	if (++walk->links > LINKS)
		return kp_diag_set(
			diag, "link_loop", path, "%s: too many symbolic links", path);
	int length = snprintf(joined, sizeof(joined), "%s/%s", text, walk->rest);
	if (length < 0 || (size_t)length >= sizeof(joined))
		return too_long(path, diag);
	memcpy(walk->rest, joined, (size_t)length + 1);
	return text[0] == '/' ? enter_root(walk, diag) : 0;
}

static bool has_more(const struct walk *walk)
{
	return walk->rest[strspn(walk->rest, "/")] != '\0';
}

/*
 * A directory is asked for as one, so that it is mounted where that is done on demand;
 * at the end of the way nobody knows what it is.
 */
static int open_component(const struct walk *walk, const char *name, struct stat *st)
{
	int fd = openat(walk->at, name, has_more(walk) ? PASS | O_DIRECTORY : PASS);

	if (fd < 0 && errno == ENOTDIR && has_more(walk))
		fd = openat(walk->at, name, PASS);
	if (fd < 0)
		return -1;
	if (fstat(fd, st) == 0)
		return fd;
	kp_file_close(&fd);
	return -1;
}

static int arrive(struct walk *walk, int fd, const char *name, const char *path,
	struct kp_diag *diag)
{
	walk->end = fd;
	(void)snprintf(walk->name, sizeof(walk->name), "%s", name);
	if (has_more(walk)) {
		errno = ENOTDIR;
		return unreachable(walk, path, diag);
	}
	return judge(walk, fd, path, diag);
}

static int take(struct walk *walk, const char *name, struct kp_diag *diag)
{
	size_t parent = strlen(walk->done);

	if (parent + 1 + strlen(name) >= sizeof(walk->done))
		return too_long(walk->done, diag);
	walk->done[parent] = '/';
	memcpy(walk->done + parent + 1, name, strlen(name) + 1);
	int fd = open_component(walk, name, &walk->st);
	if (fd < 0)
		return unreachable(walk, walk->done, diag);
	if (S_ISDIR(walk->st.st_mode))
		return enter(walk, fd, diag);
	if (!S_ISLNK(walk->st.st_mode))
		return arrive(walk, fd, name, walk->done, diag);
	int result = judge(walk, fd, walk->done, diag);
	char path[PATH_MAX];
	(void)snprintf(path, sizeof(path), "%s", walk->done);
	walk->done[parent] = '\0';
	if (result == 0)
		result = follow(walk, fd, path, diag);
	kp_file_close(&fd);
	return result;
}

static int step(struct walk *walk, const char *name, struct kp_diag *diag)
{
	if (strcmp(name, ".") == 0)
		return 0;
	return strcmp(name, "..") == 0 ? go_up(walk, diag) : take(walk, name, diag);
}

/* ---- ways ------------------------------------------------------------------------ */

static int walk_rest(struct walk *walk, struct kp_diag *diag)
{
	int result = 0;

	while (result == 0 && walk->end < 0 && has_more(walk)) {
		char name[NAME_MAX + 1];
		size_t skipped = strspn(walk->rest, "/");
		size_t n = strcspn(walk->rest + skipped, "/");
		if (n >= sizeof(name))
			return too_long(walk->rest + skipped, diag);
		memcpy(name, walk->rest + skipped, n);
		name[n] = '\0';
		memmove(walk->rest, walk->rest + skipped + n,
			strlen(walk->rest + skipped + n) + 1);
		result = step(walk, name, diag);
	}
	return result;
}

static struct walk *walk_new(
	const struct kp_trust *trust, const char *path, struct kp_diag *diag)
{
	struct walk *walk = strlen(path) < PATH_MAX ? calloc(1, sizeof(*walk)) : NULL;

	if (!walk) {
		if (strlen(path) >= PATH_MAX)
			too_long(path, diag);
		else
			kp_diag_no_memory(diag);
		return NULL;
	}
	walk->trust = trust;
	walk->at = walk->end = -1;
	memcpy(walk->rest, path, strlen(path) + 1);
	return walk;
}

static void walk_free(struct walk *walk)
{
	if (!walk)
		return;
	kp_file_close(&walk->at);
	kp_file_close(&walk->end);
	free(walk);
}

static int walk_from_root(struct walk *walk, struct kp_diag *diag)
{
	return enter_root(walk, diag) < 0 ? -1 : walk_rest(walk, diag);
}

static int walk_from(
	struct walk *walk, const struct kp_trust_dir *dir, struct kp_diag *diag)
{
	(void)snprintf(walk->done, sizeof(walk->done), "%s",
		strcmp(dir->path, "/") == 0 ? "" : dir->path);
	walk->at = fcntl(dir->fd, F_DUPFD_CLOEXEC, 0);
	return walk->at < 0 ? unreachable(walk, dir->path, diag) : walk_rest(walk, diag);
}

/*
 * The file at the end once more, to be read. Another one may be there by now: it is this
 * one that is judged, and its directory was.
 */
static int open_end(struct walk *walk, struct stat *st, struct kp_diag *diag)
{
	const char *path = done_of(walk);
	int fd = openat(walk->at, walk->end >= 0 ? walk->name : ".",
		O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0 && errno == EACCES)
		return not_permitted(&walk->st, "read", path, "chmod +r", diag);
	fd = kp_file_opened(fd, path, st, diag);
	if (fd >= 0 && kp_trust_file(walk->trust, fd, st, path, diag) < 0)
		kp_file_close(&fd);
	return fd;
}

static int open_walked(
	struct walk *walk, int walked, struct stat *st, struct kp_diag *diag)
{
	struct stat own;

	return walked < 0 ? -1 : open_end(walk, st ? st : &own, diag);
}

int kp_trust_path(const struct kp_trust *trust, const char *path, struct kp_diag *diag)
{
	struct walk *walk = walk_new(trust, path, diag);
	int result = walk ? walk_from_root(walk, diag) : -1;

	walk_free(walk);
	return result;
}

int kp_trust_open(const struct kp_trust *trust, const char *path, struct stat *st,
	struct kp_diag *diag)
{
	struct walk *walk = walk_new(trust, path, diag);
	int fd = walk ? open_walked(walk, walk_from_root(walk, diag), st, diag) : -1;

	walk_free(walk);
	return fd;
}

/* ---- directories ----------------------------------------------------------------- */

int kp_trust_dir_open(struct kp_trust_dir *dir, const struct kp_trust *trust,
	const char *path, struct kp_diag *diag)
{
	struct walk *walk = walk_new(trust, path, diag);
	int result = walk ? walk_from_root(walk, diag) : -1;

	if (result == 0 && walk->end >= 0)
		result = kp_diag_set(
			diag, "missing_file", path, "%s is no directory", path);
	char *own = result == 0 ? strdup(done_of(walk)) : NULL;
	if (result == 0 && !own)
		result = kp_diag_no_memory(diag);
	if (result == 0) {
		*dir = (struct kp_trust_dir){trust, walk->at, own};
		walk->at = -1;
	}
	walk_free(walk);
	return result;
}

void kp_trust_dir_close(struct kp_trust_dir *dir)
{
	if (!dir->path)
		return;
	kp_file_close(&dir->fd);
	free(dir->path);
	*dir = (struct kp_trust_dir){0};
}

/* As most are: a file whose mode alone says that it is right. */
static bool is_plainly_right(const struct kp_trust_dir *dir, const char *name)
{
	struct stat st;

	return !strchr(name, '/') &&
	       fstatat(dir->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(st.st_mode) && !(st.st_mode & (S_IWGRP | S_IWOTH)) &&
	       kp_trust_is_owner(dir->trust, st.st_uid);
}

int kp_trust_path_at(
	const struct kp_trust_dir *dir, const char *name, struct kp_diag *diag)
{
	if (is_plainly_right(dir, name))
		return 0;
	struct walk *walk = walk_new(dir->trust, name, diag);
	int result = walk ? walk_from(walk, dir, diag) : -1;

	walk_free(walk);
	return result;
}

int kp_trust_open_at(const struct kp_trust_dir *dir, const char *name, struct stat *st,
	struct kp_diag *diag)
{
	struct walk *walk = walk_new(dir->trust, name, diag);
	int fd = walk ? open_walked(walk, walk_from(walk, dir, diag), st, diag) : -1;

	walk_free(walk);
	return fd;
}
