/* SPDX-License-Identifier: MIT */
/*
 * The state directory: what operators decided, durably, the last good table and its
 * index. Writes are done in libuv's pool, one after the other.
 */
#ifndef KP_DAEMON_STATE_H
#define KP_DAEMON_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>
#include <uv.h>

#include "daemon/state/state_file.h"
#include "lib/base/diag.h"
#include "lib/registry/decisions.h"

struct state;

/*
 * Makes the directory (0711 for the system, else 0700) and takes its lock. Codes
 * already_running, foreign_file, write_failed.
 */
int state_open(uv_loop_t *loop, const char *path, bool system, struct state **state,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/*
 * Reads decisions.json; absent is empty. Entries that are wrong are left out and added
 * to `lost` (bad_decisions), after damaged_state, which names the copy that is kept
 * (daemon/state/aside.h). A file that is wrong as a whole is moved aside and added to
 * `lost`; then decisions.json.old, the one before the last change, holds, if there is
 * one. So it is with one that was set aside earlier, as long as nothing was decided
 * since. Fails, and moves nothing, when it cannot be read for another reason, is a link
 * to nothing, or of a newer kplug: codes of kp_file_read, newer_format.
 */
int state_decisions(struct state *state, struct kp_decisions *decisions,
	struct kp_diags *lost, struct kp_diag *diag) __attribute__((warn_unused_result));

/*
 * The last table, malloc'ed; NULL when there is none. One that is too large is set
 * aside with a warning; fails when it cannot be read for another reason.
 */
int state_table(struct state *state, void **bytes, size_t *size,
	struct kp_diags *warnings, struct kp_diag *diag)
	__attribute__((warn_unused_result));
/*
 * Is the table of a run that asked for the signatures of this digest (struct keys_stamp;
 * "": none) and was it made after the newest change of keys; or is there none? Else table
 * and index are removed: false. The next table is asked for by this digest. Before
 * state_table.
 */
bool state_is_signed_by(
	struct state *state, const char *digest, const struct timespec *newest);
/* The table of state_table is not one: set it aside. */
void state_table_is_damaged(
	struct state *state, const struct kp_diag *diag, struct kp_diags *warnings);

/*
 * Writes the decisions; `done` is called in the loop thread once these, or later
 * ones, are on the disk (diag NULL), or could not be written; at once where this run has
 * written just these. Codes no_memory,
 * decisions_full: never for what kp_decisions_fit was asked about.
 */
int state_keep_decisions(struct state *state, const struct kp_decisions *decisions,
	state_done_fn *done, void *context, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/* Writes a copy of the table, soon and without fsync; a failure is forgotten. */
void state_keep_table(struct state *state, const void *bytes, size_t size);

/* Writes the index (daemon/scan/index.h) without fsync: takes its bytes. */
void state_keep_index(struct state *state, void *bytes, size_t size);
/*
 * The last index, malloc'ed; NULL: there is none that could be read, and *warnings says
 * so where one is there.
 */
void *state_index(struct state *state, size_t *size, struct kp_diags *warnings);
void state_index_is_damaged(
	struct state *state, const struct kp_diag *diag, struct kp_diags *warnings);

/*
 * Writes incidents.json (daemon/incident/incidents.h), durably: takes its text. Later
 * ones take the place of what waits.
 */
void state_keep_incidents(struct state *state, char *text, size_t size);
/* The last text, malloc'ed and terminated, or NULL, as state_index does it. */
char *state_incidents(struct state *state, size_t *size, struct kp_diags *warnings);
void state_incidents_are_damaged(
	struct state *state, const struct kp_diag *diag, struct kp_diags *warnings);

/* The same of history.json (daemon/history/history.h). */
void state_keep_history(struct state *state, char *text, size_t size);
char *state_history(struct state *state, size_t *size, struct kp_diags *warnings);
/* `now`: what that means. */
void state_history_is_damaged(struct state *state, const struct kp_diag *diag,
	const char *now, struct kp_diags *warnings);
/* Is there one that was set aside, in this run or an earlier one? */
bool state_history_was_damaged(const struct state *state);
/*
 * Incidents and history that could not be written are tried again every few seconds, and
 * at the end: `failed` is told so once, until they could.
 */
void state_on_failed(struct state *state, state_done_fn *failed, void *context);

/* Waits for what is under way, lets go of the lock and frees. NULL is fine. */
void state_close(struct state *state);

#endif
