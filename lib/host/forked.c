/* SPDX-License-Identifier: MIT */
/* What becomes of a handle in a child of its process. */
#include <stddef.h>

#include "lib/host/fault.h"
#include "lib/host/handle.h"

int kp_handle_forked(struct kp_error *error)
{
	return kp_fault_say(error, KP_INVALID,
		"forked: this process is a child of the one that opened the handle; "
		"kp_open makes another one");
}

/*
 * No generation of the parent's stays in force, so that its sites go the whole way, where
 * that is said: also in a child that has a slot by another handle.
 */
static void in_child(struct kp_fork_watch *watch)
{
	struct kp_handle *handle =
		(struct kp_handle *)(void *)((char *)watch -
					     offsetof(struct kp_handle, watch));

	__atomic_store_n(&handle->step, 0, __ATOMIC_RELAXED);
	kp_attach_in_child(handle->attach);
}

void kp_handle_watch_forks(struct kp_handle *handle)
{
	handle->watch.in_child = in_child;
	kp_thread_watch_forks(&handle->watch);
}
