/* SPDX-License-Identifier: MIT */
/* History and Rollback: what ran as a plugin, and going back to it. */
#include "daemon/method/method.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/daemon.h"
#include "daemon/event.h"
#include "daemon/history/history.h"
#include "daemon/scan/scan.h"
#include "daemon/scan/settle.h"
#include "daemon/socket/wait.h"
#include "daemon/state/change.h"
#include "lib/base/json.h"

/* A plugin, not a kernel of it. */
static int check_plugin(
	const struct daemon *daemon, const char *name, struct kp_diag *diag)
{
	if (kp_registry_resolve(daemon->registry, name, diag) < 0)
		return -1;
	return strchr(name, '/') ? kp_diag_set(diag, "bad_name", name,
					   "%s is a kernel: plugins have generations, "
					   "with all their kernels",
					   name)
				 : 0;
}

/* ---- History ------------------------------------------------------------------- */

static void answer_history(struct daemon *daemon, struct call *call)
{
	const char *name = kp_json_text(call_parameters(call), "name");
	struct kp_diag diag;

	if (!chronicles_find(history_all(daemon->history), name) &&
		check_plugin(daemon, name, &diag) < 0) {
		call_fail(call, &diag, NULL);
		return;
	}
	json_t *list = history_json(daemon, name);
	call_reply(call, list ? json_pack("{s:s, s:o, s:o}", "name", name, "rolled_back",
					kp_rollback_json(kp_decisions_find_rollback(
						&daemon->decisions, name)),
					"generations", list)
			      : NULL);
}

static void history(struct daemon *daemon, struct call *call)
{
	settle(daemon, call, json_object_get(call_parameters(call), "settle_ms"),
		answer_history);
}

/* ---- Rollback: on the disk, then the verdict ------------------------------------- */

/* The reply that waits for the verdict. */
struct rolled {
	json_t *reply;
	char name[];
};

static bool has_verdict(struct daemon *daemon, void *context)
{
	const struct rolled *rolled = context;
	return !kp_registry_is_pending(daemon->registry, rolled->name);
}

static void answer_rolled(struct daemon *daemon, struct call *call, void *context)
{
	const struct rolled *rolled = context;
	struct kp_diag diag;

	daemon_table(daemon);
	json_t *plugin = kp_registry_plugin_json(daemon->registry, rolled->name);
	if (!plugin) {
		kp_diag_set(&diag, "no_such_plugin", rolled->name,
			"%s has left meanwhile; the rollback is kept", rolled->name);
		call_fail(call, &diag, NULL);
		return;
	}
	(void)json_object_set_new(rolled->reply, "generation",
		json_integer((json_int_t)daemon->generation.number));
	if (json_object_set_new(rolled->reply, "plugin", plugin) < 0)
		call_reply(call, NULL);
	else
		call_reply(call, json_incref(rolled->reply));
}

static void release_rolled(void *context)
{
	struct rolled *rolled = context;

	json_decref(rolled->reply);
	free(rolled);
}

static void on_kept(
	struct daemon *daemon, struct call *call, const char *name, json_t *reply)
{
	size_t size = strlen(name) + 1;
	struct rolled *rolled = malloc(sizeof(*rolled) + size);

	if (!rolled || !reply) {
		free(rolled);
		json_decref(reply);
		call_reply(call, NULL);
		return;
	}
	rolled->reply = reply;
	memcpy(rolled->name, name, size);
	wait_for(daemon, call,
		&(struct wait_request){.timeout_ms = -1,
			.is_over = has_verdict,
			.run = answer_rolled,
			.release = release_rolled,
			.context = rolled});
}

/* Also where the disk refused: what is decided is in force. */
static void follow(struct daemon *daemon, unsigned uid)
{
	struct kp_diag diag;

	event_cause_begin(daemon, uid);
	if (scan_follow(daemon->scan, &diag) < 0)
		log_diag(&daemon->log, LOG_ERROR, &diag);
	event_cause_end(daemon);
}

static void commit(struct daemon *daemon, struct call *call, struct wish *wish,
	const struct kp_rollback *item)
{
	const char *name = wish->name;
	unsigned uid = call_uid(call);

	wish->then = on_kept;
	wish->keep = true;
	wish->members = item ? json_pack("{s:s, s:I}", "name", name, "number",
				       (json_int_t)item->number)
			     : json_pack("{s:s, s:n}", "name", name, "number");
	int failed = kp_decisions_copy(&daemon->decisions, &wish->next);
	if (!failed && item)
		failed = kp_decisions_roll_back(&wish->next, item, &wish->changed);
	else if (!failed)
		wish->changed = kp_decisions_release(&wish->next, name);
	if (failed || !wish->members)
		wish_give_up(wish, call);
	else
		wish_commit(wish, daemon, call);
	follow(daemon, uid);
}

static void release(struct daemon *daemon, struct call *call, const char *name)
{
	struct wish wish = {
		.name = name, .kind = "release", .what = "released", .reason = ""};

	commit(daemon, call, &wish, NULL);
}

static void roll_back(struct daemon *daemon, struct call *call,
	const struct edition *edition, struct wish *wish)
{
	const struct kp_rollback item = {.plugin = (char *)(uintptr_t)wish->name,
		.closure = (char *)(uintptr_t)edition->closure,
		.entry = edition->entry,
		.digest = (char *)(uintptr_t)edition->digest,
		.reason = (char *)(uintptr_t)wish->reason,
		.number = edition->number,
		.at = daemon_now(),
		.uid = call_uid(call)};
	char object[32];

	(void)snprintf(
		object, sizeof(object), "generation %lld", (long long)edition->number);
	wish->object = object;
	commit(daemon, call, wish, &item);
}

static int read_number(const json_t *parameters, int64_t *number, struct kp_diag *diag)
{
	const json_t *given = json_object_get(parameters, "number");

	*number = json_integer_value(given);
	if (!json_is_integer(given) || *number > 0)
		return 0;
	return kp_diag_set(diag, "no_such_generation", "number",
		"number: generations count from 1, %lld is none", (long long)*number);
}

static int check_kind(const struct daemon *daemon, const char *name, struct kp_diag *diag)
{
	if (check_plugin(daemon, name, diag) < 0)
		return -1;
	return kp_registry_is_loaded(daemon->registry, name)
		       ? kp_diag_set(diag, "no_earlier_generation", name,
				 "%s was loaded by a call: of what leaves with plugind "
				 "nothing is kept",
				 name)
		       : 0;
}

static void answer_rollback(struct daemon *daemon, struct call *call)
{
	const json_t *parameters = call_parameters(call);
	const char *name = kp_json_text(parameters, "name");
	const char *reason = kp_json_text(parameters, "reason");
	bool releases = json_is_true(json_object_get(parameters, "release"));
	struct wish wish = {.name = name,
		.kind = "rollback",
		.what = "rolled back",
		.reason = reason ? reason : ""};
	const struct edition *edition = NULL;
	struct kp_diag diag;
	int64_t number;

	if (!wish_has_good_reason(&wish, call))
		return;
	if (read_number(parameters, &number, &diag) < 0 ||
		check_kind(daemon, name, &diag) < 0 ||
		(!releases && !(edition = history_choose(
					daemon->history, name, number, &diag))))
		call_fail(call, &diag, NULL);
	else if (releases)
		release(daemon, call, name);
	else
		roll_back(daemon, call, edition, &wish);
}

static void rollback(struct daemon *daemon, struct call *call)
{
	settle_names(daemon, call, answer_rollback);
}

const struct method method_history[] = {
	{"History", ROLE_OBSERVER, history},
	{"Rollback", ROLE_OPERATOR, rollback},
	{NULL, ROLE_ADMIN, NULL},
};
