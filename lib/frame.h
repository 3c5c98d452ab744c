/* SPDX-License-Identifier: MIT */
/*
 * Varlink's framing: messages that end with a NUL, in whatever pieces they
 * come. Does no reading and knows no JSON.
 */
#ifndef KP_LIB_FRAME_H
#define KP_LIB_FRAME_H

#include <stddef.h>

#include "lib/diag.h"

/* Bytes that came in and are not yet taken. Zero it, set limit. */
struct kp_frame {
	char *bytes;
	size_t used, room;
	size_t scanned; /* no NUL before */
	size_t taken;	/* bytes of the message last taken, dropped at the next call */
	size_t limit;	/* of one message */
};

/*
 * Room to read into: at least 4 KiB at *space. Code message_too_large once a
 * message without an end has reached the limit; no_memory.
 */
int kp_frame_space(struct kp_frame *frame, char **space, size_t *size,
	struct kp_diag *diag) __attribute__((warn_unused_result));
/* Tells how much was read there. */
void kp_frame_filled(struct kp_frame *frame, size_t size);
/* The next whole message without its NUL, valid until the next call; NULL: none yet. */
const char *kp_frame_next(struct kp_frame *frame, size_t *size);
void kp_frame_finish(struct kp_frame *frame);

#endif
