/* SPDX-License-Identifier: MIT */
/* A buffer that is cut at NULs. */
#include "lib/protocol/frame.h"

#include <stdlib.h>
#include <string.h>

enum { SPACE = 4096, KEPT = 64 << 10 };

/* Moves what has not been handed out to the front; gives back what a large message took.
 */
static void drop_taken(struct kp_frame *frame)
{
	frame->used -= frame->taken;
	frame->scanned -= frame->taken;
	if (frame->used == 0 && frame->room > KEPT) {
		free(frame->bytes);
		frame->bytes = NULL;
		frame->room = 0;
	} else if (frame->used > 0 && frame->taken > 0) {
		memmove(frame->bytes, frame->bytes + frame->taken, frame->used);
	}
	frame->taken = 0;
}

/* The end of the first message that was not handed out, or NULL. */
static char *find_end(struct kp_frame *frame)
{
	if (!frame->bytes || frame->scanned == frame->used)
		return NULL;
	char *end =
		memchr(frame->bytes + frame->scanned, '\0', frame->used - frame->scanned);
	frame->scanned = end ? (size_t)(end - frame->bytes) : frame->used;
	return end;
}

static int grow(struct kp_frame *frame, struct kp_diag *diag)
{
	size_t most, wanted;
	size_t needed = frame->used > frame->limit ? frame->used : frame->limit;
	if (__builtin_add_overflow(needed, SPACE, &most) ||
		__builtin_mul_overflow(frame->room, (size_t)2, &wanted))
		return kp_diag_no_memory(diag);
	if (wanted < frame->used + SPACE)
		wanted = frame->used + SPACE;
	if (wanted > most)
		wanted = most;
	char *bytes = realloc(frame->bytes, wanted);
	if (!bytes)
		return kp_diag_no_memory(diag);
	frame->bytes = bytes;
	frame->room = wanted;
	return 0;
}

int kp_frame_space(
	struct kp_frame *frame, char **space, size_t *size, struct kp_diag *diag)
{
	drop_taken(frame);
	(void)find_end(frame);
	if (frame->scanned > frame->limit)
		return kp_diag_set(diag, "message_too_large", "message",
			"a message of more than %zu bytes", frame->limit);
	if (frame->room - frame->used < SPACE && grow(frame, diag) < 0)
		return -1;
	*space = frame->bytes + frame->used;
	*size = frame->room - frame->used;
	return 0;
}

void kp_frame_filled(struct kp_frame *frame, size_t size)
{
	frame->used += size;
}

const char *kp_frame_next(struct kp_frame *frame, size_t *size)
{
	char *end = find_end(frame);
	if (!end || frame->scanned - frame->taken > frame->limit)
		return NULL;
	const char *message = frame->bytes + frame->taken;
	*size = (size_t)(end - message);
	frame->scanned++;
	frame->taken = frame->scanned;
	return message;
}

void kp_frame_finish(struct kp_frame *frame)
{
	free(frame->bytes);
	*frame = (struct kp_frame){.limit = frame->limit};
}
