/* SPDX-License-Identifier: MIT */
/* Attach, Clients and Family: what applications ask that run kernels themselves. */
#include "daemon/method/method.h"

#include <string.h>

#include "daemon/application/attached.h"
#include "daemon/daemon.h"
#include "daemon/event.h"
#include "daemon/scan/settle.h"
#include "lib/base/json.h"
#include "lib/family/family.h"

/* Its generation is of another start: ours must differ from all that it has seen. */
static int overtake(struct daemon *daemon, struct call *call, struct kp_diag *diag)
{
	const json_t *parameters = call_parameters(call);
	bool may_leap = call_role(call) >= ROLE_OPERATOR;
	const char *boot = kp_json_text(parameters, "boot");
	json_int_t seen = json_integer_value(json_object_get(parameters, "seen"));

	if (boot && strcmp(boot, events_boot(daemon->events)) == 0)
		return 0;
	if (seen < 0)
		return kp_diag_set(diag, "bad_generation", "seen",
			"seen is a generation, 0 or more");
	daemon_table(daemon);
	if (seen == 0 || (uint64_t)seen < daemon->generation.number)
		return 0;
	if (attached_may_overtake(daemon->attached, diag) < 0)
		return -1;
	return generation_overtake(&daemon->generation, daemon->registry, (uint64_t)seen,
		may_leap ? GENERATION_MOST : GENERATION_LEAP, diag);
}

static void answer_attach(struct daemon *daemon, struct call *call)
{
	const json_t *parameters = call_parameters(call);
	struct kp_diag diag;

	if (overtake(daemon, call, &diag) < 0 ||
		attached_enter(daemon->attached, call, kp_json_text(parameters, "name"),
			&diag) < 0)
		call_fail(call, &diag, NULL);
}

/*
 * An application that comes from a plugind that was killed may have a later table than
 * was kept, which is not worth going back to.
 */
static bool has_later_table(struct daemon *daemon, const json_t *parameters)
{
	const char *boot = kp_json_text(parameters, "boot");
	json_int_t seen = json_integer_value(json_object_get(parameters, "seen"));

	return daemon->restored && seen > 0 && (uint64_t)seen > daemon->restored &&
	       !(boot && strcmp(boot, events_boot(daemon->events)) == 0);
}

static void attach(struct daemon *daemon, struct call *call)
{
	const json_t *parameters = call_parameters(call);
	const json_t *settle_ms = json_object_get(parameters, "settle_ms");

	if (!call_wants_more(call))
		call_fail_with(call, "org.varlink.service.ExpectedMore", json_object());
	else if (has_later_table(daemon, parameters))
		settle(daemon, call, settle_ms, answer_attach);
	else
		settle_table(daemon, call, settle_ms, answer_attach);
}

static void clients(struct daemon *daemon, struct call *call)
{
	daemon_table(daemon);
	call_reply(
		call, json_pack("{s:o, s:I}", "clients", attached_json(daemon->attached),
			      "generation", (json_int_t)daemon->generation.number));
}

static void family(struct daemon *daemon, struct call *call)
{
	const char *operation = kp_json_text(call_parameters(call), "operation");
	const struct kp_family *found = kp_families_find(&daemon->families, operation);
	struct kp_diag diag;

	if (found) {
		call_reply(call, json_pack("{s:O, s:s}", "family", found->root, "digest",
					 found->digest));
		return;
	}
	kp_diag_set(&diag, "unknown_operation", operation,
		"no family describes the operation %s", operation);
	call_fail(call, &diag, kp_families_nearest(&daemon->families, operation));
}

const struct method method_attach[] = {
	{"Attach", ROLE_OBSERVER, attach},
	{"Clients", ROLE_OBSERVER, clients},
	{"Family", ROLE_OBSERVER, family},
	{NULL, ROLE_ADMIN, NULL},
};
