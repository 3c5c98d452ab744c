/* SPDX-License-Identifier: MIT */
/*
 * How often something has happened since the start, by name: what `metrics` counts.
 * Names are few and this program's own; one that finds no room is not counted.
 */
#ifndef KP_DAEMON_TALLY_H
#define KP_DAEMON_TALLY_H

#include <stddef.h>
#include <stdint.h>

#include "lib/plugin/supervisor.h"

enum { TALLY_ROWS = 96, TALLY_NAME = 40 };

struct tally_row {
	char name[TALLY_NAME];
	uint64_t count;
	double seconds; /* that it has taken in all, where that is measured */
};

struct tally {
	struct tally_row rows[TALLY_ROWS];
	size_t n;
};

/* The row of this name, made when it is new; NULL: no room, or a name that is too long.
 */
struct tally_row *tally_row(struct tally *tally, const char *name);

/* One more. */
void tally_add(struct tally *tally, const char *name);

/* What plugind counts: workers by what they did, deaths by how workers ended otherwise.
 */
struct tallies {
	struct tally calls, errors, events, incidents, workers, deaths;
};

/* For pool_options: context is the tallies. */
void tallies_worker_ended(
	void *context, const char *kind, const struct kp_worker_result *result);

#endif
