/* SPDX-License-Identifier: MIT */
/*
 * A table as a handle's sites see it: plugind's, with the handle's own kernels where it
 * has some. Immutable, counted.
 */
#ifndef KP_LIB_HOST_SIGHT_H
#define KP_LIB_HOST_SIGHT_H

#include "lib/host/attach.h"
#include "lib/table/table.h"

struct kp_sight {
	struct kp_table table;
	uint64_t generation;	 /* of plugind's table */
	uint64_t number;	 /* of this sight in its handle: grows */
	uint64_t boot;		 /* of the plugind whose numbers these are */
	const uint32_t *numbers; /* of kernels; NULL: none has one */
	size_t count;
	struct kp_view *view; /* what it was made of */
	void *bytes;	      /* its own table, or NULL */
	uint32_t *own;	      /* its own numbers, or NULL */
	unsigned references;  /* atomic */
};

/* Takes the reference to the view; NULL for want of memory, and then drops it. */
struct kp_sight *kp_sight_new(struct kp_view *view, uint64_t number, uint64_t boot);
struct kp_sight *kp_sight_share(struct kp_sight *sight);
void kp_sight_drop(struct kp_sight *sight); /* NULL is fine */

/* The number of a kernel's bit, KP_CONTROL_NONE where it has none. */
static inline uint32_t kp_sight_number(const struct kp_sight *sight, size_t kernel)
{
	return sight->numbers && kernel < sight->count ? sight->numbers[kernel]
						       : KP_CONTROL_NONE;
}

#endif
