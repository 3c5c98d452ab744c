/* SPDX-License-Identifier: MIT */
/* Quarantines are decisions: made on a copy, in force, then on the disk. */
#include "daemon/incident/quarantine.h"

#include <stdio.h>
#include <string.h>

#include "daemon/daemon.h"
#include "daemon/event.h"
#include "daemon/incident/incidents.h"
#include "daemon/incident/strikes.h"
#include "daemon/options.h"
#include "daemon/state/decision.h"
#include "daemon/state/state.h"
#include "lib/base/json.h"
#include "lib/table/table_read.h"

static const char code[] = "repeated_crashes";

/* ---- deciding -------------------------------------------------------------------- */

static void on_kept(void *context, const struct kp_diag *diag)
{
	struct daemon *daemon = context;

	if (diag)
		log_diag(&daemon->log, LOG_ERROR, diag);
}

/* In force for everybody and every later reply, then on its way to the disk. */
static int commit(struct daemon *daemon, struct kp_decisions *next, struct kp_diag *diag)
{
	if (decision_enforce(daemon, next, diag) < 0)
		return -1;
	int result = state_keep_decisions(
		daemon->state, &daemon->decisions, on_kept, daemon, diag);
	daemon_changed(daemon);
	return result;
}

static void tell(struct daemon *daemon, const struct kp_quarantine *item)
{
	char text[KP_QUARANTINE_TEXT];

	kp_quarantine_text(item, text);
	if (item->who == KP_QUARANTINE_ALL) {
		log_line(&daemon->log, LOG_WARNING, "%s: quarantined: %s", item->kernel,
			text);
		event_note(daemon, "quarantine", item->kernel, code, text);
	} else {
		log_line(&daemon->log, LOG_WARNING, "%s: quarantined for uid %lld: %s",
			item->kernel, (long long)item->who, text);
	}
}

static void turn_off(struct daemon *daemon, const struct kp_quarantine *item)
{
	struct kp_decisions next;
	struct kp_diag diag;

	if (kp_decisions_copy(&daemon->decisions, &next) < 0) {
		kp_diag_no_memory(&diag);
		log_diag(&daemon->log, LOG_ERROR, &diag);
		return;
	}
	if (kp_decisions_quarantine(&next, item) < 0) {
		kp_decisions_finish(&next);
		kp_diag_no_memory(&diag);
	} else if (kp_decisions_fit(&next, &daemon->decisions, &diag) < 0) {
		kp_decisions_finish(&next);
	} else if (commit(daemon, &next, &diag) == 0) {
		tell(daemon, item);
		return;
	}
	log_diag(&daemon->log, LOG_ERROR, &diag);
}

void quarantine_strike(
	struct daemon *daemon, const char *kernel, int64_t who, int64_t incident)
{
	const struct options *options = daemon->options;
	const char *digest = incidents_digest(daemon, kernel);
	int64_t now = daemon_now();
	size_t count = strikes_add(incidents_strikes(daemon->incidents), kernel, digest,
		who, now, options->strike_window_s);

	incidents_changed(daemon->incidents);
	if (!options->no_quarantine && count >= options->strikes &&
		!kp_decisions_find_quarantine(&daemon->decisions, kernel, digest, who))
		turn_off(daemon,
			&(struct kp_quarantine){.kernel = (char *)(uintptr_t)kernel,
				.digest = (char *)(uintptr_t)digest,
				.who = who,
				.at = now,
				.incident = incident,
				.strikes = (uint32_t)count});
}

void quarantine_forget(struct daemon *daemon, const char *name, int64_t who, bool all)
{
	if (strikes_forget(incidents_strikes(daemon->incidents), name, who, all) > 0)
		incidents_changed(daemon->incidents);
}

int quarantine_lift(struct daemon *daemon, const char *plugin, struct kp_diag *diag)
{
	struct kp_decisions next;

	quarantine_forget(daemon, plugin, KP_QUARANTINE_ALL, true);
	if (daemon->decisions.n_quarantined == 0)
		return 0;
	if (kp_decisions_copy(&daemon->decisions, &next) < 0)
		return kp_diag_no_memory(diag);
	if (kp_decisions_retry(&next, plugin, KP_QUARANTINE_ALL, true) > 0)
		return commit(daemon, &next, diag);
	kp_decisions_finish(&next);
	return 0;
}

/* ---- one user's ------------------------------------------------------------------ */

bool quarantine_has_own(const struct daemon *daemon, unsigned uid)
{
	return kp_decisions_has_quarantine(&daemon->decisions, uid);
}

static bool is_off(
	void *context, const struct kp_table *table, size_t kernel, struct kp_off *off)
{
	const struct quarantine_whose *whose = context;
	const unsigned char *plugin = kp_table_record(table, KP_SECTION_PLUGINS,
		kp_load32(kp_table_kernel(table, kernel) + KP_KERNEL_PLUGIN));
	char id[KP_KERNEL_ID_BYTES], text[KP_QUARANTINE_TEXT];

	(void)kp_table_kernel_id(table, kernel, id, sizeof(id));
	const struct kp_quarantine *item = kp_decisions_find_quarantine(
		&whose->daemon->decisions, id,
		kp_table_text(table, kp_load32(plugin + KP_PLUGIN_DIGEST)), whose->uid);
	if (item && off) {
		*off = (struct kp_off){.code = "quarantined", .source = "daemon"};
		(void)snprintf(off->message, sizeof(off->message), "%s: %.220s", code,
			kp_quarantine_text(item, text));
	}
	return item != NULL;
}

struct kp_overlay quarantine_overlay(struct quarantine_whose *whose)
{
	return (struct kp_overlay){whose, is_off};
}

json_t *quarantine_without(const struct daemon *daemon, unsigned uid)
{
	const struct kp_table *table = &daemon->generation.table;
	struct quarantine_whose whose = {daemon, uid};
	json_t *list = json_array();

	for (size_t i = 0;
		list && quarantine_has_own(daemon, uid) && i < kp_table_kernels(table);
		i++) {
		char id[KP_KERNEL_ID_BYTES];
		struct kp_off off;
		if (is_off(&whose, table, i, &off))
			list = kp_json_append(list,
				json_pack("{s:s, s:s}", "kernel",
					kp_table_kernel_id(table, i, id, sizeof(id)),
					"message", off.message));
	}
	return list;
}

/* A Kernel of a PluginInfo. */
static void show_kernel(const json_t *without, json_t *kernel)
{
	for (size_t i = 0; i < json_array_size(without); i++) {
		const json_t *item = json_array_get(without, i);
		const char *id = kp_json_text(kernel, "id");
		if (!id || strcmp(id, kp_json_text(item, "kernel")) != 0)
			continue;
		(void)json_object_set_new(kernel, "state", json_string("quarantined"));
		(void)json_object_set_new(kernel, "reason",
			json_pack("{s:s, s:s}", "code", code, "message",
				kp_json_text(item, "message")));
	}
}

static bool is_kernel_of(const char *id, const char *plugin, const char **kernel)
{
	size_t n = strlen(plugin);

	*kernel = id + n + 1;
	return strncmp(id, plugin, n) == 0 && id[n] == '/';
}

json_t *quarantine_show(const struct daemon *daemon, unsigned uid, json_t *plugin)
{
	json_t *without =
		quarantine_has_own(daemon, uid) ? quarantine_without(daemon, uid) : NULL;
	json_t *names = json_object_get(plugin, "quarantined_kernels");
	json_t *kernels = json_object_get(plugin, "kernels");
	const char *name = kp_json_text(plugin, "name");
	const char *kernel;

	for (size_t i = 0; name && i < json_array_size(without); i++)
		if (is_kernel_of(kp_json_text(json_array_get(without, i), "kernel"), name,
			    &kernel) &&
			names)
			(void)json_array_append_new(names, json_string(kernel));
	for (size_t i = 0; without && i < json_array_size(kernels); i++)
		show_kernel(without, json_array_get(kernels, i));
	json_decref(without);
	return plugin;
}
