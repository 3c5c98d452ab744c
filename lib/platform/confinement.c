/* SPDX-License-Identifier: MIT */
/* Questions to the kernel about seccomp and Landlock, and the answers in words. */
#include "lib/platform/confinement.h"

#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

void kp_confinement_ask(struct kp_confinement *confinement)
{
	uint32_t action = SECCOMP_RET_ERRNO;
	long version = syscall(
		SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	confinement->filter =
		syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
	confinement->landlock = version > 0 ? (int)version : 0;
}

bool kp_confinement_is_whole(const struct kp_confinement *confinement)
{
	return confinement->filter && confinement->landlock > 0;
}

const char *kp_confinement_text(
	const struct kp_confinement *confinement, char text[KP_CONFINEMENT_TEXT])
{
	static const char no_filter[] =
		"seccomp filters are missing here: a plugin that is probed may make any "
		"system call";
	static const char no_landlock[] = "Landlock is missing here (Linux 5.13, and in "
					  "the list of lsm=): a plugin "
					  "that is probed may read memory of the daemon";

	if (kp_confinement_is_whole(confinement))
		(void)snprintf(text, KP_CONFINEMENT_TEXT,
			"no privileges, sockets, processes or signals to others "
			"(seccomp), nothing is written (Landlock %d)",
			confinement->landlock);
	else
		(void)snprintf(text, KP_CONFINEMENT_TEXT, "%s%s%s",
			confinement->filter ? "" : no_filter,
			confinement->filter || confinement->landlock ? "" : "; ",
			confinement->landlock ? "" : no_landlock);
	return text;
}
