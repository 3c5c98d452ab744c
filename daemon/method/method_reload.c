/* SPDX-License-Identifier: MIT */
/* Reload and Retry: look again, and wait for the result. */
#include "daemon/method/method.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/daemon.h"
#include "daemon/devices.h"
#include "daemon/event.h"
#include "daemon/incident/quarantine.h"
#include "daemon/scan/scan.h"
#include "daemon/service/service.h"
#include "daemon/scan/settle.h"
#include "daemon/state/change.h"
#include "daemon/socket/wait.h"
#include "lib/base/json.h"
#include "lib/base/text.h"

static void fail_no_plugin(struct daemon *daemon, struct call *call, const char *name)
{
	const char *nearest = kp_registry_nearest(daemon->registry, name);
	char offer[KP_TEXT_OFFER];
	struct kp_diag diag;

	kp_diag_set(&diag, "no_such_plugin", name, "there is no plugin %s%s", name,
		kp_text_meant(nearest, offer));
	call_fail(call, &diag, nearest);
}

/* ---- Reload: first a scan that began after the call, then the verdicts ---- */

struct reload {
	struct daemon *daemon;
	struct call *call; /* alive until it is answered, also without its client */
};

/* Only what was asked for: `name`, or all where it is NULL. A new reference. */
static json_t *named(const json_t *names, const char *name)
{
	const json_t *item;
	json_t *out = json_array();
	size_t i;

	json_array_foreach ((json_t *)(uintptr_t)names, i, item)
		if (!name || strcmp(name, json_string_value(item)) == 0)
			(void)json_array_append(out, (json_t *)(uintptr_t)item);
	return out;
}

/* The reply, and whose verdicts it waits for: also of what was found just before. */
struct reloaded {
	json_t *reply, *pending;
	size_t seen; /* so many of them had theirs: each is asked for once */
};

static bool has_verdicts(struct daemon *daemon, void *context)
{
	struct reloaded *reloaded = context;

	while (reloaded->seen < json_array_size(reloaded->pending) &&
		!kp_registry_is_pending(daemon->registry,
			json_string_value(
				json_array_get(reloaded->pending, reloaded->seen))))
		reloaded->seen++;
	return reloaded->seen == json_array_size(reloaded->pending);
}

/* One that has left meanwhile has become nothing. */
static int put_plugin(
	json_t *plugins, const struct kp_registry *registry, const char *name)
{
	json_t *object = kp_registry_plugin_json(registry, name);
	return object ? json_object_set_new(plugins, name, object) : 0;
}

static int put_plugins(
	json_t *plugins, const struct kp_registry *registry, const json_t *names)
{
	const json_t *item;
	int result = 0;
	size_t i;

	json_array_foreach ((json_t *)(uintptr_t)names, i, item)
		result |= put_plugin(plugins, registry, json_string_value(item));
	return result;
}

static int compare_items(const void *a, const void *b)
{
	const json_t *const *left = a, *const *right = b;
	return strcmp(kp_json_text(*left, "name"), kp_json_text(*right, "name"));
}

/* Takes the object of plugins by name; the same in order of name, or NULL. */
static json_t *in_order(json_t *plugins)
{
	size_t count = json_object_size(plugins);
	json_t **items = calloc(count + 1, sizeof(*items));
	json_t *list = items ? json_array() : NULL;
	const char *name;
	json_t *plugin;
	size_t n = 0;

	if (!list) {
		free(items);
		json_decref(plugins);
		return NULL;
	}
	json_object_foreach (plugins, name, plugin)
		items[n++] = plugin;
	qsort(items, n, sizeof(json_t *), compare_items);
	for (size_t i = 0; list && i < n; i++)
		list = kp_json_append(list, json_incref(items[i]));
	free(items);
	json_decref(plugins);
	return list;
}

/* What those that came, changed or were named have become, each once. */
static json_t *outcome(
	const struct kp_registry *registry, const json_t *reply, const char *name)
{
	json_t *plugins = json_object();

	if (!plugins ||
		put_plugins(plugins, registry, json_object_get(reply, "added")) != 0 ||
		put_plugins(plugins, registry, json_object_get(reply, "changed")) != 0 ||
		(name && put_plugin(plugins, registry, name) != 0)) {
		json_decref(plugins);
		return NULL;
	}
	return in_order(plugins);
}

static size_t count(const json_t *reply, const char *key)
{
	return json_array_size(json_object_get(reply, key));
}

static void tell_others(
	struct daemon *daemon, const struct call *call, const json_t *reply)
{
	char text[96];

	(void)snprintf(text, sizeof(text), "%zu added, %zu changed, %zu removed",
		count(reply, "added"), count(reply, "changed"), count(reply, "removed"));
	event_cause_begin(daemon, call_uid(call));
	event_note(daemon, "reload", kp_json_text(call_parameters(call), "name"), NULL,
		text);
	event_cause_end(daemon);
}

static void answer_reload(struct daemon *daemon, struct call *call, void *context)
{
	const struct reloaded *reloaded = context;
	const char *name = kp_json_text(call_parameters(call), "name");

	daemon_table(daemon);
	if (json_object_set_new(reloaded->reply, "plugins",
		    outcome(daemon->registry, reloaded->reply, name)) < 0) {
		call_reply(call, NULL);
		return;
	}
	tell_others(daemon, call, reloaded->reply);
	(void)json_object_set_new(reloaded->reply, "generation",
		json_integer((json_int_t)daemon->generation.number));
	call_reply(call, json_incref(reloaded->reply));
}

static void release_reloaded(void *context)
{
	struct reloaded *reloaded = context;
	json_decref(reloaded->reply);
	json_decref(reloaded->pending);
	free(reloaded);
}

static void mark(json_t *set, const json_t *names)
{
	const json_t *item;
	size_t i;

	json_array_foreach ((json_t *)(uintptr_t)names, i, item)
		(void)json_object_set_new(set, json_string_value(item), json_true());
}

/* What plugind had noticed by itself just before is told by who waits for it, too. */
static void add_pending(json_t *reply, const json_t *pending)
{
	json_t *changed = json_object_get(reply, "changed");
	json_t *told = json_object();
	const json_t *item;
	size_t i;

	mark(told, changed);
	mark(told, json_object_get(reply, "added"));
	json_array_foreach ((json_t *)(uintptr_t)pending, i, item)
		if (!json_object_get(told, json_string_value(item)))
			(void)json_array_append(changed, (json_t *)(uintptr_t)item);
	json_decref(told);
}

/* Takes reply. */
static void wait_for_verdicts(
	struct daemon *daemon, struct call *call, json_t *reply, const char *name)
{
	struct reloaded *reloaded = malloc(sizeof(*reloaded));
	json_t *pending = kp_registry_pending(daemon->registry);
	json_t *wanted = named(pending, name);

	json_decref(pending);
	if (!reloaded || !wanted) {
		free(reloaded);
		json_decref(wanted);
		json_decref(reply);
		call_reply(call, NULL);
		return;
	}
	add_pending(reply, wanted);
	*reloaded = (struct reloaded){reply, wanted, 0};
	wait_for(daemon, call,
		&(struct wait_request){.timeout_ms = -1,
			.is_over = has_verdicts,
			.run = answer_reload,
			.release = release_reloaded,
			.context = reloaded});
}

static void on_scanned(void *context, const struct scan_result *result)
{
	struct reload *reload = context;
	struct daemon *daemon = reload->daemon;
	struct call *call = reload->call;
	const char *name = kp_json_text(call_parameters(call), "name");
	enum kp_state state;

	free(reload);
	service_has_looked(daemon->service);
	json_t *reply = result->added ? json_pack("{s:o, s:o, s:o}", "added",
						named(result->added, name), "changed",
						named(result->changed, name), "removed",
						named(result->removed, name))
				      : NULL;
	if (!reply) {
		call_reply(call, NULL);
	} else if (name && !kp_registry_state(daemon->registry, name, &state) &&
		   json_array_size(json_object_get(reply, "removed")) == 0) {
		json_decref(reply);
		fail_no_plugin(daemon, call, name);
	} else {
		wait_for_verdicts(daemon, call, reply, name);
	}
}

static void reload_all(struct daemon *daemon, struct call *call)
{
	struct reload *reload = malloc(sizeof(*reload));

	if (!reload) {
		call_reply(call, NULL);
		return;
	}
	*reload = (struct reload){daemon, call};
	service_reload(daemon->service);
	(void)devices_look(daemon->devices, true);
	scan_request(daemon->scan, on_scanned, reload);
}

/* ---- Retry ---- */

/* Adds the plugin as it is now. Takes the reply. */
static json_t *retry_add(struct daemon *daemon, const char *name, json_t *reply)
{
	char *plugin = strndup(name, strcspn(name, "/"));
	json_t *object =
		plugin ? kp_registry_plugin_json(daemon->registry, plugin) : NULL;

	free(plugin);
	if (reply && object && json_object_set(reply, "plugin", object) == 0) {
		json_decref(object);
		return reply;
	}
	json_decref(object);
	json_decref(reply);
	return NULL;
}

/* Lifts quarantines of a kernel or plugin: all, or those of the caller alone. */
static void retry_quarantined(struct daemon *daemon, struct call *call, bool all)
{
	const char *name = kp_json_text(call_parameters(call), "name");
	struct wish wish = {.name = name,
		.kind = "retry",
		.what = "its quarantine is lifted",
		.reason = "",
		.keep = true,
		.members = json_object(),
		.tell = retry_add};

	if (!wish.members || kp_decisions_copy(&daemon->decisions, &wish.next) < 0) {
		wish_give_up(&wish, call);
		return;
	}
	quarantine_forget(daemon, name, call_uid(call), all);
	wish.changed = kp_decisions_retry(&wish.next, name, call_uid(call), all) > 0;
	wish_commit(&wish, daemon, call);
}

static bool has_verdict(struct daemon *daemon, void *plugin)
{
	return !kp_registry_is_pending(daemon->registry, plugin);
}

static void answer_retry(struct daemon *daemon, struct call *call, void *context)
{
	const char *plugin = context;
	enum kp_state state;

	daemon_table(daemon);
	if (!kp_registry_state(daemon->registry, plugin, &state)) {
		fail_no_plugin(daemon, call, plugin);
		return;
	}
	call_reply(call, retry_add(daemon, plugin,
				 json_pack("{s:I}", "generation",
					 (json_int_t)daemon->generation.number)));
}

/* One who is no operator lifts what is quarantined for him alone; probes are not his. */
static void retry_own(struct daemon *daemon, struct call *call)
{
	const char *name = kp_json_text(call_parameters(call), "name");
	struct kp_diag diag;

	if (kp_decisions_is_quarantined(&daemon->decisions, name, call_uid(call)))
		retry_quarantined(daemon, call, false);
	else if (kp_registry_resolve(daemon->registry, name, &diag) < 0)
		call_fail(call, &diag, NULL);
	else {
		kp_diag_set(&diag, "not_permitted", name,
			"%s: nothing of it is quarantined for uid %u alone, and only "
			"operators (root, the group kplug) have plugins probed again",
			name, call_uid(call));
		call_fail(call, &diag, NULL);
	}
}

static void retry_named(struct daemon *daemon, struct call *call)
{
	const char *name = kp_json_text(call_parameters(call), "name");
	enum kp_state state;
	struct kp_diag diag;

	if (call_role(call) < ROLE_OPERATOR) {
		retry_own(daemon, call);
		return;
	}
	if (strchr(name, '/')) {
		if (kp_registry_resolve(daemon->registry, name, &diag) < 0)
			call_fail(call, &diag, NULL);
		else
			retry_quarantined(daemon, call, true);
		return;
	}
	if (!kp_registry_state(daemon->registry, name, &state)) {
		fail_no_plugin(daemon, call, name);
		return;
	}
	if (quarantine_lift(daemon, name, &diag) < 0) {
		call_fail(call, &diag, NULL);
		return;
	}
	event_cause_begin(daemon, call_uid(call));
	int started = scan_retry(daemon->scan, name, &diag);
	event_cause_end(daemon);
	if (started < 0) {
		call_fail(call, &diag, NULL);
		return;
	}
	char *plugin = strdup(name);
	if (!plugin) {
		call_reply(call, NULL);
		return;
	}
	wait_for(daemon, call,
		&(struct wait_request){.timeout_ms = -1,
			.is_over = has_verdict,
			.run = answer_retry,
			.context = plugin});
}

static void retry(struct daemon *daemon, struct call *call)
{
	settle_names(daemon, call, retry_named);
}

const struct method method_reload[] = {
	{"Reload", ROLE_OPERATOR, reload_all},
	{"Retry", ROLE_OBSERVER, retry},
	{NULL, ROLE_ADMIN, NULL},
};
