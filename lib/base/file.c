/* SPDX-License-Identifier: MIT */
/* Bounded reading and whole replacement of files. */
#include "lib/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/owned.h"

enum {
	OBSTACLES = 16,
	CLAIMED = 0200, /* whom nobody can read, nobody else can lock either (flock) */
	READERS = 0444,
	LOOKS = 100,
	LOOK_NS = 10000000,
};

int kp_file_lift(int fd)
{
	if (fd < 0 || fd > STDERR_FILENO)
		return fd;
	int lifted = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	int error = errno;
	(void)close(fd);
	errno = error;
	return lifted;
}

void kp_file_close(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

static const char *kind_name(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return "a directory";
	case S_IFIFO:
		return "a FIFO";
	case S_IFSOCK:
		return "a socket";
	case S_IFCHR:
	case S_IFBLK:
		return "a device";
	default:
		return "not a file";
	}
}

static int open_failed(const char *path, struct kp_diag *diag)
{
	const char *code = errno == ENOENT || errno == ENOTDIR ? "missing_file"
			   : errno == ELOOP		       ? "link_loop"
			   : errno == EACCES || errno == EPERM ? "not_permitted"
			   : errno == ENXIO		       ? "not_regular_file"
							       : "io_error";
	return kp_diag_set(diag, code, path, "cannot open %s: %s", path, strerror(errno));
}

static int check_regular(int fd, const char *path, struct stat *st, struct kp_diag *diag)
{
	struct stat own;

	if (fstat(fd, &own) < 0)
		return kp_diag_set(diag, "io_error", path, "cannot stat %s: %s", path,
			strerror(errno));
	if (!S_ISREG(own.st_mode))
		return kp_diag_set(diag, "not_regular_file", path,
			"%s is %s, not a regular file", path, kind_name(own.st_mode));
	if (st)
		*st = own;
	return 0;
}

int kp_file_opened(int fd, const char *path, struct stat *st, struct kp_diag *diag)
{
	if (fd < 0)
		return open_failed(path, diag);
	if (check_regular(fd, path, st, diag) < 0)
		kp_file_close(&fd);
	return fd;
}

int kp_file_open(int dir, const char *path, struct stat *st, struct kp_diag *diag)
{
	return kp_file_opened(
		openat(dir, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC), path, st,
		diag);
}

/* Up to `size` bytes, fewer at the end of the file. */
static ssize_t read_up_to(int fd, char *text, size_t size)
{
	size_t used = 0;
	while (used < size) {
		ssize_t n = read(fd, text + used, size - used);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		used += (size_t)n;
	}
	return (ssize_t)used;
}

/*
 * To the end, but at most one byte beyond the limit. The size that was stated is
 * a guess: files grow meanwhile, and those of /proc and /sys state none.
 */
static int read_all(int fd, size_t guess, size_t limit, char **text, size_t *size)
{
	size_t room = guess < limit ? guess + 1 : limit + 1;
	size_t used = 0;
	char *bytes = NULL;

	for (;;) {
		char *more = realloc(bytes, room + 1);
		ssize_t n = more ? read_up_to(fd, more + used, room - used) : -1;
		bytes = more ? more : bytes;
		if (n < 0)
			break;
		used += (size_t)n;
		if (used < room || used > limit) {
			bytes[used] = '\0';
			*text = bytes;
			*size = used;
			return 0;
		}
		room = room * 2 < limit ? room * 2 : limit + 1;
	}
	free(bytes);
	return -1;
}

int kp_file_read_open(int fd, const char *path, size_t limit, char **text, size_t *size,
	struct kp_diag *diag)
{
	struct stat st = {0};
	char *bytes = NULL;
	size_t n = 0;

	if (fstat(fd, &st) < 0)
		return kp_diag_set(diag, "io_error", path, "cannot look at %s: %s", path,
			strerror(errno));
	if (read_all(fd, (size_t)st.st_size, limit, &bytes, &n) < 0) {
		if (errno == ENOMEM)
			return kp_diag_no_memory(diag);
		return kp_diag_set(diag, "io_error", path, "cannot read %s: %s", path,
			strerror(errno));
	}
	if (n > limit) {
		free(bytes);
		return kp_diag_set(diag, "file_too_large", path,
			"%s is larger than %zu bytes", path, limit);
	}
	*text = bytes;
	*size = n;
	return 0;
}

int kp_file_read(int dir, const char *path, size_t limit, char **text, size_t *size,
	struct kp_diag *diag)
{
	owned_fd fd = kp_file_open(dir, path, NULL, diag);

	return fd < 0 ? -1 : kp_file_read_open(fd, path, limit, text, size, diag);
}

int kp_file_write(int fd, const void *bytes, size_t size)
{
	const char *at = bytes;

	while (size > 0) {
		ssize_t n = write(fd, at, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

/* Ours alone: another's file, or one with a second name, may be what others need. */
static bool is_ours(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_nlink <= 1 && st->st_uid == geteuid();
}

static bool is_there(int dir, const char *name, const struct stat *st)
{
	struct stat there;

	return fstatat(dir, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	       there.st_dev == st->st_dev && there.st_ino == st->st_ino;
}

/* 0: look again; -1: it cannot be removed, or comes back each time. */
static int remove_obstacle(int dir, const char *name, int error, unsigned *tries)
{
	if ((*tries)++ < OBSTACLES && unlinkat(dir, name, 0) == 0)
		return 0;
	errno = error;
	return -1;
}

/*
 * A writer makes its file readable when it is about to rename it. One that was killed
 * then has left a file that anybody may lock for ever: it is not waited for long.
 */
static int lock_readable(int fd)
{
	static const struct timespec look = {0, LOOK_NS};

	for (int i = 0; i < LOOKS; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return 0;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -1;
		(void)nanosleep(&look, NULL);
	}
	errno = EWOULDBLOCK;
	return -1;
}

/* 1: claimed; else as remove_obstacle. */
static int claim_open(int dir, const char *name, int fd, unsigned *tries)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -1;
	if (!is_there(dir, name, &st))
		return 0;
	if (!is_ours(&st))
		return remove_obstacle(dir, name, EEXIST, tries);
	bool readable = st.st_mode & READERS;
	if (readable && lock_readable(fd) < 0)
		return errno == EWOULDBLOCK ? remove_obstacle(dir, name, EBUSY, tries)
					    : -1;
	if (!readable && flock(fd, LOCK_EX) < 0)
		return errno == EINTR ? 0 : -1;
	return is_there(dir, name, &st);
}

/* A link is not followed, a pipe not waited for. */
static int claim_once(int dir, const char *name, int *fd, unsigned *tries)
{
	*fd = openat(dir, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
		CLAIMED);
	if (*fd >= 0)
		return claim_open(dir, name, *fd, tries);
	if (errno != ELOOP && errno != ENXIO && errno != EACCES)
		return -1;
	return remove_obstacle(dir, name, errno, tries);
}

int kp_file_claim(int dir, const char *name)
{
	unsigned tries = 0;
	int fd, claimed;

	while ((claimed = claim_once(dir, name, &fd, &tries)) == 0)
		kp_file_close(&fd);
	if (claimed < 0) {
		int error = errno;
		kp_file_close(&fd);
		errno = error;
	}
	return fd;
}

static int fill(int fd, const void *bytes, size_t size, mode_t mode, bool durable)
{
	if (ftruncate(fd, 0) < 0 || kp_file_write(fd, bytes, size) < 0 ||
		fchmod(fd, mode) < 0)
		return -1;
	return durable ? fsync(fd) : 0;
}

int kp_file_replace(int dir, const char *name, const void *bytes, size_t size,
	mode_t mode, bool durable, struct kp_diag *diag)
{
	char temporary[NAME_MAX + 1];
	int n = snprintf(temporary, sizeof(temporary), ".%s.new", name);

	if (n < 0 || (size_t)n >= sizeof(temporary))
		return kp_diag_set(diag, "write_failed", name, "the name is too long");
	owned_fd fd = kp_file_claim(dir, temporary);
	if (fd < 0 || fill(fd, bytes, size, mode, durable) < 0 ||
		renameat(dir, temporary, dir, name) < 0 || (durable && fsync(dir) < 0)) {
		int error = errno;
		if (fd >= 0)
			(void)unlinkat(dir, temporary, 0);
		return kp_diag_set(diag, "write_failed", name, "cannot write %s: %s",
			name, strerror(error));
	}
	return 0;
}

/* Makes one directory, or finds it. */
static int make_dir(const char *path, mode_t mode, struct kp_diag *diag)
{
	struct stat st;
	int error = mkdir(path, mode) < 0 ? errno : 0;

	if (error == EEXIST)
		error = stat(path, &st) < 0 ? errno : S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
	if (!error)
		return 0;
	return kp_diag_set(diag, "write_failed", path, "cannot make the directory %s: %s",
		path, strerror(error));
}

int kp_file_make_dirs(const char *path, mode_t mode, struct kp_diag *diag)
{
	char *copy = strdup(path);
	int result = 0;

	if (!copy)
		return kp_diag_no_memory(diag);
	if (!*path)
		result = make_dir(path, mode, diag);
	/* The root is there; a relative path starts with its first component. */
	for (char *at = copy + strspn(copy, "/"); result == 0 && *at;) {
		at += strcspn(at, "/");
		char kept = *at;
		*at = '\0';
		result = make_dir(copy, mode, diag);
		*at = kept;
		at += strspn(at, "/");
	}
	free(copy);
	return result;
}
