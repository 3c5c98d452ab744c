/* SPDX-License-Identifier: MIT */
/*
 * A site decides under its lock and shows what it found by words that are read without:
 * entries behind a sequence, the rung, and last the generation.
 */
#include "lib/host/resolve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/host/adopt.h"
#include "lib/host/calm.h"
#include "lib/host/entries.h"
#include "lib/host/view.h"
#include "lib/table/table_read.h"

enum { TRIES = 4096 };

/* ---- what is off for this site ------------------------------------------------------
 */

static bool is_off_here(const struct kp_inner_site *site, const struct kp_sight *sight,
	size_t kernel, struct kp_off *off)
{
	struct kp_diag why;

	if (!kp_exclude_has(&site->handle->exclude, &sight->table, kernel, site->device,
		    off ? &why : NULL) &&
		!kp_breaker_is_open(&site->handle->breakers, &sight->table, kernel,
			site->device, off ? &why : NULL))
		return false;
	if (off) {
		*off = (struct kp_off){.code = why.code, .source = "process"};
		(void)snprintf(off->message, sizeof(off->message), "%.250s", why.message);
	}
	return true;
}

static bool say(struct kp_off *off, const char *code, const char *source,
	const char *format, const char *name)
{
	if (off) {
		*off = (struct kp_off){.code = code, .source = source};
		(void)snprintf(off->message, sizeof(off->message), format, name);
	}
	return true;
}

static bool can_capture(const struct kp_table *table, size_t kernel)
{
	const unsigned char *profile =
		kp_table_profile(table, kp_table_kernel(table, kernel));

	return kp_load32(profile + KP_PROFILE_FLAGS) & KP_FLAG_CAPTURABLE;
}

bool kp_resolve_is_off(const struct kp_inner_site *site, const struct kp_sight *sight,
	size_t kernel, struct kp_off *off)
{
	const struct kp_handle *handle = site->handle;
	const char *name;

	if (kp_handle_is_off(handle, sight, kernel))
		return say(off, "turned_off", "daemon",
			"turned off since this table was published%s", "");
	const char *why = kp_view_without(sight->view, &sight->table, kernel);
	if (why)
		return say(off, "quarantined", "daemon", "%s", why);
	if (handle->environment.count > 0 &&
		(name = kp_environment_disables(
			 &handle->environment, &sight->table, kernel)))
		return say(off, "disabled_by_environment", "environment",
			"KPLUG_DISABLE has %s", name);
	if (site->flags & KP_SITE_CAPTURED && !can_capture(&sight->table, kernel))
		return say(off, "not_capturable", "request", "calls are captured here%s",
			"");
	return is_off_here(site, sight, kernel, off);
}

static bool overlay_is_off(
	void *context, const struct kp_table *table, size_t kernel, struct kp_off *off)
{
	const struct kp_inner_site *site = context;

	(void)table;
	if (site->stable_out && kernel < site->n_stable && site->stable_out[kernel])
		return say(off, "not_stable", "request",
			"another kernel would run for some extents of the site%s", "");
	return kp_resolve_is_off(site, site->sight, kernel, off);
}

/* ---- the request ------------------------------------------------------------------- */

static void set_shape(struct kp_inner_site *site, const int64_t *dims)
{
	const struct kp_family *family = &site->contract->family;
	struct kp_shape *shape = &site->request.shape;

	shape->count = 0;
	for (size_t i = 0; site->contract->described && i < family->dims.count; i++)
		if (dims && dims[i] >= 0) {
			shape->dims[shape->count].name = family->dims.items[i];
			shape->dims[shape->count++].extent = dims[i];
		}
}

struct kp_request *kp_resolve_request(
	struct kp_inner_site *site, const int64_t *dims, const char *choice)
{
	struct kp_request *request = &site->request;

	site->overlay = (struct kp_overlay){site, overlay_is_off};
	request->overlay = &site->overlay;
	request->overrides[KP_OVERRIDE_SCOPE] = choice ? choice : site->scope;
	request->overrides[KP_OVERRIDE_ENVIRONMENT] = site->environment;
	set_shape(site, dims);
	return request;
}

/* ---- deciding ---------------------------------------------------------------------- */

/* Whatever cannot be loaded here is left out, and the next in rank is asked for. */
static bool leave_out(struct kp_inner_site *site, size_t kernel, struct kp_diag *why)
{
	char id[KP_KERNEL_ID_BYTES];

	kp_log(&site->handle->log, KP_LOG_WARNING, "%s is not used in this process: %s",
		kp_table_kernel_id(&site->sight->table, kernel, id, sizeof(id)),
		why->message);
	return kp_exclude_add(
		&site->handle->exclude, &site->sight->table, kernel, site->device, why);
}

static int select_one(struct kp_inner_site *site, const int64_t *dims, const char *choice,
	size_t *kernel, struct kp_diag *diag)
{
	struct kp_request *request = kp_resolve_request(site, dims, choice);
	struct kp_decision decision;

	if (kp_select(&site->sight->table, request, &decision, diag) < 0)
		return -1;
	*kernel = decision.selected;
	kp_decision_finish(&decision);
	if (*kernel != SIZE_MAX)
		return 0;
	return kp_diag_set(diag, "nothing_eligible", request->operation,
		"no kernel of %s is eligible at the site %s; kp_site_why says why not",
		request->operation, site->label[0] ? site->label : "(without a label)");
}

int kp_resolve_choose(struct kp_inner_site *site, const int64_t *dims, const char *choice,
	const struct kp_inner_rung **rung, struct kp_diag *diag)
{
	struct kp_diag why;
	size_t kernel;

	*rung = NULL;
	for (int i = 0; i < TRIES; i++) {
		if (select_one(site, dims, choice, &kernel, diag) < 0)
			return -1;
		if (kp_rung_get(site, site->sight, kernel, rung, &why) == 0)
			return 0;
		/* No fault of the kernel's: a later call tries it again. */
		if (strcmp(why.code, "no_memory") == 0 || !leave_out(site, kernel, &why))
			break;
	}
	return kp_diag_no_memory(diag);
}

/* ---- keys ------------------------------------------------------------------------- */

static struct kp_entry_key key_of(
	const struct kp_inner_site *site, const int64_t *dims, const char *choice)
{
	const struct kp_ladder *ladder = __atomic_load_n(&site->ladder, __ATOMIC_ACQUIRE);

	return (struct kp_entry_key){
		ladder, ladder && dims ? kp_ladder_mask(ladder, dims) : 0, choice};
}

/* ---- bringing up to date ----------------------------------------------------------- */

static void take_scope(struct kp_inner_site *site)
{
	struct kp_handle *handle = site->handle;

	(void)pthread_mutex_lock(&handle->lock);
	site->scope = kp_scopes_choice(&handle->scopes, site->request.operation, 0);
	__atomic_store_n(&site->thread_scopes,
		kp_scopes_has_threads(&handle->scopes, site->request.operation),
		__ATOMIC_RELAXED);
	(void)pthread_mutex_unlock(&handle->lock);
}

/* Does every call run the same one, whatever its dims and its thread? */
static bool has_one(const struct kp_inner_site *site)
{
	return site->ladder->count == 0 && !site->ladder->by_dims &&
	       !__atomic_load_n(&site->thread_scopes, __ATOMIC_RELAXED);
}

/* May calls take it without a look at their arguments? */
static bool is_inline(const struct kp_inner_site *site, const struct kp_inner_rung *rung)
{
	return has_one(site) && site->flags & KP_SITE_CHECKED &&
	       !kp_breakers_watch(&site->handle->breakers, site->request.operation) &&
	       !kp_guard_is_on(&site->guard) &&
	       !__atomic_load_n(&site->handle->profiler, __ATOMIC_RELAXED) &&
	       !kp_rung_is_slow(rung) && !kp_device_is_lost(site->device);
}

/* The rung first: whoever sees the generation finds it. */
static void show(struct kp_inner_site *site, const struct kp_inner_rung *rung)
{
	unsigned touched = __atomic_load_n(&site->touched, __ATOMIC_SEQ_CST);
	uint64_t decided = __atomic_load_n(&site->decided, __ATOMIC_SEQ_CST);

	if (!is_inline(site, rung))
		return;
	__atomic_store_n(&site->front.rung, &rung->front, __ATOMIC_RELAXED);
	__atomic_store_n(&site->front.seen, decided, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&site->touched, __ATOMIC_SEQ_CST) != touched)
		__atomic_store_n(&site->front.seen, KP_SITE_TOUCHED, __ATOMIC_SEQ_CST);
}

/* Calls that were there are decided anew; whether any runs another kernel. */
static bool decide_again(struct kp_inner_site *site, const struct kp_entry_of *before)
{
	bool changed = false;
	struct kp_diag why;

	for (size_t i = 0; i < KP_ENTRIES; i++) {
		const struct kp_inner_rung *rung;
		if (!before[i].used)
			continue;
		struct kp_entry_key key = key_of(site, before[i].dims, before[i].choice);
		if (kp_entries_find(site, &key))
			continue;
		if (kp_resolve_choose(
			    site, before[i].dims, before[i].choice, &rung, &why) < 0) {
			changed = true;
			continue;
		}
		changed |= rung != before[i].rung;
		kp_entries_add(site, &key, before[i].dims, rung);
	}
	return changed;
}

static int refresh(struct kp_inner_site *site, bool *changed, struct kp_diag *diag)
{
	struct kp_entry_of *before = NULL;

	take_scope(site);
	if (kp_adopt_newest(site, diag) < 0)
		return -1;
	kp_guard_follow(site);
	if (changed && (before = malloc(sizeof(site->entries))))
		memcpy(before, site->entries, sizeof(site->entries));
	kp_entries_clear(site);
	if (before)
		*changed = decide_again(site, before);
	free(before);
	return 0;
}

/* The lock is held. */
static int refresh_locked(
	struct kp_inner_site *site, uint64_t *now, bool *changed, struct kp_diag *diag)
{
	unsigned touched = __atomic_load_n(&site->touched, __ATOMIC_SEQ_CST);

	/* Somebody else was here meanwhile. */
	if (__atomic_load_n(&site->decided, __ATOMIC_RELAXED) == *now)
		return 0;
	/* What is in force now, not a moment ago. */
	*now = __atomic_load_n(site->front.now, __ATOMIC_ACQUIRE);
	__atomic_store_n(&site->front.seen, KP_SITE_TOUCHED, __ATOMIC_RELAXED);
	__atomic_store_n(&site->only, NULL, __ATOMIC_RELAXED);
	if (refresh(site, changed, diag) < 0)
		return -1;
	__atomic_store_n(&site->decided, *now, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&site->touched, __ATOMIC_SEQ_CST) != touched)
		__atomic_store_n(&site->decided, KP_SITE_TOUCHED, __ATOMIC_SEQ_CST);
	return 0;
}

int kp_resolve_refresh(
	struct kp_inner_site *site, uint64_t now, bool *changed, struct kp_diag *diag)
{
	owned_calm calm = kp_calm_begin();
	(void)pthread_mutex_lock(&site->lock);
	int result = refresh_locked(site, &now, changed, diag);
	(void)pthread_mutex_unlock(&site->lock);
	if (result == 0)
		kp_handle_obeys(site->handle, now);
	return result;
}

/* ---- for calls --------------------------------------------------------------------- */

/* Finds or decides; the lock is held. NULL: *diag says why. */
static const struct kp_inner_rung *decide(struct kp_inner_site *site, const int64_t *dims,
	const char *choice, struct kp_diag *diag)
{
	struct kp_entry_key key = key_of(site, dims, choice);
	const struct kp_inner_rung *rung = kp_entries_find(site, &key);

	if (rung || kp_resolve_choose(site, dims, choice, &rung, diag) < 0)
		return rung;
	kp_entries_add(site, &key, dims, rung);
	if (has_one(site))
		__atomic_store_n(&site->only, rung, __ATOMIC_RELEASE);
	show(site, rung);
	return rung;
}

static const char *thread_choice(struct kp_inner_site *site)
{
	struct kp_handle *handle = site->handle;

	if (!__atomic_load_n(&site->thread_scopes, __ATOMIC_RELAXED))
		return NULL;
	(void)pthread_mutex_lock(&handle->lock);
	const char *choice = kp_scopes_choice(
		&handle->scopes, site->request.operation, kp_thread_number());
	(void)pthread_mutex_unlock(&handle->lock);
	return choice;
}

const struct kp_inner_rung *kp_resolve(
	struct kp_inner_site *site, const int64_t *dims, struct kp_diag *diag)
{
	const struct kp_inner_rung *rung = __atomic_load_n(&site->only, __ATOMIC_ACQUIRE);

	if (rung)
		return rung;
	const char *choice = thread_choice(site);
	struct kp_entry_key key = key_of(site, dims, choice);
	rung = kp_entries_find(site, &key);
	if (rung)
		return rung;
	owned_calm calm = kp_calm_begin();
	(void)pthread_mutex_lock(&site->lock);
	rung = site->sight ? decide(site, dims, choice, diag) : NULL;
	(void)pthread_mutex_unlock(&site->lock);
	return rung;
}

const struct kp_inner_rung *kp_resolve_anew(struct kp_inner_site *site,
	const int64_t *dims, const struct kp_inner_rung *instead)
{
	owned_calm calm = kp_calm_begin();
	const char *choice = thread_choice(site);
	const struct kp_inner_rung *rung;
	struct kp_diag why;

	(void)pthread_mutex_lock(&site->lock);
	if (!site->sight || kp_resolve_choose(site, dims, choice, &rung, &why) < 0)
		rung = instead;
	(void)pthread_mutex_unlock(&site->lock);
	return rung;
}
