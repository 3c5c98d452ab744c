/* SPDX-License-Identifier: MIT */
/*
 * The control page and this process's slots, each at one address from the first mapping
 * to the last use, whatever takes their place there. Knows no socket.
 */
#ifndef KP_LIB_HOST_PAGES_H
#define KP_LIB_HOST_PAGES_H

#include "lib/base/diag.h"
#include "lib/host/control.h"

/* Zero it, slots_fd -1. */
struct kp_pages {
	struct kp_control *control; /* read-only */
	struct kp_slot *slots;
	struct kp_told *told; /* behind the slots */
	int slots_fd;
	bool stays; /* the slots are left behind by kp_pages_finish */
};

/*
 * Maps what plugind sent, in the place of what is there. The control page must be sealed
 * so that nobody but plugind writes, slots so that their size stays. What threads and
 * holds have in the slots before is kept, but not which kernels threads are in: those are
 * numbers of another plugind. Takes slots_fd; control_fd stays the caller's. Codes
 * bad_view, no_memory: nothing has changed then.
 */
int kp_pages_map(struct kp_pages *pages, int control_fd, int slots_fd,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/*
 * While plugind is away: a page of our own, with these generations and no bit, takes the
 * place of the control page. False for want of memory.
 */
bool kp_pages_follow(struct kp_pages *pages, uint64_t generation, uint64_t view);

/*
 * In a child after fork: pages of its own, of zeroes, so that it writes nothing into its
 * parent's slots and no generation is the one that a site has seen.
 */
void kp_pages_forked(struct kp_pages *pages);

void kp_pages_finish(struct kp_pages *pages);

#endif
