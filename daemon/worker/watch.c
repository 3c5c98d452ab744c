/* SPDX-License-Identifier: MIT */
/* The supervisor's end of seccomp's notifications. */
#include "daemon/worker/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "daemon/worker/calls.h"
#include "daemon/worker/landlock.h"
#include "daemon/worker/packet.h"
#include "lib/base/file.h"
#include "lib/base/owned.h"
#include "lib/base/text.h"

/* Kernels may have longer structs than headers: room for both. */
enum { ROOM = 512, PATH_SHOWN = 120 };

union question {
	struct seccomp_notif notif;
	char bytes[ROOM];
};
union answer {
	struct seccomp_notif_resp response;
	char bytes[ROOM];
};

void watch_init(struct watch *watch, int gate, bool landlock)
{
	*watch = (struct watch){.gate = gate, .listener = -1, .landlock = landlock};
}

void watch_finish(struct watch *watch)
{
	kp_file_close(&watch->gate);
	kp_file_close(&watch->listener);
}

int watch_fd(const struct watch *watch)
{
	return watch->gate >= 0 ? watch->gate : watch->listener;
}

static void take_listener(struct watch *watch)
{
	struct packet packet = {.n_fds = 0};
	int got = packet_receive(watch->gate, &packet);

	if (got < 0)
		return;
	if (packet.n_fds == 1) {
		watch->listener = packet.fds[0];
		packet.n_fds = 0;
	}
	packet_close(&packet);
	kp_file_close(&watch->gate);
}

/* ---- what it wanted -------------------------------------------------------------- */

/* A name in the memory of the worker; what it cannot be asked for is "". */
static void read_path(pid_t pid, uint64_t address, char path[PATH_MAX])
{
	char name[64];
	(void)snprintf(name, sizeof(name), "/proc/%d/mem", (int)pid);
	owned_fd fd = open(name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : pread(fd, path, PATH_MAX - 1, (off_t)address);
	/* Where a page ends there may be no more; by now there may be. */
	size_t rest = 4096 - address % 4096;
	if (fd >= 0 && n < 0)
		n = pread(
			fd, path, rest < PATH_MAX ? rest : PATH_MAX - 1, (off_t)address);
	path[n > 0 ? n : 0] = '\0';
}

static const struct call *find_call(const struct seccomp_data *data, char name[64])
{
	char *own = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, data->nr);

	(void)snprintf(name, 64, "%s", own ? own : "?");
	free(own);
	return calls_find(name);
}

static bool is_openat(const char *name)
{
	return strcmp(name, "openat") == 0;
}

/* Says it, and of a file which; false where nothing is to be said. */
static bool describe(const struct seccomp_notif *notif, const struct call *call,
	const char *name, char text[WATCH_TEXT])
{
	char path[PATH_MAX], shown[PATH_SHOWN];

	if (call->fate != CALL_OPENS) {
		(void)snprintf(text, WATCH_TEXT, "it may not %s (%s)", call->what, name);
		return true;
	}
	read_path((pid_t)notif->pid, notif->data.args[is_openat(name) ? 1 : 0], path);
	if (landlock_leaves(path))
		return false;
	(void)kp_text_clean(path, shown, sizeof(shown));
	(void)snprintf(
		text, WATCH_TEXT, "it may not %s (%s %s)", call->what, name, shown);
	return true;
}

/* ---- answers --------------------------------------------------------------------- */

static void answer(const struct watch *watch, const struct seccomp_notif *notif,
	const struct call *call)
{
	union answer answer = {.bytes = {0}};
	struct seccomp_notif_resp *response = &answer.response;

	response->id = notif->id;
	if (call && call->fate == CALL_OPENS && watch->landlock)
		response->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	else
		response->error = -(call ? call->error : EPERM);
	/* Who has died meanwhile needs none. */
	(void)ioctl(watch->listener, SECCOMP_IOCTL_NOTIF_SEND, response);
}

static bool is_new(struct watch *watch, const char *text)
{
	for (size_t i = 0; i < watch->count; i++)
		if (strcmp(watch->told[i], text) == 0)
			return false;
	if (watch->count == WATCH_MOST)
		return false;
	(void)snprintf(watch->told[watch->count++], WATCH_TEXT, "%s", text);
	return true;
}

static bool take_question(struct watch *watch, struct watch_news *news)
{
	union question question = {.bytes = {0}};
	char name[64];

	*news = (struct watch_news){{0}, false};
	if (ioctl(watch->listener, SECCOMP_IOCTL_NOTIF_RECV, &question.notif) < 0) {
		return false;
	}
	const struct call *call = find_call(&question.notif.data, name);
	bool tell = call && describe(&question.notif, call, name, news->text);
	news->deadly = call && call->fate == CALL_DEADLY;
	if (!news->deadly)
		answer(watch, &question.notif, call);
	return tell && is_new(watch, news->text);
}

bool watch_look(struct watch *watch, short events, struct watch_news *news)
{
	if (watch->gate >= 0)
		take_listener(watch);
	else if (events & POLLIN)
		return take_question(watch, news);
	else
		/* Nobody is left who could ask: to receive would wait for ever. */
		kp_file_close(&watch->listener);
	return false;
}
