/* SPDX-License-Identifier: MIT */
/* Guard and Guards: operations of which one call in so many is compared. */
#include "daemon/method/method.h"

#include "daemon/daemon.h"
#include "daemon/scan/settle.h"
#include "daemon/state/change.h"
#include "daemon/state/guarding.h"
#include "lib/base/json.h"

/* ---- Guard ------------------------------------------------------------------- */

/* 0: no more of it. */
static int read_every(const json_t *parameters, uint32_t *every, struct kp_diag *diag)
{
	const json_t *given = json_object_get(parameters, "every");
	json_int_t value = json_integer_value(given);

	*every = 0;
	if (!json_is_integer(given))
		return 0;
	if (value < 1 || value > UINT32_MAX)
		return kp_diag_set(diag, "bad_every", "every",
			"every: one call in %lld cannot be compared, 1 to %u expected",
			(long long)value, UINT32_MAX);
	*every = (uint32_t)value;
	return 0;
}

/* One of an operation that has left is taken back as long as it is there. */
static int check(struct daemon *daemon, const char *operation, uint32_t every,
	struct kp_diag *diag)
{
	if (every == 0 && kp_decisions_find_guard(&daemon->decisions, operation))
		return 0;
	return guarding_check(daemon, operation, diag);
}

static json_t *every_json(uint32_t every)
{
	return every ? json_integer((json_int_t)every) : json_null();
}

static json_t *members(struct daemon *daemon, const char *operation, uint32_t every)
{
	const struct kp_guarding *before =
		kp_decisions_find_guard(&daemon->decisions, operation);
	json_t *reference = guarding_reference(daemon, operation);

	return reference ? kp_json_merge(
				   json_pack("{s:s, s:o, s:o}", "operation", operation,
					   "every", every_json(every), "previous",
					   every_json(before ? before->every : 0)),
				   reference)
			 : NULL;
}

static void commit(
	struct daemon *daemon, struct call *call, const char *operation, uint32_t every)
{
	json_t *object = every ? json_sprintf("1 in %u", every) : NULL;
	struct wish wish = {.name = operation,
		.object = json_string_value(object),
		.kind = every ? "guard" : "unguard",
		.what = every ? "compared with the reference" : "not compared any more",
		.reason = "",
		.keep = true,
		.members = members(daemon, operation, every)};

	if ((every && !object) || !wish.members ||
		kp_decisions_copy(&daemon->decisions, &wish.next) < 0 ||
		kp_decisions_guard(&wish.next, operation, every, daemon_now(),
			call_uid(call), &wish.changed) < 0)
		wish_give_up(&wish, call);
	else
		wish_commit(&wish, daemon, call);
	json_decref(object);
}

static void answer_guard(struct daemon *daemon, struct call *call)
{
	const json_t *parameters = call_parameters(call);
	const char *operation = kp_json_text(parameters, "operation");
	struct kp_diag diag;
	uint32_t every;

	if (read_every(parameters, &every, &diag) < 0 ||
		check(daemon, operation, every, &diag) < 0)
		call_fail(call, &diag, NULL);
	else
		commit(daemon, call, operation, every);
}

static void guard(struct daemon *daemon, struct call *call)
{
	settle_names(daemon, call, answer_guard);
}

/* ---- Guards ------------------------------------------------------------------ */

static void answer_guards(struct daemon *daemon, struct call *call)
{
	json_t *list = guarding_list(daemon);

	call_reply(call, list ? json_pack("{s:o, s:o}", "guards", list, "pending",
					kp_registry_pending(daemon->registry))
			      : NULL);
}

static void guards(struct daemon *daemon, struct call *call)
{
	settle(daemon, call, json_object_get(call_parameters(call), "settle_ms"),
		answer_guards);
}

const struct method method_guard[] = {
	{"Guard", ROLE_OPERATOR, guard},
	{"Guards", ROLE_OBSERVER, guards},
	{NULL, ROLE_ADMIN, NULL},
};
