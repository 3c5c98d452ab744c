/* SPDX-License-Identifier: MIT */
/* SO_PEERPIDFD, else pidfd_open(2) of a number that cannot have been given out again. */
#include "daemon/socket/pidfd.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

enum { STAT_START = 22 }; /* of proc_pid_stat(5), counted from 1 */

/* When a process started, in ticks since the boot; -1: not known. */
static long long start_of(pid_t pid)
{
	char path[64], text[1024];
	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		(void)close(fd);
	if (n <= 0)
		return -1;
	text[n] = '\0';
	/* The name may hold anything, blanks and brackets too. */
	const char *at = strrchr(text, ')');
	for (int field = 2; at && field < STAT_START; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoll(at, NULL, 10) : -1;
}

/* A process that started in this very tick may be one that came later. */
static int open_older(pid_t pid)
{
	struct timespec now;
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0)
		return -1;
	(void)clock_gettime(CLOCK_BOOTTIME, &now);
	long hz = sysconf(_SC_CLK_TCK);
	long long ticks = now.tv_sec * hz + now.tv_nsec / (1000000000L / hz);
	long long start = start_of(pid);
	struct pollfd alive = {.fd = fd, .events = POLLIN};
	if (start >= 0 && start < ticks - 1 && poll(&alive, 1, 0) == 0)
		return fd;
	(void)close(fd);
	return -1;
}

int pidfd_of_peer(int socket, pid_t *pid)
{
	struct ucred peer = {.pid = 0};
	socklen_t size = sizeof(peer);
	int fd = -1;

	(void)getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size);
	*pid = peer.pid;
	size = sizeof(fd);
	if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &fd, &size) == 0)
		return fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 ? -1 : fd;
	return peer.pid > 0 ? open_older(peer.pid) : -1;
}
