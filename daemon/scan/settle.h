/* SPDX-License-Identifier: MIT */
/* Replies that may wait until the first scan has ended, as the client asks. */
#ifndef KP_DAEMON_SETTLE_H
#define KP_DAEMON_SETTLE_H

#include <jansson.h>

struct call;
struct daemon;

/*
 * Runs `answer` once every plugin of the first scan has had its verdict, or the
 * milliseconds that `settle_ms` holds are over; at once when it is absent or 0.
 */
void settle(struct daemon *daemon, struct call *call, const json_t *settle_ms,
	void (*answer)(struct daemon *daemon, struct call *call));

/*
 * The same, but at once where the table of the last run is in force: it was made when all
 * had settled, and what differs follows.
 */
void settle_table(struct daemon *daemon, struct call *call, const json_t *settle_ms,
	void (*answer)(struct daemon *daemon, struct call *call));

/*
 * Runs it once the manifests have been read for the first time (no probe is
 * waited for): what is found nowhere before that may yet be there.
 */
void settle_names(struct daemon *daemon, struct call *call,
	void (*answer)(struct daemon *daemon, struct call *call));

#endif
