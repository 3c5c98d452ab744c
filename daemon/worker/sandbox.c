/* SPDX-License-Identifier: MIT */
/* The steps of a confinement, in the order in which each is still permitted. */
#include "daemon/worker/sandbox.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>

#include "daemon/worker/landlock.h"
#include "daemon/worker/packet.h"
#include "lib/base/file.h"

int sandbox_prepare(struct sandbox *sandbox, struct kp_diag *diag)
{
	*sandbox = (struct sandbox){0};
	kp_confinement_ask(&sandbox->offered);
	if (sandbox->offered.filter &&
		(filter_make(false, &sandbox->tight, diag) < 0 ||
			filter_make(true, &sandbox->spared, diag) < 0)) {
		sandbox_finish(sandbox);
		return -1;
	}
	return 0;
}

int sandbox_resume(struct sandbox *sandbox, int fd, struct kp_diag *diag)
{
	*sandbox = (struct sandbox){0};
	kp_confinement_ask(&sandbox->offered);
	if (sandbox->offered.filter)
		return filter_read(fd, &sandbox->spared, diag);
	kp_file_close(&fd);
	return 0;
}

void sandbox_finish(struct sandbox *sandbox)
{
	filter_finish(&sandbox->tight);
	filter_finish(&sandbox->spared);
}

static int failed(struct kp_diag *diag, const char *what)
{
	return kp_diag_set(diag, "sandbox_failed", NULL,
		"the worker cannot be confined: %s: %s", what, strerror(errno));
}

/* Whoever watches over this worker answers from now on. */
static int hand_over(int gate, int listener, struct kp_diag *diag)
{
	struct packet packet = {.size = 1, .n_fds = 1, .fds = {listener}};
	int result = packet_send(gate, &packet);

	packet_close(&packet);
	return result < 0 ? failed(diag, "nobody would answer for it") : 0;
}

static int enter_filter(const struct sandbox *sandbox, const struct limits_wish *wish,
	int gate, struct kp_diag *diag)
{
	const struct filter *filter =
		wish->measures || wish->gpu ? &sandbox->spared : &sandbox->tight;
	int listener;

	if (filter_enter(filter, sandbox->offered.landlock > 0, gate >= 0, &listener,
		    diag) < 0)
		return -1;
	return listener < 0 ? 0 : hand_over(gate, listener, diag);
}

/* A sanitizer looks for leaks at exit() by a process of its own, which is refused. */
#ifdef __SANITIZE_ADDRESS__
static bool no_leaks;
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return no_leaks;
}
static void forget_leaks(void)
{
	no_leaks = true;
}
#else
static void forget_leaks(void)
{
}
#endif

int sandbox_enter(const struct sandbox *sandbox, const struct limits_wish *wish, int gate,
	struct kp_diag *diag)
{
	const struct kp_confinement *offered = &sandbox->offered;
	int result = 0;

	if (limits_enter(wish) < 0)
		result = failed(diag, "its limits cannot be set");
	else if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		result = failed(diag, "it could gain privileges");
	if (result == 0 && offered->landlock > 0)
		result = landlock_enter(offered->landlock, wish->gpu, diag);
	if (result == 0 && offered->filter)
		result = enter_filter(sandbox, wish, gate, diag);
	kp_file_close(&gate);
	forget_leaks();
	return result;
}
