/* SPDX-License-Identifier: MIT */
/* Pin, Unpin and Pins: the kernel that an operator wants for an operation. */
#include "daemon/method/method.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/daemon.h"
#include "daemon/scan/settle.h"
#include "daemon/state/change.h"
#include "daemon/state/pinned.h"
#include "lib/base/json.h"
#include "lib/select/override.h"
#include "lib/select/query.h"

/* ---- Pin --------------------------------------------------------------------- */

static int check_force(const struct call *call, bool force, struct kp_diag *diag)
{
	if (!force || call_role(call) >= ROLE_ADMIN)
		return 0;
	return role_refuse("Pin", "Pin with force",
		&(struct role_held){call_role(call), call_uid(call)}, ROLE_ADMIN, diag);
}

/*
 * What is kept for a choice: the whole id of a kernel, which stays what it is when
 * another plugin brings one of this name, or a solution. malloc'ed.
 */
static int resolve(struct daemon *daemon, const char *operation, const char *choice,
	char **kept, struct kp_diag *diag)
{
	const struct kp_request request = {.operation = operation, .any_signature = true};
	const struct kp_table *table = daemon_table(daemon);
	struct kp_query *query = kp_query_new(table, &request, diag);
	char id[KP_KERNEL_ID_BYTES];
	size_t kernel;

	if (!query)
		return -1;
	int result = kp_override_find(query, choice, &kernel, diag);
	bool is_kernel = result == 0 &&
			 kp_table_find(table, operation, choice, &kernel, NULL) == 0;
	free(query);
	if (result < 0)
		return -1;
	*kept = strdup(
		is_kernel ? kp_table_kernel_id(table, kernel, id, sizeof(id)) : choice);
	return *kept ? 0 : kp_diag_no_memory(diag);
}

/* What the pin comes to, as Pins says it. Takes the reply. */
static json_t *tell_pin(struct daemon *daemon, const char *operation, json_t *reply)
{
	const struct kp_pin *pin = kp_decisions_find_pin(&daemon->decisions, operation);
	json_t *outcome;

	/* Somebody else may have taken it back meanwhile. */
	if (!pin)
		return kp_json_merge(reply, json_pack("{s:b, s:n, s:[]}", "applies", 0,
						    "selected", "reasons"));
	outcome = kp_pin_json(daemon_table(daemon), pin);
	return kp_json_merge(reply, outcome);
}

static json_t *members(const struct daemon *daemon, const char *operation,
	const char *choice, bool force)
{
	const struct kp_pin *before =
		kp_decisions_find_pin(&daemon->decisions, operation);
	return json_pack("{s:s, s:s, s:b, s:s?}", "operation", operation, "choice",
		choice, "force", force, "previous", before ? before->choice : NULL);
}

static void answer_pin(struct daemon *daemon, struct call *call)
{
	const json_t *parameters = call_parameters(call);
	const char *operation = kp_json_text(parameters, "operation");
	bool force = json_is_true(json_object_get(parameters, "force"));
	struct kp_diag diag;
	char *choice;

	if (check_force(call, force, &diag) < 0 ||
		resolve(daemon, operation, kp_json_text(parameters, "choice"), &choice,
			&diag) < 0) {
		call_fail(call, &diag, NULL);
		return;
	}
	struct wish wish = {.name = operation,
		.object = choice,
		.kind = "pin",
		.what = force ? "pinned by force" : "pinned",
		.reason = "",
		.keep = true,
		.members = members(daemon, operation, choice, force),
		.tell = tell_pin};
	if (!wish.members || kp_decisions_copy(&daemon->decisions, &wish.next) < 0 ||
		kp_decisions_pin(&wish.next, operation, choice, force, daemon_now(),
			call_uid(call), &wish.changed) < 0)
		wish_give_up(&wish, call);
	else
		wish_commit(&wish, daemon, call);
	free(choice);
}

static void pin(struct daemon *daemon, struct call *call)
{
	settle_names(daemon, call, answer_pin);
}

/* ---- Unpin ------------------------------------------------------------------- */

/* One of an operation that has left is known as long as it is there. */
static int check_operation(
	struct daemon *daemon, const char *operation, struct kp_diag *diag)
{
	const struct kp_request request = {.operation = operation, .any_signature = true};

	if (kp_decisions_find_pin(&daemon->decisions, operation))
		return 0;
	struct kp_query *query = kp_query_new(daemon_table(daemon), &request, diag);
	int result = query ? 0 : -1;
	free(query);
	return result;
}

static void answer_unpin(struct daemon *daemon, struct call *call)
{
	const char *operation = kp_json_text(call_parameters(call), "operation");
	struct kp_diag diag;

	if (check_operation(daemon, operation, &diag) < 0) {
		call_fail(call, &diag, NULL);
		return;
	}
	const struct kp_pin *before =
		kp_decisions_find_pin(&daemon->decisions, operation);
	struct wish wish = {.name = operation,
		.kind = "unpin",
		.what = "unpinned",
		.reason = "",
		.keep = true,
		.members = json_pack("{s:s, s:s?}", "operation", operation, "previous",
			before ? before->choice : NULL)};
	if (!wish.members || kp_decisions_copy(&daemon->decisions, &wish.next) < 0 ||
		kp_decisions_pin(
			&wish.next, operation, NULL, false, 0, 0, &wish.changed) < 0)
		wish_give_up(&wish, call);
	else
		wish_commit(&wish, daemon, call);
}

static void unpin(struct daemon *daemon, struct call *call)
{
	settle_names(daemon, call, answer_unpin);
}

/* ---- Pins -------------------------------------------------------------------- */

static void answer_pins(struct daemon *daemon, struct call *call)
{
	json_t *list = pinned_list(daemon);

	call_reply(call, list ? json_pack("{s:o, s:o}", "pins", list, "pending",
					kp_registry_pending(daemon->registry))
			      : NULL);
}

static void pins(struct daemon *daemon, struct call *call)
{
	settle(daemon, call, json_object_get(call_parameters(call), "settle_ms"),
		answer_pins);
}

const struct method method_pin[] = {
	{"Pin", ROLE_OPERATOR, pin},
	{"Unpin", ROLE_OPERATOR, unpin},
	{"Pins", ROLE_OBSERVER, pins},
	{NULL, ROLE_ADMIN, NULL},
};
