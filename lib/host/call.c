/* SPDX-License-Identifier: MIT */
/* The whole way of a call: whatever the inline one leaves aside. */
#include "lib/host/call.h"

#include <string.h>

#include "lib/host/breaker.h"
#include "lib/host/calm.h"
#include "lib/host/fault.h"
#include "lib/host/plan.h"
#include "lib/host/profile.h"
#include "lib/host/report.h"
#include "lib/host/resolve.h"
#include "lib/host/serial.h"
#include "lib/plugin/abi.h"

void kp_call_ready(const struct kp_inner_site *site, struct kp_call *call)
{
	call->size = (uint32_t)sizeof(*call);
	call->host = &site->handle->services.host;
	call->device = &site->device->device;
	if (call->attrs)
		return;
	call->attrs = site->attributes;
	call->n_attrs = site->n_attributes;
}

int kp_call_init(struct kp_site *front, struct kp_call *call)
{
	const struct kp_inner_site *site = kp_site_inner(front);

	*call = (struct kp_call){.size = 0};
	if (kp_handle_is_forked(site->handle))
		return KP_INVALID;
	kp_call_ready(site, call);
	return KP_OK;
}

/* ---- finding ----------------------------------------------------------------------- */

static int check_ranges(
	const struct kp_inner_site *site, const int64_t *dims, struct kp_diag *diag)
{
	for (size_t i = 0; i < site->check.n_dims; i++)
		if (site->has_range[i] && dims[i] >= 0 &&
			(dims[i] < site->least[i] || dims[i] > site->most[i]))
			return kp_diag_set(diag, "bad_extent",
				site->check.family->dims.items[i],
				"%s is %lld, the site was made for [%lld, %lld]",
				site->check.family->dims.items[i], (long long)dims[i],
				(long long)site->least[i], (long long)site->most[i]);
	return 0;
}

/* The dims of the call; NULL where no family says what they are. */
static const int64_t *look_at(const struct kp_inner_site *site,
	const struct kp_call *call, int64_t *dims, bool *right, struct kp_diag *diag)
{
	*right = true;
	if (!site->contract->described)
		return NULL;
	if (site->flags & KP_SITE_CHECKED) {
		kp_check_dims(&site->check, call->tensors, call->n_tensors, dims);
		return dims;
	}
	*right = kp_check_tensors(
			 &site->check, call->tensors, call->n_tensors, dims, diag) == 0 &&
		 (!site->has_ranges || check_ranges(site, dims, diag) == 0);
	return dims;
}

static bool is_current(const struct kp_inner_site *site, uint64_t now)
{
	return __atomic_load_n(&site->decided, __ATOMIC_ACQUIRE) == now;
}

static int explain_lost(const struct kp_inner_site *site, struct kp_error *error)
{
	return kp_fault_say(error, KP_DEVICE_LOST,
		"device %d of type %d is lost for this process", site->device->device.id,
		site->device->device.type);
}

/* trial: a breaker whose kernel this call may run, or NULL. */
static const struct kp_inner_rung *find(struct kp_inner_site *site,
	const struct kp_call *call, const struct kp_breaker *trial, int *status)
{
	uint64_t now = __atomic_load_n(site->front.now, __ATOMIC_ACQUIRE);
	int64_t dims[KP_FAMILY_DIMS];
	struct kp_diag diag;
	bool right;

	if (kp_device_is_lost(site->device)) {
		*status = explain_lost(site, call->error);
		return NULL;
	}
	const int64_t *known = look_at(site, call, dims, &right, &diag);
	const struct kp_inner_rung *rung = NULL;
	if (right && (is_current(site, now) ||
			     kp_resolve_refresh(site, now, NULL, &diag) == 0))
		rung = kp_resolve(site, known, &diag);
	if (!rung)
		*status = kp_fault(call->error, &diag);
	return rung && trial ? kp_resolve_anew(site, known, rung) : rung;
}

const struct kp_inner_rung *kp_call_find(
	struct kp_inner_site *site, const struct kp_call *call, int *status)
{
	return find(site, call, NULL, status);
}

/* ---- what a kernel needs ----------------------------------------------------------- */

int kp_call_need(const struct kp_inner_site *site, const struct kp_inner_rung *rung,
	const struct kp_call *from, struct kp_need *need)
{
	struct kp_tensor memory[KP_FAMILY_ROLES];
	const struct kp_tensor *without_data[KP_FAMILY_ROLES];
	struct kp_call call = *from;

	*need = (struct kp_need){.size = (uint32_t)sizeof(*need)};
	if (!rung->loaded->functions.need)
		return KP_OK;
	if (call.n_tensors > KP_FAMILY_ROLES)
		return kp_fault_say(call.error, KP_INVALID,
			"the call has %u tensors, at most %d are possible",
			call.n_tensors, KP_FAMILY_ROLES);
	for (uint32_t i = 0; i < call.n_tensors; i++) {
		without_data[i] = from->tensors[i] ? &memory[i] : NULL;
		if (!from->tensors[i])
			continue;
		memory[i] = *from->tensors[i];
		memory[i].data = NULL;
	}
	call.tensors = without_data;
	call.state = rung->front.state;
	call.device_state = rung->front.device_state;
	uint64_t outer = kp_thread_inside(site->handle->slots, rung->front.kernel);
	int status = rung->loaded->functions.need(&call, need);
	kp_thread_outside(outer);
	return status;
}

/* The caller's workspace, or the thread's where that is too small. */
static int meet_need(const struct kp_inner_site *site, const struct kp_inner_rung *rung,
	struct kp_call *call)
{
	struct kp_need need;
	int status = kp_call_need(site, rung, call, &need);

	if (status != KP_OK || need.workspace_bytes <= call->workspace_bytes)
		return status;
	if (site->device->device.type != KP_DEVICE_CPU)
		return kp_fault_say(call->error, KP_INVALID,
			"%s needs %llu bytes of workspace, the call has %llu; kp_warm "
			"says how much is enough",
			rung->name, (unsigned long long)need.workspace_bytes,
			(unsigned long long)call->workspace_bytes);
	call->workspace = kp_thread_scratch_take(
		need.workspace_bytes, need.workspace_align ? need.workspace_align : 1);
	call->workspace_bytes = need.workspace_bytes;
	if (call->workspace)
		return KP_OK;
	return kp_fault_say(call->error, KP_NO_MEMORY,
		"there is no memory for the %llu bytes of workspace that %s needs",
		(unsigned long long)need.workspace_bytes, rung->name);
}

/* ---- running ----------------------------------------------------------------------- */

static int run(const struct kp_inner_rung *rung, struct kp_call *call)
{
	const struct kp_loaded *loaded = rung->loaded;
	int status;

	if (rung->flags & KP_FLAG_REENTRANT)
		return loaded->functions.run(call);
	kp_serial_enter(loaded->serial);
	status = loaded->functions.run(call);
	kp_serial_leave(loaded->serial);
	return status;
}

int kp_call_enter(const struct kp_inner_rung *rung, struct kp_call *call)
{
	struct kp_slot *slot = kp_thread_mine();
	uint64_t outer = slot ? slot->kernel & KP_SLOT_OWN : 0;

	if (slot)
		__atomic_store_n(&slot->kernel, rung->front.kernel, __ATOMIC_RELAXED);
	__asm__ volatile("" ::: "memory");
	int status = run(rung, call);
	__asm__ volatile("" ::: "memory");
	if (slot)
		__atomic_store_n(&slot->kernel, outer, __ATOMIC_RELAXED);
	return status;
}

static int enter(struct kp_inner_site *site, const struct kp_inner_rung *rung,
	struct kp_call *call)
{
	struct kp_guarded *guarded =
		kp_guard_is_due(&site->guard) ? kp_guard_begin(site, rung, call) : NULL;
	int status = kp_call_enter(rung, call);

	if (guarded)
		kp_guard_end(guarded, status);
	return status;
}

static int run_rung(struct kp_inner_site *site, const struct kp_inner_rung *rung,
	struct kp_call *call, uint64_t now)
{
	void *workspace = call->workspace;
	uint64_t bytes = call->workspace_bytes;
	int status = KP_OK;

	call->state = rung->front.state;
	call->device_state = rung->front.device_state;
	call->generation = now;
	if (rung->loaded->functions.plan)
		status = kp_plan_check(site, rung, call);
	if (status == KP_OK && rung->loaded->functions.need)
		status = meet_need(site, rung, call);
	if (status == KP_OK) {
		const struct kp_profiler *profiler = kp_profile_enter(site, rung, call);
		status = enter(site, rung, call);
		kp_profile_leave(profiler, site, rung, call, status);
	}
	call->workspace = workspace;
	call->workspace_bytes = bytes;
	return status;
}

/* The one that tells it first need not be the one that has broken it. */
static void lose_device(
	const struct kp_inner_site *site, const struct kp_inner_rung *rung)
{
	owned_calm calm = kp_calm_begin();

	if (!kp_device_close(site->handle, site->device))
		return;
	if (rung)
		kp_report(site->handle, "error", rung->name, site->label,
			"it told that its device is lost: whichever kernel has broken "
			"it, none is called for it any more in this process",
			json_pack("{s:i, s:s}", "status", KP_DEVICE_LOST, "device",
				site->device->wanted));
	kp_handle_touch(site->handle, NULL);
}

/* What the status means for the device, and for the caller. */
static int settle(struct kp_inner_site *site, const struct kp_inner_rung *rung,
	const struct kp_call *call, int status)
{
	if (status == KP_DEVICE_LOST)
		lose_device(site, rung);
	if (call->error && KP_COVERS(call->error, text))
		return kp_error_settle(call->error, status);
	return kp_status_known(status);
}

static int run_whole(struct kp_inner_site *site, struct kp_call *call)
{
	int status = KP_OK;
	bool rest = kp_breakers_rest(&site->handle->breakers);
	struct kp_breaker *trial = rest ? NULL : kp_breaker_try(site);
	const struct kp_inner_rung *rung = find(site, call, trial, &status);

	if (rung)
		status = run_rung(site, rung, call,
			__atomic_load_n(&site->decided, __ATOMIC_RELAXED));
	if (!rest || status != KP_OK)
		kp_breaker_settle(site, rung, trial, status);
	return !rung || status == KP_OK ? status : settle(site, rung, call, status);
}

int kp_run_slow(struct kp_site *front, struct kp_call *call)
{
	struct kp_inner_site *site = kp_site_inner(front);

	if (kp_handle_is_forked(site->handle))
		return kp_handle_forked(call->error);
	uint64_t mark = kp_thread_begin(site->handle->slots);
	if (!call->host)
		kp_call_ready(site, call);
	int status = run_whole(site, call);
	kp_thread_finish(mark);
	return status;
}

/* After an inline call: the site has run one kernel only, as a rule since long ago. */
int kp_run_failed(struct kp_site *front, const struct kp_call *call, int status)
{
	struct kp_inner_site *site = kp_site_inner(front);
	const struct kp_inner_rung *rung = (const struct kp_inner_rung *)__atomic_load_n(
		&front->rung, __ATOMIC_RELAXED);

	kp_breaker_settle(site, rung, NULL, status);
	return settle(site, rung, call, status);
}
