/* SPDX-License-Identifier: MIT */
/* Kernels whose code cannot be used in this process, and why. */
#ifndef KP_LIB_HOST_EXCLUDE_H
#define KP_LIB_HOST_EXCLUDE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/base/diag.h"
#include "lib/table/table.h"

/* A list that only grows, by one kernel of one stored library on one device at a time. */
struct kp_excluded;
struct kp_exclude {
	pthread_mutex_t lock;
	struct kp_excluded *first;
};

void kp_exclude_init(struct kp_exclude *exclude);
void kp_exclude_finish(struct kp_exclude *exclude);

/* device tells devices apart. False: memory. True also when it is there already. */
bool kp_exclude_add(struct kp_exclude *exclude, const struct kp_table *table,
	size_t kernel, const void *device, const struct kp_diag *why);

/* Is it there? *why (may be NULL) is what was said. */
bool kp_exclude_has(struct kp_exclude *exclude, const struct kp_table *table,
	size_t kernel, const void *device, struct kp_diag *why);

#endif
