/* SPDX-License-Identifier: MIT */
/* List, Info and Kernels: what there is. */
#include "daemon/method/method.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/daemon.h"
#include "daemon/incident/quarantine.h"
#include "daemon/scan/scan.h"
#include "daemon/scan/settle.h"
#include "lib/base/json.h"
#include "lib/base/text.h"
#include "lib/select/select.h"

/* ---- List ---- */

/* Does an operation belong to what was asked: itself, its family, or all? */
static bool is_of(const char *operation, const char *asked)
{
	size_t n = asked ? strlen(asked) : 0;
	return !asked || (strncmp(operation, asked, n) == 0 &&
				 (operation[n] == '\0' || operation[n] == '/'));
}

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
		if (is_of(spec.operation, family))
			(void)json_object_set_new(set, state.plugin, json_true());
		free(memory);
	}
	return set;
}

static int add_plugin(json_t *list, const struct kp_registry *registry, const char *name,
	const char *state, const json_t *members)
{
	if (members && !json_object_get(members, name))
		return 0;
	json_t *plugin = kp_registry_plugin_json(registry, name);
	if (!plugin)
		return -1;
	const char *is = kp_json_text(plugin, "state");
	if (state && (!is || strcmp(state, is) != 0)) {
		json_decref(plugin);
		return 0;
	}
	return json_array_append_new(list, plugin);
}

static int add_unclaimed(json_t *list, const struct scan *scan)
{
	const char *const *names;
	size_t n = scan_unclaimed(scan, &names);

	for (size_t i = 0; i < n; i++) {
		json_t *plugin = json_pack(
			"{s:o, s:n, s:n, s:s, s:{s:s, s:s}, s:n, s:[]}", "name",
			kp_json_clean_string(names[i]), "package", "version", "state",
			"unclaimed", "reason", "code", "unclaimed", "message",
			"no manifest names this library", "since", "kernels");
		if (json_array_append_new(list, plugin) < 0)
			return -1;
	}
	return 0;
}

static json_t *list_json(struct daemon *daemon, const json_t *parameters)
{
	const struct kp_table *table = daemon_table(daemon);
	const char *state = kp_json_text(parameters, "state");
	const char *family = kp_json_text(parameters, "family");
	json_t *members = family ? plugins_of(table, family) : NULL;
	json_t *list = json_array();
	bool is_whole = list && (!family || members);

	for (size_t i = 0; is_whole && i < kp_registry_count(daemon->registry); i++)
		is_whole = add_plugin(list, daemon->registry,
				   kp_registry_name(daemon->registry, i), state,
				   members) == 0;
	bool wants_unclaimed = json_is_true(json_object_get(parameters, "all")) &&
			       !family && (!state || strcmp(state, "unclaimed") == 0);
	if (is_whole && wants_unclaimed)
		is_whole = add_unclaimed(list, daemon->scan) == 0;
	json_decref(members);
	if (!is_whole) {
		json_decref(list);
		return NULL;
	}
	return json_pack("{s:o, s:o, s:I}", "plugins", list, "pending",
		kp_registry_pending(daemon->registry), "generation",
		(json_int_t)daemon->generation.number);
}

/* Answers from the generation's ready text, made now if need be. */
static void reply_ready(struct daemon *daemon, struct call *call,
	enum generation_text which,
	json_t *(*make)(struct daemon *daemon, const json_t *parameters))
{
	daemon_table(daemon);
	if (!daemon->generation.texts[which].text) {
		json_t *reply = make(daemon, NULL);
		generation_keep(&daemon->generation, which,
			reply ? kp_json_dumps(reply, JSON_COMPACT) : NULL);
		json_decref(reply);
	}
	if (daemon->generation.texts[which].text)
		call_reply_text(call, daemon->generation.texts[which].text,
			daemon->generation.texts[which].size);
	else
		call_reply(call, NULL);
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

/* What is off for this user alone. Takes the reply. */
static json_t *show_quarantined(
	const struct daemon *daemon, const struct call *call, json_t *reply)
{
	json_t *plugins = json_object_get(reply, "plugins");

	for (size_t i = 0; i < json_array_size(plugins); i++)
		(void)quarantine_show(daemon, call_uid(call), json_array_get(plugins, i));
	return reply;
}

static void answer_list(struct daemon *daemon, struct call *call)
{
	const json_t *parameters = call_parameters(call);
	const char *nearest = NULL;
	struct kp_diag diag;

	if (check_state(kp_json_text(parameters, "state"), &diag, &nearest) < 0)
		call_fail(call, &diag, nearest);
	else if (is_plain(parameters) && !quarantine_has_own(daemon, call_uid(call)))
		reply_ready(daemon, call, GENERATION_LIST, list_json);
	else
		call_reply(call,
			show_quarantined(daemon, call, list_json(daemon, parameters)));
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

/* ---- Kernels ---- */

/* The kernel's own: its plugin's, disabled, or unavailable on this machine. */
static const char *kernel_state(
	const struct kp_table *table, const char *operation, const char *kernel)
{
	struct kp_entry_state state;
	struct kp_spec spec;
	void *memory;
	size_t i;

	if (kp_table_find(table, operation, kernel, &i, NULL) < 0 ||
		kp_table_spec(table, i, &spec, &state, &memory) < 0)
		return "unknown";
	free(memory);
	if (state.state == KP_STATE_ACTIVE && !state.available)
		return "unavailable";
	return kp_state_name(state.state);
}

static json_t *listed_json(
	const struct kp_table *table, const char *operation, const json_t *candidate)
{
	const char *kernel = kp_json_text(candidate, "kernel");
	json_t *priority =
		json_object_get(json_object_get(candidate, "rank"), "priority");
	return json_pack("{s:s, s:s, s:O, s:s, s:s, s:O, s:O, s:O}", "operation",
		operation, "kernel", kernel, "priority", priority, "band",
		kp_priority_band((int)json_integer_value(priority)), "state",
		kernel_state(table, operation, kernel), "eligible",
		json_object_get(candidate, "eligible"), "position",
		json_object_get(candidate, "position"), "reasons",
		json_object_get(candidate, "reasons"));
}

static int add_operation(json_t *list, const struct kp_table *table,
	const char *operation, const struct kp_overlay *overlay)
{
	struct kp_request request = {
		.operation = operation, .any_signature = true, .overlay = overlay};
	json_t *candidates = kp_explain_json(table, &request);
	const json_t *candidate;
	int result = candidates ? 0 : -1;
	size_t i;

	json_array_foreach (candidates, i, candidate)
		if (result == 0)
			result = json_array_append_new(
				list, listed_json(table, operation, candidate));
	json_decref(candidates);
	return result;
}

/* Adds what was asked for; *known says whether anybody knows such an operation. */
static int add_operations(json_t *list, const struct kp_table *table, const char *asked,
	const struct kp_overlay *overlay, bool *known)
{
	const char **operations = kp_table_operations(table);
	int result = operations ? 0 : -1;

	*known = !asked;
	for (size_t i = 0; result == 0 && operations[i]; i++) {
		if (!is_of(operations[i], asked))
			continue;
		*known = true;
		result = add_operation(list, table, operations[i], overlay);
	}
	free(operations);
	return result;
}

static json_t *kernels_for(
	struct daemon *daemon, const json_t *parameters, const struct kp_overlay *overlay)
{
	const char *asked = kp_json_text(parameters, "operation");
	json_t *list = json_array();
	bool known = false;

	if (!list ||
		add_operations(list, daemon_table(daemon), asked, overlay, &known) < 0) {
		json_decref(list);
		return NULL;
	}
	if (!known) {
		json_decref(list);
		return json_null();
	}
	return json_pack("{s:o, s:o}", "kernels", list, "pending",
		kp_registry_pending(daemon->registry));
}

static json_t *kernels_json(struct daemon *daemon, const json_t *parameters)
{
	return kernels_for(daemon, parameters, NULL);
}

/* The families of operations in byte order, each once: `families` are the caller's. */
static size_t families_of(const char *const *operations, char **families)
{
	size_t n = 0;

	for (size_t i = 0; operations[i]; i++) {
		size_t length = strcspn(operations[i], "/");
		if (n && strncmp(families[n - 1], operations[i], length) == 0 &&
			!families[n - 1][length])
			continue;
		families[n] = strndup(operations[i], length);
		n += families[n] != NULL;
	}
	return n;
}

/* What was meant may be one of both; where it is neither, these are the families. */
static void fail_with_offer(struct call *call, const char *asked, const char **operations,
	size_t count, char **families)
{
	const char *const *names = (const char *const *)families;
	size_t n = families_of(operations, families);
	bool is_family = !strchr(asked, '/');
	const char *nearest = is_family ? kp_text_nearest(asked, names, n) : NULL;
	char offer[KP_TEXT_OFFER];
	struct kp_diag diag;

	if (!nearest)
		nearest = kp_text_nearest(asked, operations, count);
	if (nearest)
		kp_text_meant(nearest, offer);
	else
		kp_text_offer(asked, names, n, "the families are", offer);
	kp_diag_set(&diag, "unknown_operation", asked,
		"no plugin has an operation or a family %s%s", asked, offer);
	call_fail(call, &diag, nearest);
	while (n > 0)
		free(families[--n]);
}

static void fail_unknown(struct daemon *daemon, struct call *call, const char *asked)
{
	const char **operations = kp_table_operations(daemon_table(daemon));
	size_t count = 0;

	while (operations && operations[count])
		count++;
	char **families = calloc(count + 1, sizeof(*families));
	if (operations && families)
		fail_with_offer(call, asked, operations, count, families);
	else
		call_reply(call, NULL);
	free(families);
	free(operations);
}

static void answer_kernels(struct daemon *daemon, struct call *call)
{
	const json_t *parameters = call_parameters(call);
	const char *asked = kp_json_text(parameters, "operation");

	struct quarantine_whose whose = {daemon, call_uid(call)};
	const struct kp_overlay overlay = quarantine_overlay(&whose);
	bool has_own = quarantine_has_own(daemon, whose.uid);
	if (!asked && !has_own) {
		reply_ready(daemon, call, GENERATION_KERNELS, kernels_json);
		return;
	}
	json_t *reply = kernels_for(daemon, parameters, has_own ? &overlay : NULL);
	if (json_is_null(reply))
		fail_unknown(daemon, call, asked);
	else
		call_reply(call, reply);
}

static void kernels(struct daemon *daemon, struct call *call)
{
	settle(daemon, call, json_object_get(call_parameters(call), "settle_ms"),
		answer_kernels);
}

const struct method method_list[] = {
	{"List", ROLE_OBSERVER, list},
	{"Info", ROLE_OBSERVER, info},
	{"Kernels", ROLE_OBSERVER, kernels},
	{NULL, ROLE_ADMIN, NULL},
};
