/* SPDX-License-Identifier: MIT */
/*
 * A growing run of bytes in which equal pieces can be kept once: the sections of
 * a table while it is built. Knows nothing of what the pieces mean.
 */
#ifndef KP_LIB_INTERN_H
#define KP_LIB_INTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero it first. */
struct kp_intern {
	unsigned char *bytes;
	size_t size, capacity;
	struct kp_intern_slot *slots;
	size_t n_slots, used;
	bool is_full; /* a piece had no room below KP_INTERN_MOST */
};

/* Appends the piece; *offset is where. False: memory, or more than KP_INTERN_MOST. */
enum { KP_INTERN_MOST = 1 << 30 };
bool kp_intern_append(struct kp_intern *intern, const void *piece, size_t size,
	uint32_t *offset) __attribute__((warn_unused_result));

/*
 * Finds the piece among those added by this function, or appends it. No piece may
 * be the start of another: they are of one size, or say their own.
 */
bool kp_intern_add(struct kp_intern *intern, const void *piece, size_t size,
	uint32_t *offset) __attribute__((warn_unused_result));

void kp_intern_finish(struct kp_intern *intern);

#endif
