/* SPDX-License-Identifier: MIT */
/* Rules about solutions, from a call's parameters. */
#include "daemon/state/solution.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/application/attached.h"
#include "daemon/daemon.h"
#include "daemon/method/method.h"
#include "daemon/state/change.h"
#include "lib/base/json.h"
#include "lib/select/override.h"
#include "lib/select/query.h"

bool solution_is_meant(const struct call *call)
{
	return kp_json_text(call_parameters(call), "solution") != NULL;
}

/* Has any kernel of the operation this solution, in whatever state? */
static int check_names(
	struct daemon *daemon, const struct kp_request *request, struct kp_diag *diag)
{
	struct kp_query *query = kp_query_new(daemon_table(daemon), request, diag);
	int result =
		query ? kp_override_has_solution(query, request->solution, diag) : -1;

	free(query);
	return result;
}

/* The names of the call; answers it where nobody has such a solution. */
static bool names_resolve(
	struct daemon *daemon, struct call *call, struct kp_request *request)
{
	const json_t *parameters = call_parameters(call);
	struct kp_diag diag;

	*request = (struct kp_request){.operation = kp_json_text(parameters, "name"),
		.solution = kp_json_text(parameters, "solution"),
		.any_signature = true};
	/* A rule holds also for kernels that have left: it can always be asked about. */
	if (kp_decisions_find_rule(
		    &daemon->decisions, request->operation, request->solution) ||
		check_names(daemon, request, &diag) == 0)
		return true;
	call_fail(call, &diag, NULL);
	return false;
}

static json_t *names_json(const struct kp_request *request)
{
	return json_pack(
		"{s:s, s:s}", "name", request->operation, "solution", request->solution);
}

void solution_disable(struct daemon *daemon, struct call *call)
{
	const json_t *parameters = call_parameters(call);
	const char *reason = kp_json_text(parameters, "reason");
	bool runtime = json_is_true(json_object_get(parameters, "runtime"));
	struct kp_request names;

	if (!names_resolve(daemon, call, &names))
		return;
	struct wish wish = {.name = names.operation,
		.object = names.solution,
		.kind = "disable",
		.what = runtime ? "solution disabled until the next start"
				: "solution disabled",
		.reason = reason ? reason : "",
		.keep = !runtime,
		.tell = attached_add_all};
	if (!wish_has_good_reason(&wish, call))
		return;
	wish.members = names_json(&names);
	if (!wish.members || kp_decisions_copy(&daemon->decisions, &wish.next) < 0 ||
		kp_decisions_rule(&wish.next, names.operation, names.solution,
			wish.reason, daemon_now(), call_uid(call), runtime,
			&wish.changed) < 0)
		wish_give_up(&wish, call);
	else
		wish_commit(&wish, daemon, call);
}

static const char *state_of(const struct kp_rule *rule)
{
	return !rule ? "enabled" : rule->runtime ? "disabled-runtime" : "disabled";
}

void solution_enable(struct daemon *daemon, struct call *call)
{
	struct kp_request names;

	if (!names_resolve(daemon, call, &names))
		return;
	struct wish wish = {.name = names.operation,
		.object = names.solution,
		.kind = "enable",
		.what = "solution enabled",
		.reason = "",
		.keep = true,
		.members = json_pack("{s:s, s:s, s:b, s:s, s:n}", "name", names.operation,
			"solution", names.solution, "enabled", 1, "state", "enabled",
			"reason")};
	if (!wish.members || kp_decisions_copy(&daemon->decisions, &wish.next) < 0) {
		wish_give_up(&wish, call);
		return;
	}
	wish.changed = kp_decisions_unrule(&wish.next, names.operation, names.solution);
	wish_commit(&wish, daemon, call);
}

void solution_is_enabled(struct daemon *daemon, struct call *call)
{
	struct kp_request names;

	if (!names_resolve(daemon, call, &names))
		return;
	const struct kp_rule *rule = kp_decisions_find_rule(
		&daemon->decisions, names.operation, names.solution);
	json_t *reply = names_json(&names);
	call_reply(call,
		kp_json_merge(reply, json_pack("{s:b, s:s}", "enabled", rule == NULL,
					     "state", state_of(rule))));
}
