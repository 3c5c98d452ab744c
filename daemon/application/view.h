/* SPDX-License-Identifier: MIT */
/* A published table with its kernels' numbers, as one memory file for all clients. */
#ifndef KP_DAEMON_VIEW_H
#define KP_DAEMON_VIEW_H

#include <stdint.h>

#include "lib/base/diag.h"
#include "lib/table/table.h"

struct view {
	int fd; /* sealed */
	uint64_t generation;
};

/* numbers: one a kernel. Codes io_error, no_memory. */
int view_make(struct view *view, const struct kp_table *table, const uint32_t *numbers,
	struct kp_diag *diag) __attribute__((warn_unused_result));
void view_finish(struct view *view);

#endif
