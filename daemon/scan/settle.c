/* SPDX-License-Identifier: MIT */
/* Waits of calls for the first scan. */
#include "daemon/scan/settle.h"

#include <stdlib.h>

#include "daemon/daemon.h"
#include "daemon/devices.h"
#include "daemon/method/method.h"
#include "daemon/scan/scan.h"
#include "daemon/socket/wait.h"

enum { SETTLE_MOST_MS = 600000, NAMES_MS = 10000 };

struct later {
	void (*answer)(struct daemon *daemon, struct call *call);
};

static bool has_settled(struct daemon *daemon, void *context)
{
	(void)context;
	return scan_has_settled(daemon->scan) && devices_has_settled(daemon->devices);
}

static bool has_read(struct daemon *daemon, void *context)
{
	(void)context;
	return scan_has_read(daemon->scan);
}

static void run(struct daemon *daemon, struct call *call, void *context)
{
	struct later *later = context;
	later->answer(daemon, call);
}

static void wait_until(struct daemon *daemon, struct call *call, int64_t ms,
	bool (*is_over)(struct daemon *daemon, void *context),
	void (*answer)(struct daemon *daemon, struct call *call))
{
	struct later *later = malloc(sizeof(*later));
	if (!later) {
		call_reply(call, NULL);
		return;
	}
	later->answer = answer;
	wait_for(daemon, call,
		&(struct wait_request){.timeout_ms = ms,
			.is_over = is_over,
			.run = run,
			.context = later});
}

void settle(struct daemon *daemon, struct call *call, const json_t *settle_ms,
	void (*answer)(struct daemon *daemon, struct call *call))
{
	json_int_t ms = json_integer_value(settle_ms);
	if (ms <= 0)
		answer(daemon, call);
	else
		wait_until(daemon, call, ms < SETTLE_MOST_MS ? ms : SETTLE_MOST_MS,
			has_settled, answer);
}

void settle_table(struct daemon *daemon, struct call *call, const json_t *settle_ms,
	void (*answer)(struct daemon *daemon, struct call *call))
{
	settle(daemon, call, daemon->restored ? NULL : settle_ms, answer);
}

void settle_names(struct daemon *daemon, struct call *call,
	void (*answer)(struct daemon *daemon, struct call *call))
{
	wait_until(daemon, call, NAMES_MS, has_read, answer);
}
