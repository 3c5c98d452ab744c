/* SPDX-License-Identifier: MIT */
/* Reading the files of a state directory; of state.c only, which says what they do. */
#ifndef KP_DAEMON_STATE_READ_H
#define KP_DAEMON_STATE_READ_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/diag.h"
#include "lib/registry/decisions.h"

extern const char state_decisions_name[], state_old_name[], state_table_name[],
	state_index_name[], state_incidents_name[], state_history_name[];

struct state_place {
	int dir;
	const char *path; /* for messages */
};

/* *is_good: the file is there and has no fault. */
int state_read_decisions(const struct state_place *place, struct kp_decisions *decisions,
	bool *is_good, struct kp_diags *lost, struct kp_diag *diag)
	__attribute__((warn_unused_result));
int state_read_table(const struct state_place *place, void **bytes, size_t *size,
	struct kp_diags *warnings, struct kp_diag *diag)
	__attribute__((warn_unused_result));
/* NULL: absent, or it cannot be read, which is a warning. */
void *state_read_index(
	const struct state_place *place, size_t *size, struct kp_diags *warnings);
char *state_read_incidents(
	const struct state_place *place, size_t *size, struct kp_diags *warnings);
char *state_read_history(
	const struct state_place *place, size_t *size, struct kp_diags *warnings);
/* Moves the file away and says why, and, with `now`, what that means. */
void state_set_aside(const struct state_place *place, const char *name,
	const struct kp_diag *why, const char *now, struct kp_diags *warnings);

#endif
