/* SPDX-License-Identifier: MIT */
/* Closed, open, and tried by one thread; under one lock, which calls that succeed while
 * nothing is watched never see. */
#include "lib/host/breaker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/host/calm.h"
#include "lib/host/report.h"
#include "lib/host/site.h"
#include "lib/host/thread.h"
#include "lib/table/table_read.h"

enum { LATER_MS = 100 }; /* a call that could not try it */

enum state { CLOSED, OPEN, TRIED };

/* One kernel of one stored library on one device. */
struct kp_breaker {
	struct kp_breaker *next;
	char kernel[KP_KERNEL_ID_BYTES];
	char *stored, *operation;
	const void *device;
	enum state state;
	bool is_watched;
	unsigned failures, good; /* in a row */
	int64_t due_ms, pause_ms;
	uint64_t thread; /* that tries it */
	int status;	 /* the last that was not KP_OK */
};

void kp_breakers_init(struct kp_breakers *breakers)
{
	*breakers = (struct kp_breakers){.first = NULL};
	(void)pthread_mutex_init(&breakers->lock, NULL);
}

void kp_breakers_finish(struct kp_breakers *breakers)
{
	while (breakers->first) {
		struct kp_breaker *breaker = breakers->first;
		breakers->first = breaker->next;
		free(breaker->stored);
		free(breaker->operation);
		free(breaker);
	}
	(void)pthread_mutex_destroy(&breakers->lock);
}

/* ---- finding --------------------------------------------------------------------- */

static struct kp_breaker *find(const struct kp_breakers *breakers, const char *kernel,
	const char *stored, const void *device)
{
	struct kp_breaker *at = breakers->first;

	while (at && (at->device != device || strcmp(at->kernel, kernel) != 0 ||
			     strcmp(at->stored, stored) != 0))
		at = at->next;
	return at;
}

/* NULL for want of memory: then the kernel just keeps failing. */
static struct kp_breaker *find_or_add(struct kp_breakers *breakers,
	const struct kp_inner_site *site, const struct kp_inner_rung *rung)
{
	struct kp_breaker *found = find(breakers, rung->name, rung->stored, site->device);

	if (found || !(found = calloc(1, sizeof(*found))))
		return found;
	found->stored = strdup(rung->stored);
	found->operation = strdup(site->request.operation);
	if (!found->stored || !found->operation) {
		free(found->stored);
		free(found->operation);
		free(found);
		return NULL;
	}
	(void)snprintf(found->kernel, sizeof(found->kernel), "%s", rung->name);
	found->device = site->device;
	found->next = breakers->first;
	breakers->first = found;
	return found;
}

bool kp_breakers_watch(struct kp_breakers *breakers, const char *operation)
{
	bool found = false;

	if (__atomic_load_n(&breakers->watched, __ATOMIC_RELAXED) == 0)
		return false;
	(void)pthread_mutex_lock(&breakers->lock);
	for (const struct kp_breaker *at = breakers->first; at && !found; at = at->next)
		found = at->is_watched && strcmp(at->operation, operation) == 0;
	(void)pthread_mutex_unlock(&breakers->lock);
	return found;
}

bool kp_breaker_is_open(struct kp_breakers *breakers, const struct kp_table *table,
	size_t kernel, const void *device, struct kp_diag *why)
{
	const unsigned char *plugin = kp_table_record(table, KP_SECTION_PLUGINS,
		kp_load32(kp_table_kernel(table, kernel) + KP_KERNEL_PLUGIN));
	char id[KP_KERNEL_ID_BYTES];

	if (__atomic_load_n(&breakers->open, __ATOMIC_RELAXED) == 0)
		return false;
	(void)kp_table_kernel_id(table, kernel, id, sizeof(id));
	(void)pthread_mutex_lock(&breakers->lock);
	const struct kp_breaker *found = find(breakers, id,
		kp_table_text(table, kp_load32(plugin + KP_PLUGIN_STORED)), device);
	bool is_open = found && found->state != CLOSED &&
		       !(found->state == TRIED && found->thread == kp_thread_number());
	if (is_open && why)
		kp_diag_set(why, "circuit_open", id,
			"%s kept failing in this process (status %d); it is tried again "
			"every %lld s at first, less often the longer it fails",
			id, found->status, (long long)KP_BREAKER_FIRST_MS / 1000);
	(void)pthread_mutex_unlock(&breakers->lock);
	return is_open;
}

/* ---- trying ---------------------------------------------------------------------- */

struct kp_breaker *kp_breaker_try(struct kp_inner_site *site)
{
	struct kp_breakers *breakers = &site->handle->breakers;
	struct kp_breaker *at = NULL;

	if (__atomic_load_n(&breakers->open, __ATOMIC_RELAXED) == 0)
		return NULL;
	int64_t now = kp_clock_ms();
	(void)pthread_mutex_lock(&breakers->lock);
	for (at = breakers->first; at; at = at->next)
		if (at->state == OPEN && at->due_ms <= now &&
			at->device == site->device &&
			strcmp(at->operation, site->request.operation) == 0)
			break;
	if (at) {
		at->state = TRIED;
		at->thread = kp_thread_number();
	}
	(void)pthread_mutex_unlock(&breakers->lock);
	return at;
}

/* ---- settling -------------------------------------------------------------------- */

/* Is it the kernel that has failed, not its caller, the host, or the device? */
static bool is_failure(int status)
{
	switch (status) {
	case KP_OK:
	case KP_INVALID:
	case KP_UNSUPPORTED:
	case KP_STALE:
	case KP_CANCELLED:
	case KP_DEVICE_LOST:
		return false;
	default:
		return true;
	}
}

static void watch(struct kp_breakers *breakers, struct kp_breaker *breaker, bool wanted)
{
	if (breaker->is_watched == wanted)
		return;
	breaker->is_watched = wanted;
	(void)__atomic_add_fetch(&breakers->watched, wanted ? 1U : -1U, __ATOMIC_RELAXED);
}

static void open_it(struct kp_breakers *breakers, struct kp_breaker *breaker)
{
	int64_t pause = 2 * breaker->pause_ms;

	breaker->pause_ms = pause == 0			 ? KP_BREAKER_FIRST_MS
			    : pause < KP_BREAKER_MOST_MS ? pause
							 : KP_BREAKER_MOST_MS;
	breaker->due_ms = kp_clock_ms() + breaker->pause_ms;
	if (breaker->state == CLOSED)
		(void)__atomic_add_fetch(&breakers->open, 1, __ATOMIC_RELAXED);
	breaker->state = OPEN;
}

static void close_it(struct kp_breakers *breakers, struct kp_breaker *breaker)
{
	breaker->state = CLOSED;
	breaker->failures = breaker->good = 0;
	(void)__atomic_sub_fetch(&breakers->open, 1, __ATOMIC_RELAXED);
}

/* *opened: it was closed, and plugind is to be told. Whether sites decide anew. */
static bool take_failure(struct kp_breakers *breakers, struct kp_breaker *breaker,
	int status, bool *opened)
{
	bool was_watched = breaker->is_watched;

	watch(breakers, breaker, true);
	breaker->status = status;
	breaker->good = 0;
	if (breaker->state != CLOSED || ++breaker->failures < KP_BREAKER_FAILURES)
		return !was_watched;
	open_it(breakers, breaker);
	*opened = true;
	return true;
}

/* Whether sites decide anew: calls may be inline again. */
static bool take_success(struct kp_breakers *breakers, struct kp_breaker *breaker)
{
	if (breaker->state != CLOSED || !breaker->is_watched)
		return false;
	breaker->failures = 0;
	if (++breaker->good < KP_BREAKER_GOOD)
		return false;
	breaker->pause_ms = 0;
	watch(breakers, breaker, false);
	return true;
}

/* Did the trial run what it was for, and how? Whether sites decide anew. */
static bool take_trial(struct kp_breakers *breakers, struct kp_breaker *breaker,
	const struct kp_inner_rung *rung, int status)
{
	if (!rung || strcmp(breaker->kernel, rung->name) != 0) {
		breaker->due_ms = kp_clock_ms() + LATER_MS;
		breaker->state = OPEN;
		return false;
	}
	if (is_failure(status)) {
		breaker->status = status;
		open_it(breakers, breaker);
		return false;
	}
	close_it(breakers, breaker);
	return true;
}

static void report(const struct kp_inner_site *site, const char *kernel, int status)
{
	kp_log(&site->handle->log, KP_LOG_WARNING,
		"%s failed %d times in a row (status %d): it is left out of this process "
		"for a while",
		kernel, KP_BREAKER_FAILURES, status);
	kp_report(site->handle, "error", kernel, site->label,
		"it kept failing and was left out of the process for a while",
		json_pack("{s:i, s:i}", "status", status, "failures in a row",
			KP_BREAKER_FAILURES));
}

void kp_breaker_settle(struct kp_inner_site *site, const struct kp_inner_rung *rung,
	struct kp_breaker *trial, int status)
{
	struct kp_breakers *breakers = &site->handle->breakers;
	bool failed = is_failure(status), opened = false, changed = false;

	if (!failed && !trial &&
		__atomic_load_n(&breakers->watched, __ATOMIC_RELAXED) == 0)
		return;
	owned_calm calm = kp_calm_begin();
	(void)pthread_mutex_lock(&breakers->lock);
	struct kp_breaker *own =
		trial || !rung ? NULL
		: failed       ? find_or_add(breakers, site, rung)
			       : find(breakers, rung->name, rung->stored, site->device);
	if (trial)
		changed = take_trial(breakers, trial, rung, status);
	else if (own && failed)
		changed = take_failure(breakers, own, status, &opened);
	else if (own && status == KP_OK)
		changed = take_success(breakers, own);
	(void)pthread_mutex_unlock(&breakers->lock);
	if (changed)
		kp_handle_touch(site->handle, site->request.operation);
	if (opened)
		report(site, rung->name, status);
}
