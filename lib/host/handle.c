/* SPDX-License-Identifier: MIT */
/* Opening and closing, and what a handle sees of plugind. */
#include "lib/host/handle.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/host/calm.h"
#include "lib/host/fault.h"
#include "lib/host/hold.h"
#include "lib/host/local.h"
#include "lib/host/profile.h"
#include "lib/host/signals.h"
#include "lib/host/site.h"

enum {
	WAIT_MS = 50,		  /* for an announced table, at most */
	PATIENCE_US = 250 * 1000, /* that calls may wait in a row */
	REGAINED = 40,		  /* of the time that goes by, a part in so many */
	WORDS = KP_CONTROL_BITS / 64,
};

/* ---- seeing ------------------------------------------------------------------------ */

static int64_t now_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* The lock is held. */
static int patience_ms(struct kp_handle *handle, int64_t now)
{
	int64_t more = handle->patience_us + (now - handle->patience_at) / REGAINED;

	handle->patience_at = now;
	handle->patience_us = more < PATIENCE_US ? more : PATIENCE_US;
	int64_t ms = handle->patience_us / 1000;
	return ms < WAIT_MS ? (int)ms : WAIT_MS;
}

static uint64_t boot_of(const struct kp_handle *handle)
{
	return __atomic_load_n(&handle->control->boot, __ATOMIC_ACQUIRE);
}

/* A view and the boot that its numbers are of. */
static struct kp_view *get_view(
	struct kp_handle *handle, uint64_t at_least, int wait_ms, uint64_t *boot)
{
	struct kp_view *view = NULL;
	uint64_t after;

	do {
		kp_view_drop(view);
		*boot = boot_of(handle);
		view = kp_attach_view(handle->attach, at_least, wait_ms);
		after = boot_of(handle);
	} while (after != *boot);
	return view;
}

/* Takes the reference to the view; the lock is held. */
static struct kp_sight *renew(struct kp_handle *handle, struct kp_view *view,
	uint64_t boot, struct kp_diag *diag)
{
	struct kp_sight *sight = kp_sight_new(view, ++handle->sights, boot);

	if (!sight) {
		kp_diag_no_memory(diag);
		return NULL;
	}
	if (handle->locals && kp_local_extend(handle, sight, diag) < 0) {
		kp_sight_drop(sight);
		return NULL;
	}
	kp_sight_drop(handle->sight);
	handle->sight = sight;
	return sight;
}

static struct kp_sight *take(struct kp_handle *handle, struct kp_view *view,
	uint64_t boot, struct kp_diag *diag)
{
	struct kp_sight *sight = handle->sight;

	/* Another thread may have brought a newer one. */
	bool newer =
		!sight ||
		(sight->view != view &&
			(sight->boot != boot || sight->generation <= view->generation));
	if (newer)
		sight = renew(handle, view, boot, diag);
	else
		kp_view_drop(view);
	return sight ? kp_sight_share(sight) : NULL;
}

/* The newest that is here already; NULL: one must be waited for. */
static struct kp_sight *have(struct kp_handle *handle, uint64_t at_least, int *wait_ms)
{
	struct kp_sight *sight = NULL;

	(void)pthread_mutex_lock(&handle->lock);
	if (handle->sight &&
		(handle->at_step || (handle->sight->generation >= at_least &&
					    handle->sight->boot == boot_of(handle))))
		sight = kp_sight_share(handle->sight);
	else if (*wait_ms == KP_AS_PATIENCE_ALLOWS)
		*wait_ms = patience_ms(handle, now_us());
	(void)pthread_mutex_unlock(&handle->lock);
	return sight;
}

struct kp_sight *kp_handle_sight(
	struct kp_handle *handle, int wait_ms, struct kp_diag *diag)
{
	uint64_t at_least = __atomic_load_n(&handle->control->view, __ATOMIC_ACQUIRE);
	struct kp_sight *sight = have(handle, at_least, &wait_ms);

	return sight ? sight : kp_handle_newest(handle, wait_ms, diag);
}

struct kp_sight *kp_handle_newest(
	struct kp_handle *handle, int wait_ms, struct kp_diag *diag)
{
	uint64_t at_least = __atomic_load_n(&handle->control->view, __ATOMIC_ACQUIRE);
	struct kp_sight *sight;
	uint64_t boot;
	int64_t from = now_us();
	struct kp_view *view = get_view(handle, at_least, wait_ms, &boot);
	(void)pthread_mutex_lock(&handle->lock);
	handle->patience_us -= now_us() - from;
	if (handle->patience_us < 0)
		handle->patience_us = 0;
	sight = take(handle, view, boot, diag);
	(void)pthread_mutex_unlock(&handle->lock);
	return sight;
}

void kp_handle_forget_sight(struct kp_handle *handle)
{
	(void)pthread_mutex_lock(&handle->lock);
	kp_sight_drop(handle->sight);
	handle->sight = NULL;
	(void)pthread_mutex_unlock(&handle->lock);
}

bool kp_handle_bit(
	const struct kp_handle *handle, const struct kp_sight *sight, uint32_t number)
{
	if (number >= KP_CONTROL_BITS || sight->boot != boot_of(handle))
		return false;
	if (handle->at_step)
		return __atomic_load_n(&handle->bits[number / 64], __ATOMIC_RELAXED) >>
			       (number % 64) &
		       1;
	return kp_control_is_off(handle->control, number);
}

bool kp_handle_is_off(
	const struct kp_handle *handle, const struct kp_sight *sight, size_t kernel)
{
	return kp_handle_bit(handle, sight, kp_sight_number(sight, kernel));
}

void kp_handle_obeys(struct kp_handle *handle, uint64_t generation)
{
	__atomic_store_n(&handle->adopted, generation, __ATOMIC_RELAXED);
	kp_attach_obeys(handle->attach, generation);
}

void kp_handle_touch(struct kp_handle *handle, const char *operation)
{
	(void)pthread_mutex_lock(&handle->sites_lock);
	for (struct kp_inner_site *site = handle->sites; site; site = site->next) {
		if (operation && strcmp(site->request.operation, operation) != 0)
			continue;
		kp_site_touch(site);
	}
	(void)pthread_mutex_unlock(&handle->sites_lock);
}

struct kp_open_device *kp_handle_device(struct kp_handle *handle, uint32_t id)
{
	(void)pthread_mutex_lock(&handle->lock);
	struct kp_open_device *device = handle->devices;
	while (device && device->id != id)
		device = device->next;
	(void)pthread_mutex_unlock(&handle->lock);
	return device;
}

/* ---- opening ----------------------------------------------------------------------- */

/* A newer table is here: sites that decided by the one before decide again. */
static void changed(void *context)
{
	struct kp_handle *handle = context;

	if (!handle->at_step)
		kp_handle_touch(handle, NULL);
}

static void log_attach(void *context, int level, const char *text)
{
	struct kp_handle *handle = context;

	kp_log(&handle->log, (enum kp_log_level)level, "%s", text);
}

static struct kp_handle *handle_new(const struct kp_options *options)
{
	struct kp_handle *handle = calloc(1, sizeof(*handle));
	struct kp_open_device *cpu = calloc(1, sizeof(*cpu));

	if (!handle || !cpu) {
		free(handle);
		free(cpu);
		return NULL;
	}
	cpu->device = (struct kp_device){
		KP_SIZED(struct kp_device), .type = KP_DEVICE_CPU, .id = 0};
	memcpy(cpu->wanted, "cpu", sizeof("cpu"));
	handle->devices = cpu;
	handle->forks = kp_thread_forks();
	handle->at_step = options->flags & KP_ADOPT_AT_STEP;
	handle->patience_us = PATIENCE_US;
	handle->patience_at = now_us();
	handle->environment.level = KP_LOG_NONE;
	kp_contracts_init(&handle->contracts);
	kp_exclude_init(&handle->exclude);
	kp_reports_init(&handle->reports);
	kp_breakers_init(&handle->breakers);
	(void)pthread_mutex_init(&handle->sites_lock, NULL);
	(void)pthread_mutex_init(&handle->lock, NULL);
	return handle;
}

static void warn_unknown(struct kp_handle *handle)
{
	struct kp_diag diag;
	struct kp_sight *sight = handle->environment.count > 0
					 ? kp_handle_sight(handle, WAIT_MS, &diag)
					 : NULL;

	for (size_t i = 0; sight && i < handle->environment.count; i++)
		if (kp_environment_is_unknown(
			    &sight->table, handle->environment.names[i], &diag))
			kp_log(&handle->log, KP_LOG_WARNING, "%s", diag.message);
	kp_sight_drop(sight);
}

static int connect(
	struct kp_handle *handle, const struct kp_options *options, struct kp_diag *diag)
{
	const struct kp_attach_options attach = {
		.socket = options->socket,
		.name = options->name,
		.no_daemon = options->flags & KP_NO_DAEMON,
		.changed = changed,
		.log = log_attach,
		.context = handle,
	};

	if (kp_attach_new(&attach, &handle->attach, diag) < 0)
		return -1;
	kp_handle_watch_forks(handle);
	handle->control = kp_attach_control(handle->attach);
	handle->slots = handle->services.slots = kp_attach_slots(handle->attach);
	handle->has_signals = !(options->flags & KP_NO_SIGNALS) &&
			      kp_signals_begin(kp_slots_told(handle->slots));
	return 0;
}

/* What a step handle obeys until its first step. */
static int first_step(struct kp_handle *handle, struct kp_diag *diag)
{
	if (!handle->at_step)
		return 0;
	handle->bits = calloc(WORDS, sizeof(*handle->bits));
	if (!handle->bits)
		return kp_diag_no_memory(diag);
	kp_step_take(handle);
	return 0;
}

static int open_handle(
	struct kp_handle *handle, const struct kp_options *options, struct kp_diag *diag)
{
	handle->log = (struct kp_log){options->log, options->log_context, KP_LOG_NONE};
	if (kp_environment_read(&handle->environment, diag) < 0)
		return -1;
	handle->log.most = handle->environment.level;
	kp_log_set_process(handle->environment.level);
	if (kp_services_init(&handle->services, options->threads, &handle->log, diag) < 0)
		return -1;
	if (connect(handle, options, diag) < 0 || first_step(handle, diag) < 0)
		return -1;
	warn_unknown(handle);
	kp_handle_obeys(handle, kp_control_generation(handle->control));
	return 0;
}

/* Of the caller's struct, which may be an older one, what it has. */
static void read_options(const struct kp_options *from, struct kp_options *options)
{
	*options = (struct kp_options){.size = 0};
	if (from && from->size > 0)
		memcpy(options, from,
			from->size < sizeof(*options) ? from->size : sizeof(*options));
}

int kp_open(const struct kp_options *from, struct kp_handle **out, struct kp_error *error)
{
	owned_calm calm = kp_calm_begin();
	struct kp_options options;
	struct kp_diag diag;

	read_options(from, &options);
	if (options.flags & 0xffffu &
		~(unsigned)(KP_NO_DAEMON | KP_ADOPT_AT_STEP | KP_NO_SIGNALS))
		return kp_fault_say(error, KP_INVALID,
			"kp_options.flags has 0x%x, this libkplug knows no such flag",
			options.flags);
	struct kp_handle *handle = kp_thread_init() ? handle_new(&options) : NULL;
	if (!handle)
		return kp_fault_say(error, KP_NO_MEMORY, "memory is exhausted");
	if (open_handle(handle, &options, &diag) < 0) {
		kp_close(handle);
		return kp_fault(error, &diag);
	}
	*out = handle;
	return KP_OK;
}

static void free_devices(struct kp_open_device *device)
{
	while (device) {
		struct kp_open_device *next = device->next;
		free(device);
		device = next;
	}
}

void kp_close(struct kp_handle *handle)
{
	owned_calm calm = kp_calm_begin();
	if (!handle)
		return;
	/* Locks and threads are the parent's: all else is left as it is. */
	if (kp_handle_is_forked(handle)) {
		if (handle->attach)
			kp_attach_forked(handle->attach);
		return;
	}
	kp_thread_end_watch(&handle->watch);
	kp_holds_free(handle);
	while (handle->sites)
		kp_site_free(&handle->sites->front);
	kp_services_finish(&handle->services);
	kp_reports_finish(&handle->reports);
	if (handle->has_signals)
		kp_signals_end(kp_slots_told(handle->slots));
	if (handle->slots && kp_thread_leave(handle->slots))
		kp_attach_leave_slots(handle->attach);
	kp_attach_free(handle->attach);
	kp_sight_drop(handle->sight);
	kp_contracts_finish(&handle->contracts);
	kp_scopes_finish(&handle->scopes);
	kp_locals_free(handle->locals);
	kp_profilers_free(handle);
	free_devices(handle->devices);
	kp_exclude_finish(&handle->exclude);
	kp_breakers_finish(&handle->breakers);
	kp_environment_finish(&handle->environment);
	free(handle->bits);
	(void)pthread_mutex_destroy(&handle->sites_lock);
	(void)pthread_mutex_destroy(&handle->lock);
	free(handle);
}

uint64_t kp_generation(const struct kp_handle *handle)
{
	if (!handle->at_step && !kp_handle_is_forked(handle))
		return kp_control_generation(handle->control);
	return __atomic_load_n(&handle->adopted, __ATOMIC_RELAXED);
}

int kp_is_attached(const struct kp_handle *handle)
{
	return !kp_handle_is_forked(handle) && kp_attach_is_there(handle->attach);
}
