/* SPDX-License-Identifier: MIT */
/* List and Info: what there is. */
#include "daemon/method/method.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/daemon.h"
#include "daemon/incident/quarantine.h"
#include "daemon/method/listing.h"
#include "daemon/scan/scan.h"
#include "daemon/scan/settle.h"
#include "lib/base/json.h"
#include "lib/base/json_write.h"
#include "lib/base/text.h"
#include "lib/select/select.h"

/* ---- List ---- */

/* The plugins that have a kernel of this family, as a set; NULL for want of memory. */
static json_t *plugins_of(const struct kp_table *table, const char *family)
{
	json_t *set = json_object();

	for (size_t i = 0; set && i < kp_table_kernels(table); i++) {
		struct kp_entry_state state;
		struct kp_spec spec;
		void *memory;
		if (kp_table_spec(table, i, &spec, &state, &memory) < 0) {
			json_decref(set);
			return NULL;
		}
		if (listing_is_of(spec.operation, family))
			(void)json_object_set_new(set, state.plugin, json_true());
		free(memory);
	}
	return set;
}

/* Is this plugin among those that were asked for? */
static bool is_asked(const struct kp_registry *registry, const char *name,
	const char *state, const json_t *members)
{
	enum kp_state is;

	if (members && !json_object_get(members, name))
		return false;
	return !state || (kp_registry_state(registry, name, &is) &&
				 strcmp(state, kp_state_name(is)) == 0);
}

static void write_unclaimed(struct kp_json_writer *writer, const struct scan *scan)
{
	const char *const *names;
	size_t n = scan_unclaimed(scan, &names);

	for (size_t i = 0; i < n; i++)
		kp_json_write_value(writer,
			json_pack("{s:o, s:n, s:n, s:s, s:{s:s, s:s}, s:n, s:[]}", "name",
				kp_json_clean_string(names[i]), "package", "version",
				"state", "unclaimed", "reason", "code", "unclaimed",
				"message", "no manifest names this library", "since",
				"kernels"));
}

static void write_plugins(struct kp_json_writer *writer, struct daemon *daemon,
	const json_t *parameters, const json_t *members)
{
	const struct kp_registry *registry = daemon->registry;
	const char *state = kp_json_text(parameters, "state");
	bool wants_unclaimed = json_is_true(json_object_get(parameters, "all")) &&
			       !members && (!state || strcmp(state, "unclaimed") == 0);

	kp_json_write_begin(writer, '[');
	for (size_t i = 0; i < kp_registry_count(registry); i++)
		if (is_asked(registry, kp_registry_name(registry, i), state, members))
			kp_registry_plugin_write(registry, i, writer);
	if (wants_unclaimed)
		write_unclaimed(writer, daemon->scan);
	kp_json_write_end(writer, ']');
}

/* The message of a reply; NULL for want of memory. */
static char *list_message(struct daemon *daemon, const json_t *parameters, size_t *size)
{
	const struct kp_table *table = daemon_table(daemon);
	const char *family = kp_json_text(parameters, "family");
	json_t *members = family ? plugins_of(table, family) : NULL;
	struct kp_json_writer writer = {.failed = family && !members};

	kp_json_write_begin(&writer, '{');
	kp_json_write_key(&writer, "parameters");
	kp_json_write_begin(&writer, '{');
	kp_json_write_key(&writer, "plugins");
	write_plugins(&writer, daemon, parameters, members);
	kp_json_write_key(&writer, "pending");
	kp_json_write_value(&writer, kp_registry_pending(daemon->registry));
	kp_json_write_key(&writer, "generation");
	kp_json_write_integer(&writer, (int64_t)daemon->generation.number);
	kp_json_write_end(&writer, '}');
	kp_json_write_end(&writer, '}');
	json_decref(members);
	char *message = kp_json_write_finish(&writer, size);
	if (message)
		++*size;
	return message;
}

static bool is_absent(const json_t *parameters, const char *key)
{
	const json_t *value = json_object_get(parameters, key);
	return !value || json_is_null(value);
}

static bool is_plain(const json_t *parameters)
{
	return is_absent(parameters, "state") && is_absent(parameters, "family") &&
	       !json_is_true(json_object_get(parameters, "all"));
}

static int check_state(const char *state, struct kp_diag *diag, const char **nearest)
{
	const char *names[KP_STATES + 1] = {"unclaimed"};
	char offer[KP_TEXT_OFFER];

	for (int i = 0; i < KP_STATES; i++)
		names[i + 1] = kp_state_name((enum kp_state)i);
	for (int i = 0; state && i <= KP_STATES; i++)
		if (strcmp(names[i], state) == 0)
			return 0;
	if (!state)
		return 0;
	*nearest = kp_text_nearest(state, names, KP_STATES + 1);
	return kp_diag_set(diag, "unknown_state", state, "there is no state \"%s\"%s",
		state, kp_text_meant(*nearest, offer));
}

/* With what is off for this user alone. */
static json_t *own_list(const struct daemon *daemon, const struct call *call,
	const char *message, size_t size)
{
	json_error_t error;
	bool no_memory;
	json_t *whole =
		message ? kp_json_load(message, size - 1, 0, &error, &no_memory) : NULL;
	json_t *reply = json_incref(json_object_get(whole, "parameters"));
	json_t *plugins = json_object_get(reply, "plugins");

	json_decref(whole);
	for (size_t i = 0; i < json_array_size(plugins); i++)
		(void)quarantine_show(daemon, call_uid(call), json_array_get(plugins, i));
	return reply;
}

/* What depends on the call, or on who asks. */
static void reply_once(struct daemon *daemon, struct call *call)
{
	size_t size = 0;
	char *message = list_message(daemon, call_parameters(call), &size);

	if (quarantine_has_own(daemon, call_uid(call)))
		call_reply(call, own_list(daemon, call, message, size));
	else
		call_reply_message(call, message, size);
	free(message);
}

static void answer_list(struct daemon *daemon, struct call *call)
{
	const json_t *parameters = call_parameters(call);
	const char *nearest = NULL;
	struct kp_diag diag;

	if (check_state(kp_json_text(parameters, "state"), &diag, &nearest) < 0)
		call_fail(call, &diag, nearest);
	else if (is_plain(parameters) && !quarantine_has_own(daemon, call_uid(call)))
		listing_reply(daemon, call, GENERATION_LIST, list_message);
	else
		reply_once(daemon, call);
}

static void list(struct daemon *daemon, struct call *call)
{
	settle(daemon, call, json_object_get(call_parameters(call), "settle_ms"),
		answer_list);
}

/* ---- Info ---- */

static void answer_info(struct daemon *daemon, struct call *call)
{
	const char *name = kp_json_text(call_parameters(call), "name");
	char offer[KP_TEXT_OFFER];
	enum kp_state state;
	struct kp_diag diag;

	daemon_table(daemon);
	if (kp_registry_state(daemon->registry, name, &state)) {
		json_t *plugin = quarantine_show(daemon, call_uid(call),
			kp_registry_info_json(daemon->registry, name));
		call_reply(call, plugin ? json_pack("{s:o}", "plugin", plugin) : NULL);
		return;
	}
	const char *nearest = kp_registry_nearest(daemon->registry, name);
	kp_diag_set(&diag, "no_such_plugin", name, "there is no plugin %s%s", name,
		kp_text_meant(nearest, offer));
	call_fail(call, &diag, nearest);
}

static void info_names(struct daemon *daemon, struct call *call)
{
	settle_names(daemon, call, answer_info);
}

static void info(struct daemon *daemon, struct call *call)
{
	settle(daemon, call, json_object_get(call_parameters(call), "settle_ms"),
		info_names);
}

const struct method method_list[] = {
	{"List", ROLE_OBSERVER, list},
	{"Info", ROLE_OBSERVER, info},
	{NULL, ROLE_ADMIN, NULL},
};
