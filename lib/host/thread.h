/* SPDX-License-Identifier: MIT */
/*
 * What each thread of the process has: its slot and scratch memory. One of
 * the few places with state of the process: a kernel's call names no handle.
 */
#ifndef KP_LIB_HOST_THREAD_H
#define KP_LIB_HOST_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kplug/host.h"

/* Before anything else; any thread. False: the system has no key left. */
bool kp_thread_init(void);

/* How many times this process has been forked off: a handle is its maker's alone. */
unsigned kp_thread_forks(void);

/*
 * Called in each child, before anything else of it runs; the caller's memory. Locks may
 * be those of threads that are not there.
 */
struct kp_fork_watch {
	struct kp_fork_watch *next, **link;
	void (*in_child)(struct kp_fork_watch *watch);
};
void kp_thread_watch_forks(struct kp_fork_watch *watch);
/* One that was never begun, all zeroes, is fine. */
void kp_thread_end_watch(struct kp_fork_watch *watch);

/* Tells this thread from all that were and will be in this process; never 0. */
uint64_t kp_thread_number(void);

/*
 * The slot of this thread. One that has none yet takes a free one of `slots` (KP_SLOTS of
 * them) and keeps it until it ends; where all are taken it gets one that plugind does
 * not see: a crash in it is unattributed. NULL for want of memory.
 */
struct kp_slot *kp_thread_enter(struct kp_slot *slots);
/* The one it has, or NULL; kp_thread_slot may be NULL though it has one. */
struct kp_slot *kp_thread_mine(void);

/*
 * Around code of a kernel (as in kp_slot) that is no call: loading it, asking what it
 * needs. `inside` returns what `outside` is given.
 */
uint64_t kp_thread_inside(struct kp_slot *slots, uint64_t kernel);
void kp_thread_outside(uint64_t outer);

/*
 * Around a call that goes the whole way: scratch memory that calls before have left is
 * free again, and so is what this one takes. Inline calls leave theirs to the next, which
 * goes the whole way for it.
 */
uint64_t kp_thread_begin(struct kp_slot *slots);
void kp_thread_finish(uint64_t mark);

/*
 * These slots are about to go: this thread, which is in no call, gives its slot back.
 * True where another thread still has one there, so that the memory must stay; such a
 * thread takes another one when it next goes the whole way of a call.
 */
bool kp_thread_leave(struct kp_slot *slots);

/* Memory until the call returns (kp_host.scratch). NULL when exhausted. */
void *kp_thread_scratch_take(size_t bytes, size_t align);

/*
 * Tasks of a loop take scratch memory of the thread that called: `lend` there, `borrow`
 * around each task in whichever thread runs it.
 */
struct kp_lent {
	char *memory;
	uint64_t *used;
};
struct kp_lent kp_thread_lend(void);
void kp_thread_lent_back(void);			      /* after the loop */
struct kp_lent kp_thread_borrow(struct kp_lent lent); /* returns what was before */

#endif
