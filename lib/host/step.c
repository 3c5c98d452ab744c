/* SPDX-License-Identifier: MIT */
/* KP_ADOPT_AT_STEP: what is in force is a copy, renewed by kp_step. */
#include "lib/host/calm.h"
#include "lib/host/fault.h"
#include "lib/host/resolve.h"

enum { WAIT_MS = 50 };

uint64_t kp_step_take(struct kp_handle *handle)
{
	const struct kp_control *control = handle->control;
	uint64_t generation = kp_control_generation(control);
	size_t words = KP_CONTROL_BITS / 64;

	for (size_t i = 0; i < words; i++)
		__atomic_store_n(&handle->bits[i],
			__atomic_load_n(&control->bits[i], __ATOMIC_RELAXED),
			__ATOMIC_RELAXED);
	__atomic_store_n(&handle->step, generation, __ATOMIC_RELEASE);
	return generation;
}

static uint32_t refresh_all(struct kp_handle *handle, uint64_t now)
{
	uint32_t count = 0;
	struct kp_diag diag;

	(void)pthread_mutex_lock(&handle->sites_lock);
	for (struct kp_inner_site *site = handle->sites; site; site = site->next) {
		bool other = false;
		if (kp_resolve_refresh(site, now, &other, &diag) < 0)
			kp_log(&handle->log, KP_LOG_WARNING, "%s", diag.message);
		count += other;
	}
	(void)pthread_mutex_unlock(&handle->sites_lock);
	return count;
}

int kp_step(struct kp_handle *handle, uint32_t *changed, struct kp_error *error)
{
	owned_calm calm = kp_calm_begin();
	uint32_t count = 0;
	struct kp_diag diag;

	if (kp_handle_is_forked(handle))
		return kp_handle_forked(error);
	if (handle->at_step && kp_control_generation(handle->control) !=
				       __atomic_load_n(&handle->step, __ATOMIC_RELAXED)) {
		struct kp_sight *sight = kp_handle_newest(handle, WAIT_MS, &diag);
		if (!sight)
			return kp_fault(error, &diag);
		kp_sight_drop(sight);
		count = refresh_all(handle, kp_step_take(handle));
	}
	if (changed)
		*changed = count;
	return KP_OK;
}
