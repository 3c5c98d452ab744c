/* SPDX-License-Identifier: MIT */
/* Descriptors that came over a socket and were not taken yet. */
#ifndef KP_LIB_DESCRIPTORS_H
#define KP_LIB_DESCRIPTORS_H

#include <stddef.h>
#include <sys/types.h>

enum { KP_DESCRIPTORS = 16 };

/* Oldest first. Zero it first. */
struct kp_descriptors {
	size_t count;
	int items[KP_DESCRIPTORS];
};

/*
 * recv(2) without waiting, which keeps what comes along, close-on-exec. More than there
 * is room for: -1 with EPROTO, and none of these is kept.
 */
ssize_t kp_descriptors_receive(
	struct kp_descriptors *kept, int socket, void *space, size_t size);
/* The oldest, the caller's from now on; -1: none is there. */
int kp_descriptors_take(struct kp_descriptors *kept);
void kp_descriptors_finish(struct kp_descriptors *kept);

#endif
