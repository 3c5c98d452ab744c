/* SPDX-License-Identifier: MIT */
/* Status, Version and Layers: how the daemon is. */
#include "daemon/method/method.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/daemon.h"
#include "daemon/history/collect.h"
#include "daemon/history/history.h"
#include "daemon/devices.h"
#include "daemon/incident/incidents.h"
#include "daemon/options.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/pipeline/suspects.h"
#include "daemon/pipeline/pool.h"
#include "daemon/scan/scan.h"
#include "daemon/socket/server.h"
#include "daemon/socket/wait.h"
#include "daemon/state/guarding.h"
#include "kplug/plugin.h"
#include "lib/base/build.h"
#include "lib/base/json.h"
#include "lib/base/place.h"
#include "lib/protocol/message.h"
#include "lib/table/table_read.h"

enum { FAILING_S = 3600 };

/* ---- Status ---- */

static json_t *counts_json(const size_t *counts)
{
	json_t *object = json_object();
	for (int i = 0; i < KP_STATES; i++)
		(void)json_object_set_new(object, kp_state_name((enum kp_state)i),
			json_integer((json_int_t)counts[i]));
	return object;
}

static json_t *dirs_json(const struct daemon *daemon)
{
	json_t *array = json_array();
	for (size_t i = 0; i < daemon->options->n_manifest_dirs; i++)
		(void)json_array_append_new(
			array, kp_json_clean_string(daemon->options->manifest_dirs[i]));
	return array;
}

static json_t *workers_json(const struct daemon *daemon)
{
	const struct kp_confinement *confinement = &daemon->confinement;
	bool whole = kp_confinement_is_whole(confinement);
	char text[KP_CONFINEMENT_TEXT];
	char all[KP_CONFINEMENT_TEXT + 128];

	(void)snprintf(all, sizeof(all), "%s%s", kp_confinement_text(confinement, text),
		whole || !daemon->options->system
			? ""
			: "; only plugins that belong to root are probed");
	return json_pack("{s:b, s:s, s:I, s:I, s:I}", "confined", whole, "message", all,
		"running", (json_int_t)pool_running(daemon->pool), "started",
		(json_int_t)pool_started(daemon->pool), "lost",
		(json_int_t)pool_lost(daemon->pool));
}

static void add_warning(json_t *array, const char *code, const char *message)
{
	(void)json_array_append_new(
		array, json_pack("{s:s, s:s}", "code", code, "message", message));
}

static void add_warnings(json_t *array, const struct kp_diags *diags)
{
	for (size_t i = 0; i < diags->count; i++) {
		char text[1100];
		kp_diag_text(&diags->items[i], text, sizeof(text));
		add_warning(array, diags->items[i].code, text);
	}
}

/* What is disabled by a name that nobody has. */
static void add_strangers(json_t *array, const struct daemon *daemon)
{
	const struct kp_decisions *decisions = &daemon->decisions;
	for (size_t i = 0; i < decisions->n_disabled; i++) {
		struct kp_diag diag;
		char text[1100];
		const char *name = decisions->disabled[i].name;
		if (kp_registry_resolve(daemon->registry, name, &diag) == 0)
			continue;
		(void)snprintf(
			text, sizeof(text), "%s is disabled, but %s", name, diag.message);
		add_warning(array, "unknown_name", text);
	}
}

/*
 * Off for everybody, and here: one of a library that has gone, or that another has
 * followed, is kept for its return and concerns nobody.
 */
static bool concerns(struct daemon *daemon, const struct kp_quarantine *item)
{
	const struct kp_table *table = daemon_table(daemon);
	size_t count = table ? kp_table_count(table, KP_SECTION_PLUGINS) : 0;

	if (item->who != KP_QUARANTINE_ALL)
		return false;
	for (size_t i = 0; i < count; i++) {
		const char *digest = kp_table_text(
			table, kp_load32(kp_table_record(table, KP_SECTION_PLUGINS, i) +
					 KP_PLUGIN_DIGEST));
		if (digest && item->digest && strcmp(digest, item->digest) == 0)
			return true;
	}
	return false;
}

static bool has_quarantined(struct daemon *daemon)
{
	const struct kp_decisions *decisions = &daemon->decisions;

	for (size_t i = 0; i < decisions->n_quarantined; i++)
		if (concerns(daemon, &decisions->quarantined[i]))
			return true;
	return false;
}

static void add_quarantined(json_t *array, struct daemon *daemon)
{
	const struct kp_decisions *decisions = &daemon->decisions;
	for (size_t i = 0; i < decisions->n_quarantined; i++) {
		const struct kp_quarantine *item = &decisions->quarantined[i];
		char why[KP_QUARANTINE_TEXT];
		char text[600];
		if (!concerns(daemon, item))
			continue;
		(void)snprintf(text, sizeof(text), "%s is quarantined: %s", item->kernel,
			kp_quarantine_text(item, why));
		add_warning(array, "repeated_crashes", text);
	}
}

struct deadly {
	json_t *array;
	const struct daemon *daemon;
};

static void add_deadly(void *context, const struct mark *mark)
{
	const struct deadly *deadly = context;
	char why[MARK_TEXT], text[MARK_TEXT + 128];
	enum kp_state state;

	if (!kp_registry_state(deadly->daemon->registry, mark->plugin, &state) ||
		state != KP_STATE_QUARANTINED)
		return;
	(void)snprintf(text, sizeof(text), "%s is quarantined: %s", mark->plugin,
		mark_text(mark, why));
	add_warning(deadly->array, "deadly_probe", text);
}

static const char *failing_code(const json_t *incident)
{
	const json_t *status =
		json_object_get(json_object_get(incident, "evidence"), "status");

	return json_integer_value(status) == KP_DEVICE_LOST ? "device_lost"
							    : "circuit_open";
}

/* Kernels that kept failing in operators' applications not long ago, devices lost there.
 */
static void add_failing(json_t *array, const struct daemon *daemon)
{
	const struct incidents_question question = {
		.is_operator = true, .kind = "error", .since = daemon_now() - FAILING_S};
	int64_t total;
	json_t *list = incidents_json(daemon->incidents, &question, &total);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *incident = json_array_get(list, i);
		char text[600];
		if (!json_is_true(json_object_get(incident, "operator")))
			continue;
		(void)snprintf(text, sizeof(text), "%s: %.300s (incident %lld)",
			kp_json_text(incident, "kernel"), kp_json_text(incident, "text"),
			(long long)json_integer_value(json_object_get(incident, "id")));
		add_warning(array, failing_code(incident), text);
	}
	json_decref(list);
}

static json_t *warnings_json(struct daemon *daemon)
{
	json_t *array = json_array();
	if (!array)
		return NULL;
	history_settle(daemon->history);
	add_warnings(array, &daemon->warnings);
	add_warnings(array, &daemon->lost);
	add_warnings(array, &scan_manifests(daemon->scan)->warnings);
	add_warnings(array, pipeline_warnings(daemon->pipeline));
	add_quarantined(array, daemon);
	suspects_quarantined(pipeline_suspects(daemon->pipeline), add_deadly,
		&(struct deadly){array, daemon});
	add_failing(array, daemon);
	if (scan_has_settled(daemon->scan))
		add_strangers(array, daemon);
	return array;
}

static json_t *rolled_back_json(const struct daemon *daemon)
{
	const struct kp_decisions *decisions = &daemon->decisions;
	json_t *list = json_array();

	for (size_t i = 0; list && i < decisions->n_rollbacks; i++)
		list = kp_json_append(list, kp_rollback_json(&decisions->rollbacks[i]));
	return list;
}

static json_t *status_json(struct daemon *daemon)
{
	const struct options *options = daemon->options;
	uint64_t up_ms = uv_now(&daemon->loop) - daemon->started_ms;
	size_t counts[KP_STATES];

	json_int_t kernels =
		(json_int_t)kp_registry_served(daemon->registry, daemon_table(daemon));
	kp_registry_states(daemon->registry, counts);
	bool degraded = has_quarantined(daemon) || counts[KP_STATE_REJECTED] ||
			counts[KP_STATE_FAILED] || counts[KP_STATE_QUARANTINED] ||
			counts[KP_STATE_MISSING] || daemon->lost.count;
	return json_pack(
		"{s:s, s:i, s:I, s:s, s:o, s:s, s:b, s:I, s:o, s:I, s:I, s:o, s:o, "
		"s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
		"version", kp_build_version, "pid", (int)getpid(), "uptime_s",
		(json_int_t)(up_ms / 1000), "mode",
		options->system ? "system" : "private", "socket",
		kp_json_clean_string(server_path(daemon->server)), "state",
		scan_has_settled(daemon->scan) ? "ready" : "starting", "degraded",
		degraded, "generation", (json_int_t)daemon->generation.number, "plugins",
		counts_json(counts), "kernels", kernels, "clients",
		(json_int_t)server_clients(daemon->server), "pending",
		kp_registry_pending(daemon->registry), "workers", workers_json(daemon),
		"manifest_dirs", dirs_json(daemon), "plugin_dir",
		kp_json_clean_string(options->plugin_dir), "platform",
		kp_platform_json(&daemon->platform), "warnings", warnings_json(daemon),
		"guards", guarding_list(daemon), "rolled_back", rolled_back_json(daemon),
		"store", collector_json(daemon->collector));
}

struct progress {
	uint64_t generation;
};

static bool is_quiet(struct daemon *daemon, void *context)
{
	(void)context;
	return scan_has_settled(daemon->scan) && devices_has_settled(daemon->devices) &&
	       !kp_registry_is_pending(daemon->registry, NULL);
}

static void answer_status(struct daemon *daemon, struct call *call, void *context)
{
	(void)context;
	call_reply(call, status_json(daemon));
}

/* One reply a generation, not one a change that shows nothing. */
static void tell_progress(struct daemon *daemon, struct call *call, void *context)
{
	struct progress *progress = context;

	daemon_table(daemon);
	if (progress->generation == daemon->generation.number)
		return;
	progress->generation = daemon->generation.number;
	call_reply_continues(call, status_json(daemon));
}

static void status(struct daemon *daemon, struct call *call)
{
	struct progress *progress;

	if (!json_is_true(json_object_get(call_parameters(call), "wait"))) {
		answer_status(daemon, call, NULL);
		return;
	}
	progress = calloc(1, sizeof(*progress));
	if (!progress) {
		call_reply(call, NULL);
		return;
	}
	wait_for(daemon, call,
		&(struct wait_request){.timeout_ms = -1,
			.is_over = is_quiet,
			.run = answer_status,
			.context = progress,
			.changed = call_wants_more(call) ? tell_progress : NULL});
}

/* ---- Version and Layers ---- */

static void version(struct daemon *daemon, struct call *call)
{
	char abi[32];

	(void)daemon;
	(void)snprintf(abi, sizeof(abi), "%u.%u", KP_ABI_MAJOR, KP_ABI_MINOR);
	call_reply(call,
		json_pack("{s:s, s:i, s:s, s:s}", "version", kp_build_version, "protocol",
			kp_build_protocol, "abi", abi, "build", "cc " __VERSION__));
}

static bool is_layer(const struct options *options, const char *path)
{
	for (size_t i = 0; i < options->n_manifest_dirs; i++)
		if (strcmp(options->manifest_dirs[i], path) == 0)
			return true;
	return false;
}

/* What a user's daemon reads of the machine is not its user's to write. */
static void layers(struct daemon *daemon, struct call *call)
{
	const struct options *options = daemon->options;
	char *runtime = kp_place_runtime_layer(options->system);

	if (!runtime) {
		call_reply(call, NULL);
		return;
	}
	call_reply(
		call, json_pack("{s:o, s:o, s:o}", "manifest_dirs", dirs_json(daemon),
			      "mask_dir", kp_json_clean_string(options->manifest_dirs[0]),
			      "runtime_dir",
			      is_layer(options, runtime) ? kp_json_clean_string(runtime)
							 : json_null()));
	free(runtime);
}

const struct method method_status[] = {
	{"Status", ROLE_OBSERVER, status},
	{"Version", ROLE_OBSERVER, version},
	{"Layers", ROLE_OBSERVER, layers},
	{NULL, ROLE_ADMIN, NULL},
};
