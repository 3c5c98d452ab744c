/* SPDX-License-Identifier: MIT */
/* Kernels: of which operations, in which order, and why some are not eligible. */
#include <stdlib.h>
#include <string.h>

#include "daemon/daemon.h"
#include "daemon/incident/quarantine.h"
#include "daemon/method/listing.h"
#include "daemon/method/method.h"
#include "daemon/scan/settle.h"
#include "lib/base/json.h"
#include "lib/base/text.h"
#include "lib/protocol/message.h"
#include "lib/select/select.h"

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
		if (!listing_is_of(operations[i], asked))
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

static char *kernels_message(
	struct daemon *daemon, const json_t *parameters, size_t *size)
{
	json_t *kernels = kernels_for(daemon, parameters, NULL);
	char *message = kernels ? kp_reply_print(kernels, false, size) : NULL;

	json_decref(kernels);
	return message;
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
		listing_reply(daemon, call, GENERATION_KERNELS, kernels_message);
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

const struct method method_kernels[] = {
	{"Kernels", ROLE_OBSERVER, kernels},
	{NULL, ROLE_ADMIN, NULL},
};
