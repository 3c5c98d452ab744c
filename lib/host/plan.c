/* SPDX-License-Identifier: MIT */
/* A plan is known again by its memory, which nobody else has. */
#include "lib/host/plan.h"

#include <stdlib.h>
#include <string.h>

#include "lib/host/call.h"
#include "lib/host/calm.h"
#include "lib/host/fault.h"
#include "lib/host/hold.h"
#include "lib/plugin/abi.h"

struct kp_plan {
	struct kp_plan *next; /* of the handle */
	struct kp_handle *handle;
	const struct kp_inner_rung *rung;
	uint64_t generation, hold;
	void *plan, *host_plan; /* plan: the caller's where it is a device's */
	uint64_t plan_bytes, host_plan_bytes;
	bool owns_plan;
};

static const struct kp_plan *find(struct kp_handle *handle, const struct kp_call *call)
{
	(void)pthread_mutex_lock(&handle->lock);
	const struct kp_plan *plan = handle->plans;
	while (plan && (plan->plan != call->plan || plan->host_plan != call->host_plan))
		plan = plan->next;
	(void)pthread_mutex_unlock(&handle->lock);
	return plan;
}

int kp_plan_check(struct kp_inner_site *site, const struct kp_inner_rung *rung,
	struct kp_call *call)
{
	if (!call->plan && !call->host_plan)
		return KP_OK;
	const struct kp_plan *plan = find(site->handle, call);
	if (plan && plan->rung == rung) {
		call->generation = plan->generation;
		return KP_OK;
	}
	return kp_fault_say(call->error, KP_STALE,
		"%s is in force, the plan is %s's; make another one with kp_plan_new",
		rung->name, plan ? plan->rung->name : "nobody");
}

static void *allocate(uint64_t bytes, uint64_t align)
{
	void *memory;

	if (align < sizeof(void *))
		align = sizeof(void *);
	return posix_memalign(&memory, align, bytes) == 0 ? memory : NULL;
}

/*
 * A CPU's plan is memory like any other. A device's is the application's to give: the
 * call's own.
 */
static int give_memory(struct kp_plan *plan, const struct kp_need *need,
	const struct kp_inner_site *site, const struct kp_call *call)
{
	bool on_cpu = site->device->device.type == KP_DEVICE_CPU;

	plan->plan_bytes = need->plan_bytes;
	plan->host_plan_bytes = need->host_plan_bytes;
	if (need->plan_bytes > 0 && on_cpu) {
		plan->plan = allocate(need->plan_bytes, need->plan_align);
		plan->owns_plan = true;
	} else if (need->plan_bytes > 0 && call->plan_bytes >= need->plan_bytes) {
		plan->plan = call->plan;
	} else if (need->plan_bytes > 0) {
		return kp_fault_say(call->error, KP_INVALID,
			"%s needs %llu bytes of the device for its plan: set plan and "
			"plan_bytes of the call",
			plan->rung->name, (unsigned long long)need->plan_bytes);
	}
	if (need->host_plan_bytes > 0)
		plan->host_plan = allocate(need->host_plan_bytes, need->host_plan_align);
	if ((need->plan_bytes == 0 || plan->plan) &&
		(need->host_plan_bytes == 0 || plan->host_plan))
		return KP_OK;
	return kp_fault_say(call->error, KP_NO_MEMORY, "memory is exhausted");
}

static int make(struct kp_plan *plan, struct kp_inner_site *site,
	const struct kp_call *from, struct kp_error *error)
{
	struct kp_call call = *from;
	struct kp_need need;
	int status = KP_OK;

	call.error = error;
	kp_call_ready(site, &call);
	plan->rung = kp_call_find(site, &call, &status);
	if (!plan->rung)
		return status;
	plan->generation = call.generation =
		__atomic_load_n(&site->decided, __ATOMIC_RELAXED);
	status = kp_call_need(site, plan->rung, &call, &need);
	if (status == KP_OK)
		status = give_memory(plan, &need, site, &call);
	if (status != KP_OK || !plan->rung->loaded->functions.plan)
		return status;
	(void)kp_plan_use(plan, &call);
	call.state = plan->rung->front.state;
	call.device_state = plan->rung->front.device_state;
	uint64_t outer = kp_thread_inside(site->handle->slots, plan->rung->front.kernel);
	status = plan->rung->loaded->functions.plan(&call);
	kp_thread_outside(outer);
	return status;
}

static void enter(struct kp_plan *plan)
{
	struct kp_handle *handle = plan->handle;

	(void)pthread_mutex_lock(&handle->lock);
	plan->next = handle->plans;
	handle->plans = plan;
	(void)pthread_mutex_unlock(&handle->lock);
}

static void plan_finish(struct kp_plan *plan)
{
	if (plan->owns_plan)
		free(plan->plan);
	free(plan->host_plan);
	free(plan);
}

int kp_plan_new(struct kp_site *front, const struct kp_call *call, struct kp_plan **out,
	struct kp_error *error)
{
	owned_calm calm = kp_calm_begin();
	struct kp_inner_site *site = kp_site_inner(front);
	struct kp_plan *plan;

	if (kp_handle_is_forked(site->handle))
		return kp_handle_forked(error);
	plan = calloc(1, sizeof(*plan));
	if (!plan)
		return kp_fault_say(error, KP_NO_MEMORY, "memory is exhausted");
	plan->handle = site->handle;
	uint64_t mark = kp_thread_begin(site->handle->slots);
	int status = make(plan, site, call, error);
	kp_thread_finish(mark);
	if (status == KP_OK)
		plan->hold = kp_hold_add(site->handle, plan->rung->name, "plan");
	if (status == KP_OK && !plan->hold)
		status = kp_fault_say(error, KP_NO_MEMORY, "memory is exhausted");
	if (status != KP_OK) {
		plan_finish(plan);
		return error && KP_COVERS(error, text) ? kp_error_settle(error, status)
						       : kp_status_known(status);
	}
	enter(plan);
	*out = plan;
	return KP_OK;
}

int kp_plan_use(const struct kp_plan *plan, struct kp_call *call)
{
	call->plan = plan->plan;
	call->host_plan = plan->host_plan;
	call->plan_bytes = plan->plan_bytes;
	call->host_plan_bytes = plan->host_plan_bytes;
	return KP_OK;
}

void kp_plan_free(struct kp_plan *plan)
{
	owned_calm calm = kp_calm_begin();
	if (!plan || kp_handle_is_forked(plan->handle))
		return;
	struct kp_handle *handle = plan->handle;
	(void)pthread_mutex_lock(&handle->lock);
	struct kp_plan **link = &handle->plans;
	while (*link != plan)
		link = &(*link)->next;
	*link = plan->next;
	(void)pthread_mutex_unlock(&handle->lock);
	(void)kp_hold_drop(handle, plan->hold);
	plan_finish(plan);
}
