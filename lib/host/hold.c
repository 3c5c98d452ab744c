/* SPDX-License-Identifier: MIT */
/* A list; plugind counts by kernel and by what. */
#include "lib/host/hold.h"

#include <stdlib.h>
#include <string.h>

#include "lib/host/calm.h"
#include "lib/host/fault.h"
#include "lib/host/site.h"

struct kp_holds {
	struct kp_holds *next;
	uint64_t id;
	char *kernel, *what;
};

static void hold_free(struct kp_holds *hold)
{
	free(hold->kernel);
	free(hold->what);
	free(hold);
}

uint64_t kp_hold_add(struct kp_handle *handle, const char *kernel, const char *what)
{
	struct kp_holds *hold = calloc(1, sizeof(*hold));

	if (!hold)
		return 0;
	hold->kernel = strdup(kernel);
	hold->what = strdup(what);
	if (!hold->kernel || !hold->what) {
		hold_free(hold);
		return 0;
	}
	(void)pthread_mutex_lock(&handle->lock);
	hold->id = ++handle->last_hold;
	hold->next = handle->holds;
	handle->holds = hold;
	(void)pthread_mutex_unlock(&handle->lock);
	kp_attach_holds(handle->attach, kernel, what, 1);
	return hold->id;
}

bool kp_hold_drop(struct kp_handle *handle, uint64_t id)
{
	struct kp_holds *hold = NULL;

	(void)pthread_mutex_lock(&handle->lock);
	struct kp_holds **link = &handle->holds;
	while (*link && (*link)->id != id)
		link = &(*link)->next;
	if (*link) {
		hold = *link;
		*link = hold->next;
	}
	(void)pthread_mutex_unlock(&handle->lock);
	if (!hold)
		return false;
	kp_attach_holds(handle->attach, hold->kernel, hold->what, -1);
	hold_free(hold);
	return true;
}

void kp_holds_free(struct kp_handle *handle)
{
	while (handle->holds)
		(void)kp_hold_drop(handle, handle->holds->id);
}

int kp_hold(struct kp_site *front, const char *what, uint64_t *id, struct kp_error *error)
{
	owned_calm calm = kp_calm_begin();
	struct kp_inner_site *site = kp_site_inner(front);
	struct kp_handle *handle = site->handle;

	if (kp_handle_is_forked(handle))
		return kp_handle_forked(error);
	const char *kernel = kp_site_kernel(front, NULL);
	if (!kernel)
		return kp_fault_say(error, KP_UNSUPPORTED,
			"the site %s runs no kernel that could be held", site->label);
	uint64_t got = kp_hold_add(handle, kernel, what ? what : "graph");
	if (!got)
		return kp_fault_say(error, KP_NO_MEMORY, "memory is exhausted");
	*id = got;
	return KP_OK;
}

int kp_release(struct kp_handle *handle, uint64_t hold)
{
	owned_calm calm = kp_calm_begin();
	if (kp_handle_is_forked(handle))
		return KP_INVALID;
	return kp_hold_drop(handle, hold) ? KP_OK : KP_INVALID;
}
