/* SPDX-License-Identifier: MIT */
/* From the daemon's state to words, each said once, and again where it was not heard. */
#include "daemon/service/service.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uv.h>

#include "daemon/daemon.h"
#include "daemon/options.h"
#include "daemon/scan/scan.h"
#include "daemon/service/notify.h"
#include "lib/base/text.h"

enum {
	STATUS_BYTES = 256,
	TEXT_BYTES = STATUS_BYTES + 128,
	PROGRESS_MS = 200,   /* between two lines of it */
	PATIENCE_MS = 10000, /* a reload asks so often for ... */
	PATIENCE_S = 60,     /* ... so much time */
	BEATS = 3,	     /* in the time that the watchdog waits: one may be lost */
};

/* STARTING is what the manager takes for granted. */
enum phase { PHASE_STARTING, PHASE_READY, PHASE_RELOADING, PHASE_STOPPING };

struct service {
	struct daemon *daemon;
	struct notify notify;
	uv_timer_t later;    /* what was not heard, or comes too soon after the last */
	uv_timer_t watchdog; /* proves that the loop turns */
	uv_timer_t patience; /* while reloading */
	int open_handles;
	enum phase phase, told;
	char status[STATUS_BYTES]; /* that was told */
	unsigned looks;		   /* of reloads, that have not ended */
};

/* ---- what is said ---- */

/* "plugins: 12 active, 1 failed". */
static void write_states(const size_t *counts, char *text)
{
	size_t used = kp_text_add(text, STATUS_BYTES, 0, "plugins:");
	const char *before = " ";

	for (int i = 0; i < KP_STATES; i++) {
		if (!counts[i])
			continue;
		used = kp_text_add(text, STATUS_BYTES, used, "%s%zu %s", before,
			counts[i], kp_state_name((enum kp_state)i));
		before = ", ";
	}
	if (used == strlen("plugins:"))
		(void)kp_text_add(text, STATUS_BYTES, used, " none");
}

static void write_status(const struct service *service, char *text)
{
	const struct daemon *daemon = service->daemon;
	size_t counts[KP_STATES];
	size_t all = 0;

	kp_registry_states(daemon->registry, counts);
	for (int i = 0; i < KP_STATES; i++)
		all += counts[i];
	if (service->phase == PHASE_STOPPING)
		(void)snprintf(text, STATUS_BYTES, "ending");
	else if (!scan_has_read(daemon->scan))
		(void)snprintf(text, STATUS_BYTES, "reading manifests");
	else if (counts[KP_STATE_PENDING])
		(void)snprintf(text, STATUS_BYTES, "trying plugins: %zu of %zu done",
			all - counts[KP_STATE_PENDING], all);
	else
		write_states(counts, text);
}

static uint64_t monotonic_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static size_t add_phase(enum phase phase, char *text)
{
	switch (phase) {
	case PHASE_READY:
		return kp_text_add(text, TEXT_BYTES, 0, "READY=1\n");
	case PHASE_RELOADING:
		return kp_text_add(text, TEXT_BYTES, 0,
			"RELOADING=1\nMONOTONIC_USEC=%" PRIu64
			"\nEXTEND_TIMEOUT_USEC=%d000000\n",
			monotonic_us(), PATIENCE_S);
	case PHASE_STOPPING:
		return kp_text_add(text, TEXT_BYTES, 0, "STOPPING=1\n");
	case PHASE_STARTING:
		break;
	}
	return 0;
}

static void tell_later(struct service *service);

/* What has not been told. */
static void tell(struct service *service)
{
	char status[STATUS_BYTES], text[TEXT_BYTES] = "";
	size_t used = 0;

	write_status(service, status);
	if (service->phase != service->told)
		used = add_phase(service->phase, text);
	if (strcmp(status, service->status) != 0)
		used = kp_text_add(text, TEXT_BYTES, used, "STATUS=%s\n", status);
	if (used == 0)
		return;
	if (!notify_send(&service->notify, text)) {
		tell_later(service);
		return;
	}
	service->told = service->phase;
	memcpy(service->status, status, sizeof(status));
}

static void on_later(uv_timer_t *timer)
{
	tell(timer->data);
}

static void tell_later(struct service *service)
{
	if (service->phase != PHASE_STOPPING &&
		!uv_is_active((uv_handle_t *)&service->later))
		(void)uv_timer_start(&service->later, on_later, PROGRESS_MS, 0);
}

static bool is_heard(const struct service *service)
{
	return service && service->notify.fd >= 0;
}

void service_is_ready(struct service *service)
{
	if (!is_heard(service))
		return;
	service->phase = PHASE_READY;
	tell(service);
}

/* ---- reloads ---- */

static void on_patience(uv_timer_t *timer)
{
	const struct service *service = timer->data;
	char text[64];

	(void)snprintf(text, sizeof(text), "EXTEND_TIMEOUT_USEC=%d000000", PATIENCE_S);
	(void)notify_send(&service->notify, text);
}

void service_reload(struct service *service)
{
	if (!is_heard(service))
		return;
	service->phase = PHASE_RELOADING;
	tell(service);
	(void)uv_timer_start(&service->patience, on_patience, PATIENCE_MS, PATIENCE_MS);
	service->looks++;
}

void service_has_looked(struct service *service)
{
	if (is_heard(service))
		service->looks--;
}

void service_look(struct service *service)
{
	if (!is_heard(service))
		return;
	if (service->phase != PHASE_RELOADING || service->looks > 0 ||
		kp_registry_is_pending(service->daemon->registry, NULL)) {
		tell_later(service);
		return;
	}
	(void)uv_timer_stop(&service->patience);
	service->phase = PHASE_READY;
	tell(service);
}

/* ---- life ---- */

static void on_watchdog(uv_timer_t *timer)
{
	const struct service *service = timer->data;

	(void)notify_send(&service->notify, "WATCHDOG=1");
}

static void start_timers(struct service *service)
{
	uv_timer_t *const timers[] = {
		&service->later, &service->watchdog, &service->patience};
	uint64_t beat_ms = service->notify.watchdog_us / 1000 / BEATS;

	for (size_t i = 0; i < sizeof(timers) / sizeof(timers[0]); i++) {
		(void)uv_timer_init(&service->daemon->loop, timers[i]);
		timers[i]->data = service;
		service->open_handles++;
	}
	if (service->notify.watchdog_us > 0)
		(void)uv_timer_start(
			&service->watchdog, on_watchdog, 0, beat_ms > 0 ? beat_ms : 1);
}

struct service *service_new(struct daemon *daemon, struct kp_diag *diag)
{
	struct service *service = calloc(1, sizeof(*service));
	struct kp_diag why;

	if (!service) {
		kp_diag_no_memory(diag);
		return NULL;
	}
	service->daemon = daemon;
	service->notify.fd = -1;
	if (daemon->options->transient)
		notify_forget();
	else if (notify_open(&service->notify, &why) < 0)
		log_diag(&daemon->log, LOG_WARNING, &why);
	start_timers(service);
	return service;
}

static void on_closed(uv_handle_t *handle)
{
	struct service *service = handle->data;

	if (--service->open_handles == 0)
		free(service);
}

void service_close(struct service *service)
{
	if (!service)
		return;
	if (is_heard(service)) {
		service->phase = PHASE_STOPPING;
		tell(service);
	}
	notify_close(&service->notify);
	uv_close((uv_handle_t *)&service->later, on_closed);
	uv_close((uv_handle_t *)&service->watchdog, on_closed);
	uv_close((uv_handle_t *)&service->patience, on_closed);
}
