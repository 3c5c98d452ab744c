/* SPDX-License-Identifier: MIT */
/* A socket, connected or closed again. */
#include "lib/protocol/dial.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "lib/base/file.h"

/* The socket's own send timeout bounds connect(2) where the backlog is full. */
static int connect_within(int fd, const struct sockaddr_un *address, int timeout_ms)
{
	if (timeout_ms >= 0) {
		int ms = timeout_ms > 0 ? timeout_ms : 1;
		struct timeval tv = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000L};
		if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv)) < 0)
			return -1;
	}
	int result;
	do
		result = connect(fd, (const struct sockaddr *)address, sizeof(*address));
	while (result < 0 && errno == EINTR);
	return result;
}

static int connect_failed(const char *path, struct kp_diag *diag)
{
	int error = errno;
	if (error == EACCES || error == EPERM)
		return kp_diag_set(diag, "not_permitted", path,
			"cannot connect to %s: %s", path, strerror(error));
	if (error == EAGAIN)
		return kp_diag_set(diag, "timed_out", path,
			"plugind at %s does not accept connections", path);
	return kp_diag_set(diag, "no_daemon", path, "%s (%s)", path, strerror(error));
}

/* The descriptor, which its cleanup then leaves alone. */
static int keep(int *fd)
{
	int kept = *fd;
	*fd = -1;
	return kept;
}

int kp_dial(const char *path, int timeout_ms, struct kp_diag *diag)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t length = strlen(path);
	if (length >= sizeof(address.sun_path))
		return kp_diag_set(diag, "path_too_long", path,
			"the socket path has %zu bytes, at most %zu are possible: %s",
			length, sizeof(address.sun_path) - 1, path);
	memcpy(address.sun_path, path, length + 1);
	__attribute__((cleanup(kp_file_close))) int fd =
		kp_file_lift(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
	if (fd < 0)
		return kp_diag_set(diag, "io_error", path, "cannot make a socket: %s",
			strerror(errno));
	if (connect_within(fd, &address, timeout_ms) < 0)
		return connect_failed(path, diag);
	return keep(&fd);
}
