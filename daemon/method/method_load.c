/* SPDX-License-Identifier: MIT */
/* Load and Unload: a library from an open descriptor, until the daemon stops. */
#include "daemon/method/method.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/daemon.h"
#include "daemon/event.h"
#include "daemon/options.h"
#include "daemon/scan/loaded.h"
#include "daemon/scan/scan.h"
#include "daemon/scan/settle.h"
#include "daemon/socket/wait.h"
#include "lib/base/json.h"
#include "lib/base/text.h"

enum { NAME_BYTES = 80 };

/* One that is under way; the call is alive until it is answered, also without a client.
 */
struct load {
	uv_work_t work;
	struct daemon *daemon;
	struct call *call;
	bool unloads;
	int fd; /* the call's */
	int result;
	struct kp_diag diag;
	char name[NAME_BYTES];
};

/* ---- answers ----------------------------------------------------------------- */

static bool has_verdict(struct daemon *daemon, void *context)
{
	const struct load *load = context;
	return !kp_registry_is_pending(daemon->registry, load->name);
}

static void answer_load(struct daemon *daemon, struct call *call, void *context)
{
	const struct load *load = context;
	struct kp_diag diag;

	daemon_table(daemon);
	json_t *plugin = kp_registry_plugin_json(daemon->registry, load->name);
	if (!plugin) {
		kp_diag_set(&diag, "no_such_plugin", load->name,
			"%s was unloaded meanwhile", load->name);
		call_fail(call, &diag, NULL);
		return;
	}
	call_reply(call, json_pack("{s:o, s:I}", "plugin", plugin, "generation",
				 (json_int_t)daemon->generation.number));
}

static void answer_unload(struct load *load)
{
	struct daemon *daemon = load->daemon;

	daemon_table(daemon);
	call_reply(load->call, json_pack("{s:s, s:I}", "name", load->name, "generation",
				       (json_int_t)daemon->generation.number));
	free(load);
}

static void on_scanned(void *context, const struct scan_result *result)
{
	struct load *load = context;

	if (!result->added) {
		call_reply(load->call, NULL);
		free(load);
	} else if (load->unloads) {
		answer_unload(load);
	} else {
		wait_for(load->daemon, load->call,
			&(struct wait_request){.timeout_ms = -1,
				.is_over = has_verdict,
				.run = answer_load,
				.context = load});
	}
}

static void tell_others(const struct load *load)
{
	event_cause_begin(load->daemon, call_uid(load->call));
	event_note(
		load->daemon, load->unloads ? "unload" : "load", load->name, NULL, NULL);
	event_cause_end(load->daemon);
	log_line(&load->daemon->log, LOG_INFO, "%s: %s by uid %u", load->name,
		load->unloads ? "unloaded" : "loaded", call_uid(load->call));
}

/* ---- files, in the pool ------------------------------------------------------ */

static void work(uv_work_t *work)
{
	struct load *load = work->data;
	const char *dir = load->daemon->loaded_dir;

	if (!load->unloads)
		load->result = loaded_add(dir, load->name, load->fd, &load->diag);
	else if (!loaded_remove(dir, load->name))
		load->result = kp_diag_set(&load->diag, "not_loaded", load->name,
			"%s was unloaded just before", load->name);
}

static void done(uv_work_t *work, int status)
{
	struct load *load = work->data;
	(void)status;

	if (load->daemon->closing)
		load->result = kp_diag_set(
			&load->diag, "stopping", load->name, "plugind is ending");
	if (load->result < 0) {
		call_fail(load->call, &load->diag, NULL);
		free(load);
		return;
	}
	tell_others(load);
	scan_request(load->daemon->scan, on_scanned, load);
}

/* The name is one of a plugin. */
static void start(struct daemon *daemon, struct call *call, const char *name, int fd)
{
	struct load *load = calloc(1, sizeof(*load));

	if (!load) {
		call_reply(call, NULL);
		return;
	}
	load->work.data = load;
	load->daemon = daemon;
	load->call = call;
	load->unloads = fd < 0;
	load->fd = fd;
	(void)snprintf(load->name, sizeof(load->name), "%s", name);
	(void)uv_queue_work(&daemon->loop, &load->work, work, done);
}

/* ---- Load -------------------------------------------------------------------- */

static int find_file(const struct call *call, int *fd, struct kp_diag *diag)
{
	json_int_t i = json_integer_value(json_object_get(call_parameters(call), "file"));

	if (i < 0 || (uint64_t)i >= call_files(call))
		return kp_diag_set(diag, "no_descriptor", "file",
			"file: descriptor %lld is named, %zu came with the call",
			(long long)i, call_files(call));
	*fd = call_file(call, (size_t)i);
	return 0;
}

static int choose_name(const struct daemon *daemon, const char *given, int fd, char *name,
	struct kp_diag *diag)
{
	enum kp_state state;

	if (given)
		(void)snprintf(name, NAME_BYTES, "%s", given);
	else
		loaded_name(fd, name, NAME_BYTES);
	if ((given && strlen(given) >= NAME_BYTES) || !kp_text_is_name(name))
		return kp_diag_set(diag, "bad_name", given ? given : "name",
			"%s is no name of a plugin (%s): give one with --name",
			given ? given : "the file's name", kp_text_name_rule);
	if (kp_registry_state(daemon->registry, name, &state))
		return kp_diag_set(diag, "name_taken", name,
			"there is a plugin %s already: give another name with --name, "
			"or, where it was loaded, `pluginctl unload %s` first",
			name, name);
	return 0;
}

static void load_file(struct daemon *daemon, struct call *call)
{
	const char *given = kp_json_text(call_parameters(call), "name");
	char name[NAME_BYTES];
	struct kp_diag diag;
	int fd = -1;

	if (find_file(call, &fd, &diag) < 0 ||
		loaded_check(fd, daemon->options->system, daemon_trust(daemon), &diag) <
			0 ||
		choose_name(daemon, given, fd, name, &diag) < 0)
		call_fail(call, &diag, NULL);
	else
		start(daemon, call, name, fd);
}

static void load(struct daemon *daemon, struct call *call)
{
	settle_names(daemon, call, load_file);
}

/* ---- Unload ------------------------------------------------------------------ */

static int check_loaded(
	const struct daemon *daemon, const char *name, struct kp_diag *diag)
{
	if (kp_registry_resolve(daemon->registry, name, diag) < 0)
		return -1;
	if (!strchr(name, '/') && kp_registry_is_loaded(daemon->registry, name))
		return 0;
	return kp_diag_set(diag, "not_loaded", name,
		"%s was not loaded by a call: it has a manifest; mask or disable it",
		name);
}

static void unload_named(struct daemon *daemon, struct call *call)
{
	const char *name = kp_json_text(call_parameters(call), "name");
	struct kp_diag diag;

	if (check_loaded(daemon, name, &diag) < 0)
		call_fail(call, &diag, NULL);
	else
		start(daemon, call, name, -1);
}

static void unload(struct daemon *daemon, struct call *call)
{
	settle_names(daemon, call, unload_named);
}

const struct method method_load[] = {
	{"Load", ROLE_ADMIN, load},
	{"Unload", ROLE_ADMIN, unload},
	{NULL, ROLE_ADMIN, NULL},
};
