/* SPDX-License-Identifier: MIT */
/*
 * The tables of calls.h as a filter of the kernel's (seccomp). It is made once, which
 * takes a millisecond, and put on by many workers, which takes next to nothing.
 */
#ifndef KP_WORKER_FILTER_H
#define KP_WORKER_FILTER_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/base/diag.h"

/* A program with gaps: whose process it is, and what becomes of what is refused. */
struct filter {
	struct sock_filter *code;
	size_t count;
};

/* spares: for workers that measure or have a GPU. Code sandbox_failed. */
int filter_make(bool spares, struct filter *filter, struct kp_diag *diag)
	__attribute__((warn_unused_result));
void filter_finish(struct filter *filter);

/* For another image of this process: a descriptor that stays open over an exec, or -1. */
int filter_save(const struct filter *filter);
/* Closes it. Code sandbox_failed. */
int filter_read(int fd, struct filter *filter, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/*
 * From now on this process, which has given up new privileges, is bound by it. With
 * `listens` *listener is a descriptor on which somebody else must answer for calls that
 * are not allowed (watch.h); where the kernel has none to give, and without it, -1: they
 * are refused in silence. Files are opened for writing only where Landlock decides
 * (`landlock`). Code sandbox_failed.
 */
int filter_enter(const struct filter *filter, bool landlock, bool listens, int *listener,
	struct kp_diag *diag) __attribute__((warn_unused_result));

#endif
