/* SPDX-License-Identifier: MIT */
/*
 * What this machine's kernel offers to confine a process with, as far as this process
 * may use it. Confines nothing itself: see daemon/worker/sandbox.h.
 */
#ifndef KP_LIB_CONFINEMENT_H
#define KP_LIB_CONFINEMENT_H

#include <stdbool.h>
#include <stddef.h>

struct kp_confinement {
	bool filter;  /* seccomp: system calls are refused */
	int landlock; /* version of its interface; 0: there is none */
};

/* Asks the kernel; a container or a service's own filter may say no in its place. */
void kp_confinement_ask(struct kp_confinement *confinement);

/* Are system calls refused, and is nothing written? */
bool kp_confinement_is_whole(const struct kp_confinement *confinement);

/* A sentence: by what workers are confined, or what is missing and why that matters. */
enum { KP_CONFINEMENT_TEXT = 512 };
const char *kp_confinement_text(
	const struct kp_confinement *confinement, char text[KP_CONFINEMENT_TEXT]);

#endif
