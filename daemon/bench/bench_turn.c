/* SPDX-License-Identifier: MIT */
/* One benchmark or verification at a time. */
#include "daemon/bench/bench_turn.h"

#include "daemon/bench/bench.h"
#include "daemon/daemon.h"
#include "daemon/method/method.h"
#include "daemon/scan/scan.h"
#include "daemon/socket/wait.h"
#include "lib/protocol/message.h"

enum { SETTLE_MS = 60000 };

static bool is_leaving(const struct daemon *daemon)
{
	return daemon->bench && bench_is_cancelled(daemon->bench);
}

static bool is_settled(struct daemon *daemon, void *context)
{
	(void)context;
	return scan_has_settled(daemon->scan) &&
	       !kp_registry_is_pending(daemon->registry, NULL) && !is_leaving(daemon);
}

bool bench_turn_is_free(const struct daemon *daemon, struct call *call)
{
	struct kp_diag diag;

	if (!daemon->bench)
		return true;
	kp_diag_set(&diag, "bench_busy", "plugind",
		"a benchmark or a verification is under way: a second would disturb it; "
		"ask again when it has ended");
	call_fail_with(call, KP_INTERFACE ".Busy", kp_diag_json(&diag));
	return false;
}

void bench_turn_wait(struct daemon *daemon, struct call *call,
	void (*run)(struct daemon *daemon, struct call *call, void *context))
{
	if (is_leaving(daemon) || bench_turn_is_free(daemon, call))
		wait_for(daemon, call,
			&(struct wait_request){.timeout_ms = SETTLE_MS,
				.is_over = is_settled,
				.run = run});
}

void bench_turn_next(struct daemon *daemon)
{
	if (!daemon->closing)
		waits_look(daemon);
}
