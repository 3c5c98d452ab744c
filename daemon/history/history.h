/* SPDX-License-Identifier: MIT */
/*
 * What ran under each plugin's name, and can run again: kept in memory and in
 * history.json of the state directory. Loop thread only. Removes nothing from the store.
 */
#ifndef KP_DAEMON_HISTORY_H
#define KP_DAEMON_HISTORY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/history/chronicle.h"
#include "lib/base/diag.h"

struct daemon;
struct history;
struct kp_manifests;

enum { HISTORY_GONE_DAYS = 30 }; /* of a plugin that has left */

/* NULL for want of memory. */
struct history *history_new(struct daemon *daemon);
/*
 * Reads what an earlier plugind has kept, once the state directory is open. What is
 * damaged is set aside and told among the daemon's warnings, when it is found.
 */
void history_load(struct history *history, struct kp_diags *warnings);
/*
 * Has it parsed in the pool, which takes a while: all below wait for that but
 * history_follow, which is done then. Who asks before has it parsed at once.
 */
void history_read_on(struct history *history);
/* Waits for it: whatever is wrong has been told. NULL is fine. */
void history_settle(struct history *history);
/* Writes what is not on the disk yet, before the state closes. NULL is fine in both. */
void history_close(struct history *history);
void history_free(struct history *history);

/* A plugin has another verdict, or has left. */
void history_follow(struct history *history, const char *plugin);
void history_leave(struct history *history, const char *plugin);

/* All of them: borrowed, until the next of these functions. */
const struct chronicles *history_all(struct history *history);
/* Forgets one generation: it is not in the store any more. */
void history_forget(struct history *history, const char *plugin, int64_t number);
/* Forgets plugins that left long ago, and more generations than are to be kept. */
void history_tidy(struct history *history);

/*
 * May entries of the store be of no use that no history names? No: a damaged one was set
 * aside, and has not been removed since.
 */
bool history_is_whole(struct history *history);

/*
 * The generation to go back to: `number`, or, where it is 0, the last one before the
 * current. Codes no_such_generation, no_earlier_generation.
 */
const struct edition *history_choose(struct history *history, const char *plugin,
	int64_t number, struct kp_diag *diag);
/* A new array of Generation of the interface, the newest first. NULL: memory. */
json_t *history_json(struct daemon *daemon, const char *plugin);

/*
 * Brings manifests in line with what was rolled back: each leads to a path of the store,
 * or to its own library again. -1: memory.
 */
int history_roll(struct daemon *daemon, struct kp_manifests *manifests)
	__attribute__((warn_unused_result));

#endif
