/* SPDX-License-Identifier: MIT */
/*
 * Varlink's framing: messages that end with a NUL, in whatever pieces they
 * come. Does no reading and knows no JSON.
 */
#ifndef KP_LIB_FRAME_H
#define KP_LIB_FRAME_H

#include <stddef.h>

#include "lib/base/diag.h"

/* Bytes that came in and are not yet taken. Zero it, set limit. */
struct kp_frame {
	char *bytes;
	size_t used, room;
	size_t scanned; /* no NUL before */
	size_t taken;	/* bytes at the front that were handed out, dropped by
			   kp_frame_space */
	size_t limit;	/* of one message, without its NUL */
};

/*
 * Room to read into: at least 4 KiB at *space. Code message_too_large once the
 * message that would be next has more bytes than the limit, whether or not its
 * end is there; no_memory. Take what is whole first (kp_frame_next): the buffer
 * grows by what is left in it.
 */
int kp_frame_space(struct kp_frame *frame, char **space, size_t *size,
	struct kp_diag *diag) __attribute__((warn_unused_result));
/* Tells how much was read there. */
void kp_frame_filled(struct kp_frame *frame, size_t size);
/*
 * The next whole message, terminated, *size without its NUL, valid until the
 * next kp_frame_space; NULL: none yet, or one over the limit.
 */
const char *kp_frame_next(struct kp_frame *frame, size_t *size);
void kp_frame_finish(struct kp_frame *frame);

#endif
