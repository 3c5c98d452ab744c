/* SPDX-License-Identifier: MIT */
/* Every rung of a site before its first call. */
#include <string.h>

#include "lib/host/call.h"
#include "lib/host/calm.h"
#include "lib/host/dense.h"
#include "lib/host/fault.h"
#include "lib/host/resolve.h"
#include "lib/host/stable.h"

/* What was seen of one site. */
struct warming {
	struct kp_inner_site *site;
	struct kp_warmth *warmth;
	const struct kp_inner_rung *seen[KP_ENTRIES];
	size_t n_seen;
	uint64_t none[KP_ENTRIES]; /* masks for which nothing is eligible */
	size_t n_none;
};

static void grow(uint64_t *most, uint64_t value)
{
	if (value > *most)
		*most = value;
}

/* What the largest tensors want is known only where a range bounds each dim. */
static bool is_bounded(const struct kp_inner_site *site)
{
	for (size_t i = 0; i < site->check.n_dims; i++)
		if (!site->has_range[i])
			return false;
	return true;
}

static void ask_need(
	struct warming *warming, const struct kp_inner_rung *rung, const int64_t *dims)
{
	const struct kp_inner_site *site = warming->site;
	struct kp_error error = {.size = (uint32_t)sizeof(error)};
	struct kp_call call = {.error = &error};
	struct kp_dense dense;
	struct kp_need need;
	struct kp_diag diag;

	if (!rung->loaded->functions.need || !is_bounded(site) ||
		kp_dense_make(&site->check, NULL, dims, &dense, &diag) < 0)
		return;
	call.tensors = dense.list;
	call.n_tensors = (uint32_t)site->check.n_roles;
	kp_call_ready(site, &call);
	if (kp_call_need(site, rung, &call, &need) != KP_OK)
		return;
	grow(&warming->warmth->workspace_bytes, need.workspace_bytes);
	grow(&warming->warmth->workspace_align, need.workspace_align);
}

static void see_rung(struct warming *warming, const struct kp_inner_rung *rung)
{
	for (size_t i = 0; i < warming->n_seen; i++)
		if (warming->seen[i] == rung)
			return;
	if (warming->n_seen < KP_ENTRIES)
		warming->seen[warming->n_seen++] = rung;
	warming->warmth->n_rungs++;
	warming->warmth->n_uncapturable += !(rung->flags & KP_FLAG_CAPTURABLE);
}

static void see_none(struct warming *warming, const int64_t *dims)
{
	uint64_t mask = dims ? kp_ladder_mask(warming->site->ladder, dims) : 0;

	for (size_t i = 0; i < warming->n_none; i++)
		if (warming->none[i] == mask)
			return;
	if (warming->n_none < KP_ENTRIES)
		warming->none[warming->n_none++] = mask;
	warming->warmth->n_unsupported++;
}

static int warm_shape(struct warming *warming, const int64_t *dims, struct kp_diag *diag)
{
	const struct kp_inner_rung *rung = kp_resolve(warming->site, dims, diag);

	if (rung) {
		see_rung(warming, rung);
		if (dims)
			ask_need(warming, rung, dims);
		return 0;
	}
	if (kp_fault_status(diag->code) != KP_UNSUPPORTED)
		return -1;
	see_none(warming, dims);
	return 0;
}

static int warm_site(
	struct kp_inner_site *site, struct kp_warmth *warmth, struct kp_diag *diag)
{
	uint64_t now = __atomic_load_n(site->front.now, __ATOMIC_ACQUIRE);
	struct warming warming = {.site = site, .warmth = warmth};
	struct kp_range_walk walk;
	int result = 0;

	if (kp_resolve_refresh(site, now, NULL, diag) < 0)
		return -1;
	if (!site->contract->described)
		return warm_shape(&warming, NULL, diag);
	(void)pthread_mutex_lock(&site->lock);
	bool ready = kp_range_walk_init(&walk, site);
	(void)pthread_mutex_unlock(&site->lock);
	if (!ready)
		return kp_diag_no_memory(diag);
	while (result == 0 && kp_range_walk_next(&walk))
		result = warm_shape(&warming, walk.dims, diag);
	kp_range_walk_finish(&walk);
	return result;
}

int kp_warm(struct kp_site *const *sites, uint32_t n_sites, struct kp_warmth *out,
	struct kp_error *error)
{
	owned_calm calm = kp_calm_begin();
	struct kp_warmth warmth = {KP_SIZED(struct kp_warmth), .workspace_align = 1};
	struct kp_diag diag;

	for (uint32_t i = 0; i < n_sites; i++) {
		struct kp_inner_site *site = kp_site_inner(sites[i]);
		if (kp_handle_is_forked(site->handle))
			return kp_handle_forked(error);
		if (warm_site(site, &warmth, &diag) < 0)
			return kp_fault(error, &diag);
	}
	if (out) {
		uint32_t size = out->size;
		memcpy(out, &warmth, size < sizeof(warmth) ? size : sizeof(warmth));
		out->size = size;
	}
	return KP_OK;
}
