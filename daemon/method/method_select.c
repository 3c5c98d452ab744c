/* SPDX-License-Identifier: MIT */
/* Select and Explain: what would run, and why. */
#include "daemon/method/method.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/daemon.h"
#include "daemon/incident/quarantine.h"
#include "daemon/remarks.h"
#include "daemon/scan/settle.h"
#include "lib/base/json.h"
#include "lib/base/owned.h"
#include "lib/protocol/message.h"
#include "lib/select/select.h"
#include "lib/table/table_read.h"

static void fail_decision(struct daemon *daemon, struct call *call,
	const struct kp_request *request, const struct kp_diag *diag)
{
	if (strcmp(diag->code, "override_ineligible") != 0) {
		call_fail(call, diag, NULL);
		return;
	}
	json_t *parameters = kp_diag_json(diag);
	json_t *reasons = kp_override_reasons_json(&daemon->generation.table, request);
	if (parameters && json_object_set_new(parameters, "reasons", reasons) < 0) {
		json_decref(parameters);
		parameters = NULL;
	}
	call_fail_with(call, KP_INTERFACE ".OverrideIneligible", parameters);
}

/* null: no operator has calls compared. */
static json_t *guard_json(const struct kp_table *table, const char *operation)
{
	uint32_t every = kp_table_guard(table, operation);

	return every ? json_integer((json_int_t)every) : json_null();
}

static json_t *reply_json(struct daemon *daemon, const struct kp_request *request,
	const struct kp_decision *decision, bool explain)
{
	const struct kp_table *table = &daemon->generation.table;
	json_t *reply = kp_decision_json(table, request, decision);

	if (!reply)
		return NULL;
	int result = json_object_set_new(
		reply, "pending", kp_registry_pending(daemon->registry));
	if (result == 0)
		result = remarks_add(daemon, !request->on, reply);
	if (result == 0 && explain)
		result = json_object_set_new(
			reply, "candidates", kp_explain_json(table, request));
	if (result == 0 && explain)
		result = json_object_set_new(
			reply, "guard", guard_json(table, request->operation));
	if (result == 0)
		return reply;
	json_decref(reply);
	return NULL;
}

/*
 * The request with the family's own names of dims, and what it says of those that are not
 * named: the table knows no aliases. A new reference.
 */
static int name_dims(
	const struct daemon *daemon, json_t *asked, json_t **named, struct kp_diag *diag)
{
	const char *operation = json_string_value(json_object_get(asked, "operation"));
	const json_t *given = json_object_get(asked, "shape");
	const struct kp_family *family =
		operation ? kp_families_find(&daemon->families, operation) : NULL;
	struct kp_shape shape;

	if (!family || !json_is_object(given) ||
		(!family->aliases && !family->defaults)) {
		*named = json_incref(asked);
		return 0;
	}
	if (kp_shape_from_json(given, family, &shape, diag) < 0)
		return -1;
	json_t *copy = json_copy(asked);
	if (json_object_set_new(copy, "shape", kp_shape_json(&shape)) < 0) {
		json_decref(copy);
		return kp_diag_no_memory(diag);
	}
	*named = copy;
	return 0;
}

static void decide(struct daemon *daemon, struct call *call, bool explain)
{
	const struct kp_table *table = daemon_table(daemon);
	owned_json *asked = NULL;
	struct kp_decision decision;
	struct kp_request request;
	struct kp_diag diag;

	if (name_dims(daemon, json_object_get(call_parameters(call), "request"), &asked,
		    &diag) < 0 ||
		kp_request_from_json(table, asked, &request, &diag) < 0) {
		call_fail(call, &diag, NULL);
		return;
	}
	struct quarantine_whose whose = {daemon, call_uid(call)};
	const struct kp_overlay overlay = quarantine_overlay(&whose);
	if (quarantine_has_own(daemon, whose.uid))
		request.overlay = &overlay;
	if (kp_select(table, &request, &decision, &diag) < 0) {
		fail_decision(daemon, call, &request, &diag);
	} else {
		json_t *reply = reply_json(daemon, &request, &decision, explain);
		if (kp_registry_is_pending(daemon->registry, NULL))
			call_reply(call, reply);
		else
			call_reply_lasting(call, reply);
		kp_decision_finish(&decision);
	}
	kp_request_finish(&request);
}

static void answer_select(struct daemon *daemon, struct call *call)
{
	decide(daemon, call, false);
}

static void answer_explain(struct daemon *daemon, struct call *call)
{
	decide(daemon, call, true);
}

static const json_t *settle_ms(const struct call *call)
{
	const json_t *request = json_object_get(call_parameters(call), "request");
	return json_object_get(request, "settle_ms");
}

static void select_kernel(struct daemon *daemon, struct call *call)
{
	settle(daemon, call, settle_ms(call), answer_select);
}

static void explain(struct daemon *daemon, struct call *call)
{
	settle(daemon, call, settle_ms(call), answer_explain);
}

const struct method method_select[] = {
	{"Select", ROLE_OBSERVER, select_kernel},
	{"Explain", ROLE_OBSERVER, explain},
	{NULL, ROLE_ADMIN, NULL},
};
