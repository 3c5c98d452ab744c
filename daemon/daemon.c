/* SPDX-License-Identifier: MIT */
/* The daemon's start, its service and its end. */
#include "daemon/daemon.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "daemon/application/attached.h"
#include "daemon/application/control.h"
#include "daemon/defaults.h"
#include "daemon/devices.h"
#include "daemon/event.h"
#include "daemon/history/collect.h"
#include "daemon/history/history.h"
#include "daemon/incident/death.h"
#include "daemon/incident/incidents.h"
#include "daemon/log_change.h"
#include "daemon/monitor.h"
#include "daemon/options.h"
#include "daemon/pipeline/failures.h"
#include "daemon/pipeline/keys.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/pipeline/pool.h"
#include "daemon/scan/index.h"
#include "daemon/scan/index_save.h"
#include "daemon/scan/inputs.h"
#include "daemon/scan/scan.h"
#include "daemon/scan/watch.h"
#include "daemon/service/service.h"
#include "daemon/service/signals.h"
#include "daemon/socket/disposal.h"
#include "daemon/socket/idl.h"
#include "daemon/socket/server.h"
#include "daemon/socket/turns.h"
#include "daemon/state/decision.h"
#include "daemon/state/state.h"
#include "daemon/trying.h"
#include "lib/base/build.h"
#include "lib/base/version.h"
#include "lib/protocol/interface.h"

enum {
	ENDING_MS = 1800, /* then what still hangs is left behind; the pool needs 500 */
	SOON_MS = 50,	  /* plugins come and go: nobody waits for the table */
};

int64_t daemon_now(void)
{
	return (int64_t)time(NULL);
}

/* ---- changes ---- */

const struct kp_table *daemon_table(struct daemon *daemon)
{
	struct kp_diag diag;
	if (decision_catch_up(daemon, &diag) < 0 ||
		generation_publish(&daemon->generation, daemon->registry, &diag) < 0)
		log_diag(&daemon->log, LOG_ERROR, &diag);
	event_generation(daemon);
	attached_follow(daemon->attached);
	return &daemon->generation.table;
}

/* A table that still lacks verdicts is not worth starting from. */
static void keep_table(struct daemon *daemon)
{
	if (!scan_has_settled(daemon->scan) ||
		kp_registry_is_pending(daemon->registry, NULL))
		return;
	daemon_table(daemon);
	if (daemon->kept == daemon->generation.number)
		return;
	daemon->kept = daemon->generation.number;
	state_keep_table(daemon->state, daemon->generation.table.bytes,
		daemon->generation.table.size);
	index_save_later(daemon->index);
}

static void on_soon(uv_timer_t *timer)
{
	daemon_table(timer->data);
}

void daemon_changed(struct daemon *daemon)
{
	if (daemon->closing)
		return;
	keep_table(daemon);
	/*
	 * Those who watch, and applications, learn of a generation when there is one, not
	 * when one asks; of many changes at a time once.
	 */
	if ((monitors_are_there(daemon->monitors) ||
		    attached_are_there(daemon->attached)) &&
		!uv_is_active((uv_handle_t *)&daemon->soon))
		(void)uv_timer_start(&daemon->soon, on_soon, SOON_MS, 0);
	collector_look(daemon->collector);
	service_look(daemon->service);
	waits_look(daemon);
}

static void on_identity_kept(void *context, const struct kp_diag *diag)
{
	struct daemon *daemon = context;
	if (diag)
		log_diag(&daemon->log, LOG_ERROR, diag);
}

void daemon_identify(struct daemon *daemon)
{
	struct kp_diag diag;
	bool changed = false;

	if (daemon->closing)
		return;
	if (kp_registry_identify(daemon->registry, &daemon->decisions, &changed) < 0)
		kp_diag_no_memory(&diag);
	else if (!changed || state_keep_decisions(daemon->state, &daemon->decisions,
				     on_identity_kept, daemon, &diag) == 0)
		return;
	log_diag(&daemon->log, LOG_ERROR, &diag);
}

static void on_change(void *context, const struct kp_change *change)
{
	struct daemon *daemon = context;

	if (daemon->scan)
		scan_note_change(daemon->scan, change);
	if (change->is_gone)
		failures_forget(daemon->failures, change->plugin);
	if (daemon->history && change->is_gone)
		history_leave(daemon->history, change->plugin);
	else if (daemon->history)
		history_follow(daemon->history, change->plugin);
	event_state(daemon, change);
	log_change(&daemon->log, change);
}

static void on_files_changed(void *context)
{
	struct daemon *daemon = context;
	scan_request(daemon->scan, NULL, NULL);
}

/* ---- the end ---- */

/* Last: as long as anything may still write below it, nobody else takes its lock. */
static void close_state(struct daemon *daemon)
{
	state_close(daemon->state);
	daemon->state = NULL;
}

static void on_pool_closed(void *context)
{
	struct daemon *daemon = context;
	daemon->pool = NULL;
	close_state(daemon);
}

static void on_pipeline_closed(void *context)
{
	struct daemon *daemon = context;
	daemon->pipeline = NULL;
	pool_close(daemon->pool, on_pool_closed, daemon);
}

/* A read that the kernel does not give back must not keep the machine from going down. */
static void on_guard(uv_timer_t *timer)
{
	struct daemon *daemon = timer->data;
	log_line(&daemon->log, LOG_WARNING, "a file operation hangs; ending without it");
	_exit(1);
}

static void close_everything(struct daemon *daemon)
{
	daemon->closing = true;
	(void)uv_timer_stop(&daemon->soon);
	service_close(daemon->service);
	daemon->service = NULL;
	server_close(daemon->server);
	daemon->server = NULL;
	attached_close(daemon->attached);
	deaths_close(daemon->deaths);
	incidents_close(daemon->incidents);
	history_close(daemon->history);
	collector_close(daemon->collector);
	watch_close(daemon->watch);
	daemon->watch = NULL;
	scan_close(daemon->scan);
	index_save_close(daemon->index);
	devices_close(daemon->devices);
	/* Still caught, and no reason to go on: asking twice breaks nothing off. */
	signals_rest(daemon);
	if (daemon->pipeline)
		pipeline_close(daemon->pipeline, on_pipeline_closed, daemon);
	else if (daemon->pool)
		pool_close(daemon->pool, on_pool_closed, daemon);
	else
		close_state(daemon);
	(void)uv_timer_start(&daemon->guard, on_guard, ENDING_MS, 0);
	uv_unref((uv_handle_t *)&daemon->guard);
}

static void daemon_finish(struct daemon *daemon)
{
	uv_close((uv_handle_t *)&daemon->guard, NULL);
	disposal_close(daemon->disposal);
	turns_close(daemon->turns);
	uv_close((uv_handle_t *)&daemon->soon, NULL);
	signals_close(daemon);
	(void)uv_run(&daemon->loop, UV_RUN_DEFAULT);
	(void)uv_loop_close(&daemon->loop);
	scan_free(daemon->scan);
	index_save_free(daemon->index);
	json_decref(daemon->failures);
	free(daemon->loaded_dir);
	devices_free(daemon->devices);
	monitors_free(daemon->monitors);
	events_free(daemon->events);
	attached_free(daemon->attached);
	deaths_free(daemon->deaths);
	incidents_free(daemon->incidents);
	history_free(daemon->history);
	collector_free(daemon->collector);
	generation_finish(&daemon->generation);
	control_free(daemon->control);
	kp_registry_free(daemon->registry);
	kp_decisions_finish(&daemon->decisions);
	kp_families_finish(&daemon->families);
	kp_platform_finish(&daemon->platform);
	kp_diags_finish(&daemon->warnings);
	kp_diags_finish(&daemon->lost);
	free(daemon->platform_text);
	index_free(daemon->known);
	idl_free(daemon->idl);
}

void daemon_end(struct daemon *daemon, const char *why)
{
	if (daemon->closing)
		return;
	log_line(&daemon->log, LOG_INFO, "%s: ending", why);
	close_everything(daemon);
}

/* ---- the start ---- */

static int read_inputs(struct daemon *daemon, struct kp_diag *diag)
{
	if (inputs_read(daemon->options, &daemon->families, &daemon->platform,
		    &daemon->warnings, diag) < 0)
		return -1;
	inputs_look_at_signing(daemon->options, &daemon->warnings);
	daemon->idl = idl_new(kp_interface_text, diag);
	if (!daemon->idl)
		return -1;
	kp_confinement_ask(&daemon->confinement);
	daemon->platform_text = inputs_platform_key(&daemon->platform);
	return daemon->platform_text ? 0 : kp_diag_no_memory(diag);
}

/*
 * What was taken when other signatures were asked for, or other keys counted, is served
 * to nobody before it was looked at. -1: no memory.
 */
static int check_signing(struct daemon *daemon, struct kp_diag *diag)
{
	struct keys_stamp keys;

	if (keys_stamp(&daemon->options->signing, &daemon->trust, &keys) < 0)
		return kp_diag_no_memory(diag);
	if (!state_is_signed_by(daemon->state, keys.digest, &keys.newest))
		log_line(&daemon->log, LOG_INFO,
			"other signatures are asked for than when the last table was "
			"made, or other keys count: no plugin is served before it was "
			"looked at");
	return 0;
}

/* The last good table serves until the first scan has ended. */
static int restore_table(struct daemon *daemon, struct kp_diag *diag)
{
	struct kp_table table;
	size_t size = 0;
	void *bytes = NULL;

	if (check_signing(daemon, diag) < 0 ||
		state_table(daemon->state, &bytes, &size, &daemon->warnings, diag) < 0)
		return -1;
	if (!bytes)
		return 0;
	int result = kp_registry_restore(daemon->registry, bytes, size, diag);
	free(bytes);
	if (result == 0 && kp_registry_latest(daemon->registry, &table)) {
		daemon->restored = kp_table_generation(&table);
		daemon->generation.number = daemon->restored;
		daemon->known = index_load(daemon, &table);
	}
	if (result == 0 || strcmp(diag->code, "no_memory") == 0)
		return result;
	state_table_is_damaged(daemon->state, diag, &daemon->warnings);
	return 0;
}

static int start_registry(struct daemon *daemon, struct kp_diag *diag)
{
	struct kp_version host;

	history_load(daemon->history, &daemon->warnings);
	if (kp_version_parse(kp_build_version, &host, diag) < 0)
		return -1;
	daemon->registry = kp_registry_new(
		&daemon->families, &daemon->platform, &host, on_change, daemon);
	if (!daemon->registry)
		return kp_diag_no_memory(diag);
	/* Decisions first: what is off is off from the beginning, and said once. */
	if (state_decisions(daemon->state, &daemon->decisions, &daemon->lost, diag) < 0 ||
		kp_registry_decide(
			daemon->registry, &daemon->decisions, daemon_now(), diag) < 0 ||
		restore_table(daemon, diag) < 0)
		return -1;
	/* Most likely what was restored holds: else it is published when asked for. */
	if (daemon->known && generation_resume(&daemon->generation, daemon->registry))
		return 0;
	return generation_publish(&daemon->generation, daemon->registry, diag);
}

static void start_watch(struct daemon *daemon)
{
	struct kp_diag diag;
	daemon->watch = watch_new(&daemon->loop, on_files_changed, daemon, &diag);
	if (!daemon->watch)
		kp_diags_add(&daemon->warnings, &diag);
}

static void log_warnings(struct daemon *daemon, const struct kp_diags *warnings)
{
	for (size_t i = 0; i < warnings->count; i++) {
		log_diag(&daemon->log, LOG_WARNING, &warnings->items[i]);
		event_damage(daemon, &warnings->items[i]);
	}
}

static void on_state_failed(void *context, const struct kp_diag *diag)
{
	struct daemon *daemon = context;
	log_diag(&daemon->log, LOG_ERROR, diag);
}

static int start_events(struct daemon *daemon, struct kp_diag *diag)
{
	daemon->events = events_new();
	daemon->monitors = daemon->events ? monitors_new(daemon) : NULL;
	daemon->failures = json_object();
	daemon->attached = attached_new(daemon);
	daemon->incidents = incidents_new(daemon);
	if (!daemon->monitors || !daemon->failures || !daemon->attached ||
		!daemon->incidents || !(daemon->deaths = deaths_new(daemon)) ||
		!(daemon->disposal =
				disposal_new(&daemon->loop, daemon->options->worker)) ||
		!(daemon->turns = turns_new(&daemon->loop)) ||
		!(daemon->history = history_new(daemon)) ||
		!(daemon->collector = collector_new(daemon)))
		return kp_diag_no_memory(diag);
	daemon->control = control_new(events_boot(daemon->events), diag);
	daemon->generation.control = daemon->control;
	return daemon->control ? 0 : -1;
}

static int start(struct daemon *daemon, struct kp_diag *diag)
{
	const struct options *options = daemon->options;

	if (read_inputs(daemon, diag) < 0)
		return DAEMON_MISCONFIGURED;
	/* Whoever can connect can rely on an orderly end. */
	if (signals_start(daemon, diag) < 0 || start_events(daemon, diag) < 0 ||
		state_open(&daemon->loop, options->state_dir, options->system,
			&daemon->state, diag) < 0 ||
		server_open(daemon, &daemon->server, diag) < 0 ||
		start_registry(daemon, diag) < 0 || trying_start(daemon, diag) < 0 ||
		!(daemon->service = service_new(daemon, diag)))
		return DAEMON_FAILED;
	start_watch(daemon);
	incidents_load(daemon->incidents, &daemon->warnings);
	state_on_failed(daemon->state, on_state_failed, daemon);
	log_warnings(daemon, &daemon->warnings);
	log_warnings(daemon, &daemon->lost);
	devices_start(daemon->devices);
	scan_request(daemon->scan, NULL, NULL);
	/* Behind the look, which every start waits for. */
	history_read_on(daemon->history);
	return 0;
}

int daemon_start(
	struct daemon *daemon, const struct options *options, struct kp_diag *diag)
{
	*daemon = (struct daemon){.options = options};
	log_init(&daemon->log, options->log_level, STDERR_FILENO);
	kp_trust_ask(&daemon->trust, options->system);
	(void)umask(options->system ? 0022 : 0077);
	if (uv_loop_init(&daemon->loop) < 0)
		return kp_diag_no_memory(diag);
	(void)uv_timer_init(&daemon->loop, &daemon->guard);
	(void)uv_timer_init(&daemon->loop, &daemon->soon);
	daemon->guard.data = daemon->soon.data = daemon;
	daemon->started_ms = uv_now(&daemon->loop);
	int result = start(daemon, diag);
	if (result == 0) {
		log_line(&daemon->log, LOG_INFO, "listening at %s",
			server_path(daemon->server));
		defaults_tell(options, &daemon->log);
		service_is_ready(daemon->service);
		return 0;
	}
	close_everything(daemon);
	(void)uv_run(&daemon->loop, UV_RUN_DEFAULT);
	daemon_finish(daemon);
	return result;
}

int daemon_run(struct daemon *daemon)
{
	(void)uv_run(&daemon->loop, UV_RUN_DEFAULT);
	daemon_finish(daemon);
	return 0;
}
