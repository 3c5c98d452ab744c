/* SPDX-License-Identifier: MIT */
/*
 * Memory files for other processes, who can neither change their size nor, but for
 * slots, their content. Knows nothing of what they hold.
 */
#ifndef KP_DAEMON_SEALED_H
#define KP_DAEMON_SEALED_H

#include <stddef.h>

#include "lib/base/diag.h"

/* One part of a file's content. */
struct sealed_part {
	const void *bytes;
	size_t at, size;
};

/* A file of zeroes of this size, still without seals. Code io_error. */
int sealed_new(const char *name, size_t size, struct kp_diag *diag)
	__attribute__((warn_unused_result));
/*
 * Seals size, and every write but through mappings that are there; returns a descriptor
 * of it for reading alone. fd stays the caller's. Code io_error.
 */
int sealed_reader(int fd, struct kp_diag *diag) __attribute__((warn_unused_result));
/* A whole file of these parts, which nobody can change. Code io_error. */
int sealed_content(const char *name, size_t size, const struct sealed_part *parts,
	size_t n_parts, struct kp_diag *diag) __attribute__((warn_unused_result));
/* One that others may write, of a size that stays. Code io_error. */
int sealed_shared(const char *name, size_t size, struct kp_diag *diag)
	__attribute__((warn_unused_result));

#endif
