/* SPDX-License-Identifier: MIT */
/* Logs: what happened to a plugin. */
#include "daemon/method/method.h"

#include "daemon/daemon.h"
#include "daemon/pipeline/failures.h"
#include "daemon/scan/settle.h"
#include "lib/base/json.h"

static void answer_logs(struct daemon *daemon, struct call *call)
{
	const char *name = kp_json_text(call_parameters(call), "name");
	enum kp_state state;
	struct kp_diag diag;

	daemon_table(daemon);
	if (kp_registry_resolve(daemon->registry, name, &diag) < 0) {
		call_fail(call, &diag, NULL);
		return;
	}
	if (!kp_registry_state(daemon->registry, name, &state)) {
		kp_diag_set(&diag, "not_a_plugin", name,
			"%s is a kernel: failures are those of plugins", name);
		call_fail(call, &diag, NULL);
		return;
	}
	json_t *list = failures_of(daemon->failures, name);
	call_reply(call, list ? json_pack("{s:s, s:s, s:o}", "name", name, "state",
					kp_state_name(state), "failures", list)
			      : NULL);
}

static void logs(struct daemon *daemon, struct call *call)
{
	settle_names(daemon, call, answer_logs);
}

const struct method method_logs[] = {
	{"Logs", ROLE_OBSERVER, logs},
	{NULL, ROLE_ADMIN, NULL},
};
