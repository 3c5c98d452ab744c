/* SPDX-License-Identifier: MIT */
/* Profilers that were set are kept to the end: calls may be in them. */
#include "lib/host/profile.h"
#include "lib/host/calm.h"

#include <stdlib.h>
#include <string.h>

struct kp_old_profiler {
	struct kp_old_profiler *next;
	struct kp_profiler profiler;
};

const struct kp_profiler *kp_profile_enter(const struct kp_inner_site *site,
	const struct kp_inner_rung *rung, const struct kp_call *call)
{
	const struct kp_profiler *profiler =
		__atomic_load_n(&site->handle->profiler, __ATOMIC_ACQUIRE);

	if (profiler && profiler->enter)
		profiler->enter(profiler->context, site->label, rung->name, call);
	return profiler;
}

void kp_profile_leave(const struct kp_profiler *profiler,
	const struct kp_inner_site *site, const struct kp_inner_rung *rung,
	const struct kp_call *call, int status)
{
	if (profiler && profiler->leave)
		profiler->leave(profiler->context, site->label, rung->name, call, status);
}

int kp_profile(struct kp_handle *handle, const struct kp_profiler *profiler)
{
	owned_calm calm = kp_calm_begin();
	struct kp_old_profiler *kept = NULL;

	if (kp_handle_is_forked(handle))
		return KP_INVALID;
	if (profiler) {
		kept = calloc(1, sizeof(*kept));
		if (!kept)
			return KP_NO_MEMORY;
		memcpy(&kept->profiler, profiler,
			profiler->size < sizeof(*profiler) ? profiler->size
							   : sizeof(*profiler));
		(void)pthread_mutex_lock(&handle->lock);
		kept->next = handle->profilers;
		handle->profilers = kept;
		(void)pthread_mutex_unlock(&handle->lock);
	}
	__atomic_store_n(
		&handle->profiler, kept ? &kept->profiler : NULL, __ATOMIC_RELEASE);
	/* Inline calls know no profiler. */
	kp_handle_touch(handle, NULL);
	return KP_OK;
}

void kp_profilers_free(struct kp_handle *handle)
{
	while (handle->profilers) {
		struct kp_old_profiler *next = handle->profilers->next;
		free(handle->profilers);
		handle->profilers = next;
	}
}
