/* SPDX-License-Identifier: MIT */
/* Looks through the descriptors that were passed. */
#include "daemon/service/passed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/file.h"

enum { FIRST = 3, PASSED_MOST = 64 };

static const char own_name[] = "plugind";
static const char *const variables[] = {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"};

static int bad_socket(const char *why, struct kp_diag *diag)
{
	return kp_diag_set(diag, "bad_socket", "LISTEN_FDS",
		"%s: plugind takes one Unix socket of streams that listens at a path, "
		"named plugind where it is not alone (see plugind.socket)",
		why);
}

/* -1: it is no number. */
static long number(const char *text)
{
	char *end;

	if (!text || text[0] < '0' || text[0] > '9')
		return -1;
	errno = 0;
	long value = strtol(text, &end, 10);
	return *end || errno ? -1 : value;
}

/* Cuts the next name off, at its ':' or the end. */
static bool next_is_ours(const char **names)
{
	size_t length = strcspn(*names, ":");
	bool is = length == sizeof(own_name) - 1 && memcmp(*names, own_name, length) == 0;

	*names += length + ((*names)[length] == ':');
	return is;
}

/* The one that is ours; the others are closed. */
static int choose(long count, const char *names, int *chosen, struct kp_diag *diag)
{
	int n = 0;

	for (int fd = FIRST; fd < FIRST + (int)count; fd++) {
		bool is_ours = next_is_ours(&names) || count == 1;
		int unwanted = fd;
		if (is_ours && n++ == 0)
			*chosen = fd;
		else
			kp_file_close(&unwanted);
	}
	if (n == 1)
		return 0;
	kp_file_close(chosen);
	return bad_socket(n == 0 ? "of the sockets that were passed none is named plugind"
				 : "several sockets that are named plugind were passed",
		diag);
}

static bool has(int fd, int option, int wanted)
{
	int value;
	socklen_t size = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 && value == wanted;
}

static int look(struct passed *passed, struct kp_diag *diag)
{
	struct sockaddr_un address = {.sun_family = AF_UNSPEC};
	socklen_t size = sizeof(address);
	int fd = passed->fd;

	if (!has(fd, SO_DOMAIN, AF_UNIX) || !has(fd, SO_TYPE, SOCK_STREAM))
		return bad_socket("what was passed is something else", diag);
	if (!has(fd, SO_ACCEPTCONN, 1))
		return bad_socket("the socket that was passed does not listen", diag);
	if (getsockname(fd, (struct sockaddr *)&address, &size) < 0 ||
		address.sun_path[0] != '/')
		return bad_socket(
			"the socket that was passed has no absolute path", diag);
	if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 ||
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0)
		return bad_socket(strerror(errno), diag);
	memcpy(passed->path, address.sun_path, sizeof(address.sun_path));
	passed->path[sizeof(passed->path) - 1] = '\0';
	return 0;
}

static int take(struct passed *passed, struct kp_diag *diag)
{
	const char *names = getenv("LISTEN_FDNAMES");
	long count = number(getenv("LISTEN_FDS"));

	if (number(getenv("LISTEN_PID")) != (long)getpid() || count == 0)
		return 0;
	if (count < 0 || count > PASSED_MOST)
		return bad_socket("LISTEN_FDS is no number from 0 to 64", diag);
	if (choose(count, names ? names : "", &passed->fd, diag) < 0)
		return -1;
	if (look(passed, diag) == 0)
		return 0;
	kp_file_close(&passed->fd);
	return -1;
}

int passed_take(struct passed *passed, struct kp_diag *diag)
{
	*passed = (struct passed){.fd = -1};
	int result = take(passed, diag);
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		(void)unsetenv(variables[i]);
	return result;
}
