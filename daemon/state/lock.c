/* SPDX-License-Identifier: MIT */
/* flock(2) on a file that holds "plugind PID". */
#include "daemon/state/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/file.h"

static const char mark[] = "plugind ";

static int foreign(const char *path, struct kp_diag *diag)
{
	return kp_diag_set(diag, "foreign_file", path,
		"%s is not a lock of plugind; it is left as it is", path);
}

static int failed(const char *what, const char *path, struct kp_diag *diag)
{
	return kp_diag_set(diag, "write_failed", path, "cannot %s %s: %s", what, path,
		strerror(errno));
}

/* The pid in a lock, 0 when it is empty, -1 when it is something else. */
static long holder(int fd)
{
	char text[32] = "";
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	if (n <= 0)
		return n;
	if (strncmp(text, mark, sizeof(mark) - 1) != 0)
		return -1;
	return strtol(text + sizeof(mark) - 1, NULL, 10);
}

static int held(int fd, const char *path, struct kp_diag *diag)
{
	long pid = holder(fd);
	if (pid > 0)
		return kp_diag_set(diag, "already_running", path,
			"a plugind is running already: process %ld holds %s", pid, path);
	return kp_diag_set(diag, "already_running", path,
		"a plugind is running already: another process holds %s", path);
}

/* Opens and locks; *again when the file was removed between the two. */
static int open_locked(const char *path, bool *again, struct kp_diag *diag)
{
	struct stat own, now;
	int fd = open(path,
		O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
	if (fd < 0 && (errno == ELOOP || errno == EISDIR || errno == ENXIO))
		return foreign(path, diag);
	if (fd < 0)
		return failed("open the lock", path, diag);
	bool is_file = fstat(fd, &own) == 0 && S_ISREG(own.st_mode);
	if (is_file && flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno == EWOULDBLOCK)
			held(fd, path, diag);
		else
			failed("lock", path, diag);
	} else if (!is_file || holder(fd) < 0) {
		foreign(path, diag);
	} else if (stat(path, &now) < 0 || now.st_ino != own.st_ino ||
		   now.st_dev != own.st_dev) {
		*again = true;
	} else {
		return fd;
	}
	(void)close(fd);
	return -1;
}

/*
 * The number is for messages alone: a full disk, which decides nothing, keeps nobody from
 * the lock, and leaves no half of it.
 */
static int tell_holder(int fd)
{
	if (ftruncate(fd, 0) < 0)
		return -1;
	if (dprintf(fd, "%s%ld\n", mark, (long)getpid()) >= 0)
		return 0;
	return errno == ENOSPC || errno == EDQUOT ? ftruncate(fd, 0) : -1;
}

int lock_take(struct lock *lock, const char *path, struct kp_diag *diag)
{
	bool again;
	int fd;

	do {
		again = false;
		fd = open_locked(path, &again, diag);
	} while (again);
	if (fd < 0)
		return -1;
	char *copy = strdup(path);
	if (!copy || tell_holder(fd) < 0) {
		int result = copy ? failed("write", path, diag) : kp_diag_no_memory(diag);
		free(copy);
		(void)close(fd);
		return result;
	}
	lock->fd = fd;
	lock->path = copy;
	return 0;
}

void lock_drop(struct lock *lock)
{
	if (lock->path && lock->fd >= 0)
		(void)unlink(lock->path);
	kp_file_close(&lock->fd);
	free(lock->path);
	lock->path = NULL;
}
