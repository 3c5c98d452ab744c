/* SPDX-License-Identifier: MIT */
/* A connected datagram socket, and what the environment says of the watchdog. */
#include "daemon/service/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/file.h"

static const char *const variables[] = {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"};

static int unusable(const char *name, const char *why, struct kp_diag *diag)
{
	return kp_diag_set(diag, "bad_environment", "NOTIFY_SOCKET",
		"NOTIFY_SOCKET=%s: %s; the service manager is told nothing", name, why);
}

/* 0: it is no address. */
static socklen_t address_of(const char *name, struct sockaddr_un *address)
{
	size_t length = strlen(name);

	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	if ((name[0] != '/' && name[0] != '@') || length < 2 ||
		length >= sizeof(address->sun_path))
		return 0;
	memcpy(address->sun_path, name, length);
	/* An abstract name begins with a NUL and ends with its last byte. */
	if (name[0] == '@')
		address->sun_path[0] = '\0';
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length +
			   (name[0] == '/'));
}

static int reach(const char *name, struct kp_diag *diag)
{
	struct sockaddr_un address;
	socklen_t size = address_of(name, &address);

	if (size == 0)
		return unusable(name, "neither a path nor @ and a name", diag);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&address, size) == 0)
		return fd;
	(void)unusable(name, strerror(errno), diag);
	kp_file_close(&fd);
	return -1;
}

/* A number from 1, in digits; 0: it is none. */
static uint64_t number(const char *text)
{
	char *end;

	if (!text || text[0] < '0' || text[0] > '9')
		return 0;
	errno = 0;
	unsigned long long value = strtoull(text, &end, 10);
	return *end || errno ? 0 : value;
}

static uint64_t watchdog(void)
{
	const char *pid = getenv("WATCHDOG_PID");

	return !pid || number(pid) == (uint64_t)getpid() ? number(getenv("WATCHDOG_USEC"))
							 : 0;
}

void notify_forget(void)
{
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		(void)unsetenv(variables[i]);
}

int notify_open(struct notify *notify, struct kp_diag *diag)
{
	const char *name = getenv("NOTIFY_SOCKET");
	int result = 0;

	*notify = (struct notify){.fd = -1};
	if (name && *name) {
		notify->fd = reach(name, diag);
		result = notify->fd < 0 ? -1 : 0;
	}
	if (notify->fd >= 0)
		notify->watchdog_us = watchdog();
	notify_forget();
	return result;
}

bool notify_send(const struct notify *notify, const char *text)
{
	return notify->fd < 0 ||
	       send(notify->fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

void notify_close(struct notify *notify)
{
	kp_file_close(&notify->fd);
}
