/* SPDX-License-Identifier: MIT */
/* From one table to the next: what a site must know of it before it decides. */
#include "lib/host/adopt.h"

#include "lib/host/stable.h"

/* One that is as before is the one before: entries of calls in flight stay right. */
static int set_ladder(struct kp_inner_site *site, struct kp_diag *diag)
{
	const struct kp_bounds bounds = {site->least, site->most};
	const struct kp_contract *contract = site->contract;
	struct kp_ladder *ladder, *same = site->ladders;

	site->request.shape.count = 0;
	ladder = kp_ladder_new(&site->sight->table, &site->request,
		contract->described ? &contract->family : NULL, &bounds, diag);
	if (!ladder)
		return -1;
	while (same && !kp_ladder_equal(same, ladder))
		same = same->next;
	if (same) {
		kp_ladder_free(ladder);
		ladder = same;
	} else {
		ladder->next = site->ladders;
		site->ladders = ladder;
	}
	__atomic_store_n(&site->ladder, ladder, __ATOMIC_RELEASE);
	return 0;
}

/* Takes the reference; on failure the table before stays. */
static int look_with(
	struct kp_inner_site *site, struct kp_sight *sight, struct kp_diag *diag)
{
	struct kp_sight *before = site->sight;

	site->sight = sight;
	if ((!before || before->number != sight->number) && set_ladder(site, diag) < 0) {
		site->sight = before;
		kp_sight_drop(sight);
		return -1;
	}
	kp_sight_drop(before);
	return 0;
}

/* Does it run anything that must stop at once? Then no table is waited for. */
static bool runs_what_is_off(const struct kp_inner_site *site)
{
	for (size_t i = 0; site->n_entries > 0 && i < KP_ENTRIES; i++) {
		const struct kp_inner_rung *rung = site->entries[i].rung;
		if (site->entries[i].used && rung->number != KP_CONTROL_NONE &&
			kp_handle_bit(site->handle, site->sight, rung->number))
			return true;
	}
	return false;
}

int kp_adopt_newest(struct kp_inner_site *site, struct kp_diag *diag)
{
	int wait_ms = runs_what_is_off(site) ? 0 : KP_AS_PATIENCE_ALLOWS;
	struct kp_sight *sight = kp_handle_sight(site->handle, wait_ms, diag);

	if (!sight)
		return -1;
	bool other = !site->sight || site->sight->number != sight->number;
	if (look_with(site, sight, diag) < 0)
		return -1;
	return other ? kp_stable_find(site, diag) : 0;
}

int kp_adopt_first(
	struct kp_inner_site *site, struct kp_sight *sight, struct kp_diag *diag)
{
	/* What is stable depends on decisions, too. */
	if (site->flags & KP_SITE_STABLE)
		return 0;
	return look_with(site, kp_sight_share(sight), diag);
}
