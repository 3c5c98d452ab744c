/* SPDX-License-Identifier: MIT */
/* Reading the state directory: what is wrong is kept, said, and holds as far as it can.
 */
#include "daemon/state/state_read.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "daemon/history/history_file.h"
#include "daemon/scan/index.h"
#include "daemon/state/aside.h"
#include "lib/base/file.h"
#include "lib/base/json.h"
#include "lib/table/table_layout.h"

const char state_decisions_name[] = "decisions.json";
const char state_old_name[] = "decisions.json.old";
const char state_table_name[] = "table";
const char state_index_name[] = "index";
const char state_incidents_name[] = "incidents.json";
const char state_history_name[] = "history.json";

/* Says what is wrong with a file, and what became of it and of what it said. */
static void say_damaged(const struct state_place *place, const char *name,
	const struct kp_diag *why, const char *now, struct kp_diags *warnings)
{
	struct kp_diag diag = *why;

	kp_diag_set(&diag, "damaged_state", name, "%s/%s is damaged (%s); %s",
		place->path, name, why->message, now);
	kp_diags_add(warnings, &diag);
}

/* Kept for whoever wants to look, out of the way of what replaces it. */
void state_set_aside(const struct state_place *place, const char *name,
	const struct kp_diag *why, const char *now, struct kp_diags *warnings)
{
	char aside[ASIDE_BYTES];
	char text[200];

	if (aside_move(place->dir, name, aside))
		(void)snprintf(text, sizeof(text), "it is now %s%s", aside, now);
	else
		(void)snprintf(text, sizeof(text), "and cannot be moved away%s", now);
	say_damaged(place, name, why, text, warnings);
}

enum content { FAILED = -1, ABSENT, DAMAGED, PRESENT };

/* A link to nothing was made by somebody: what it means is not that nothing was kept. */
static bool is_link(const struct state_place *place, const char *name)
{
	struct stat st;
	return fstatat(place->dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* What cannot be read now may be right: only what is in it can be wrong. */
static enum content read_content(const struct state_place *place, const char *name,
	size_t limit, char **text, size_t *size, struct kp_diag *diag)
{
	struct kp_diag why;

	if (kp_file_read(place->dir, name, limit, text, size, &why) == 0)
		return PRESENT;
	if (strcmp(why.code, "missing_file") == 0 && !is_link(place, name))
		return ABSENT;
	if (strcmp(why.code, "file_too_large") == 0) {
		*diag = why;
		return DAMAGED;
	}
	if (strcmp(why.code, "missing_file") == 0)
		kp_diag_set(diag, why.code, name,
			"%s/%s is a link, and what it leads to is not there", place->path,
			name);
	else
		kp_diag_set(diag, why.code, name, "%s/%s: %s", place->path, name,
			why.message);
	return FAILED;
}

/* What is wrong in it alone is added to `wrong`. */
static enum content read_decisions(const struct state_place *place, const char *name,
	struct kp_decisions *decisions, struct kp_diags *wrong, struct kp_diag *diag)
{
	size_t size = 0;
	char *text = NULL;
	struct kp_diag why;
	enum content content =
		read_content(place, name, KP_JSON_BYTES, &text, &size, diag);

	if (content == PRESENT &&
		kp_decisions_read(text, size, name, decisions, wrong, &why) < 0) {
		*diag = why;
		/* A newer kplug knows what is off: without it nothing may be on. */
		bool is_newer = strcmp(why.code, "newer_format") == 0;
		if (is_newer)
			kp_diag_set(diag, why.code, name, "%s/%s: %s", place->path, name,
				why.message);
		content =
			is_newer || strcmp(why.code, "no_memory") == 0 ? FAILED : DAMAGED;
	}
	free(text);
	return content;
}

/* The ones before the last change are better than none; says which hold now. */
static const char *fall_back(
	const struct state_place *place, struct kp_decisions *decisions)
{
	struct kp_diags wrong = {0};
	struct kp_diag why;
	enum content content =
		read_decisions(place, state_old_name, decisions, &wrong, &why);

	kp_diags_finish(&wrong);
	return content == PRESENT
		       ? ": decisions.json.old holds instead, without the last change"
		       : ", there is no good decisions.json.old: what it had disabled is "
			 "not";
}

/* A restart must not make what was lost look as if it had never been. */
static void look_aside(const struct state_place *place, struct kp_decisions *decisions,
	struct kp_diags *lost)
{
	char aside[ASIDE_BYTES];
	struct kp_diag diag;

	if (!aside_find(place->dir, state_decisions_name, aside))
		return;
	kp_diag_set(&diag, "damaged_state", state_decisions_name,
		"%s/%s was set aside by an earlier start and nothing was decided since%s",
		place->path, aside, fall_back(place, decisions));
	kp_diags_add(lost, &diag);
}

/* It stays until something is decided; a copy stays for longer. */
static void keep_wrong(const struct state_place *place, const struct kp_diags *wrong,
	struct kp_diags *lost)
{
	char aside[ASIDE_BYTES];
	char text[200];
	bool is_kept = aside_link(place->dir, state_decisions_name, aside);

	(void)snprintf(text, sizeof(text),
		"what is right of it holds, and what was off before the last change is "
		"off%s%s",
		is_kept ? ", a copy is " : "", is_kept ? aside : "");
	say_damaged(place, state_decisions_name, &wrong->items[0], text, lost);
	for (size_t i = 0; i < wrong->count; i++)
		kp_diags_add(lost, &wrong->items[i]);
}

static int hold_name(struct kp_decisions *decisions, const struct kp_disabled *old)
{
	bool changed;

	if (kp_decisions_find(decisions, old->name))
		return 0;
	if (kp_decisions_disable(decisions, old->name, old->reason, old->at, old->uid,
		    false, &changed) < 0)
		return -1;
	return kp_decisions_identify(
		decisions, old->name, old->digest, old->package, &changed);
}

static int hold_rule(struct kp_decisions *decisions, const struct kp_rule *old)
{
	bool changed;

	if (kp_decisions_find_rule(decisions, old->operation, old->solution))
		return 0;
	return kp_decisions_rule(decisions, old->operation, old->solution, old->reason,
		old->at, old->uid, false, &changed);
}

static int hold_rollback(struct kp_decisions *decisions, const struct kp_rollback *old)
{
	bool changed;

	return kp_decisions_find_rollback(decisions, old->plugin)
		       ? 0
		       : kp_decisions_roll_back(decisions, old, &changed);
}

/*
 * What was off before the last change and is not found any more: it may have lost its
 * name. Off once too often is better than on by a letter. -1: memory is exhausted.
 */
static int hold_old(const struct state_place *place, struct kp_decisions *decisions)
{
	struct kp_decisions old = {0};
	struct kp_diags wrong = {0};
	struct kp_diag why;
	int failed = 0;

	if (read_decisions(place, state_old_name, &old, &wrong, &why) != PRESENT)
		old = (struct kp_decisions){0};
	for (size_t i = 0; failed == 0 && i < old.n_disabled; i++)
		failed = hold_name(decisions, &old.disabled[i]);
	for (size_t i = 0; failed == 0 && i < old.n_rules; i++)
		failed = hold_rule(decisions, &old.rules[i]);
	for (size_t i = 0; failed == 0 && i < old.n_rollbacks; i++)
		failed = hold_rollback(decisions, &old.rollbacks[i]);
	kp_decisions_finish(&old);
	kp_diags_finish(&wrong);
	return failed;
}

int state_read_decisions(const struct state_place *place, struct kp_decisions *decisions,
	bool *is_good, struct kp_diags *lost, struct kp_diag *diag)
{
	struct kp_decisions read = {0};
	struct kp_diags wrong = {0};
	struct kp_diag why;
	enum content content =
		read_decisions(place, state_decisions_name, &read, &wrong, &why);

	*decisions = (struct kp_decisions){0};
	if (content == FAILED) {
		*diag = why;
		return -1;
	}
	if (content == ABSENT)
		look_aside(place, &read, lost);
	if (content == DAMAGED)
		state_set_aside(
			place, state_decisions_name, &why, fall_back(place, &read), lost);
	if (wrong.count > 0) {
		keep_wrong(place, &wrong, lost);
		if (hold_old(place, &read) < 0) {
			kp_diags_finish(&wrong);
			kp_decisions_finish(&read);
			return kp_diag_no_memory(diag);
		}
	}
	*is_good = content == PRESENT && wrong.count == 0;
	kp_diags_finish(&wrong);
	*decisions = read;
	return 0;
}

int state_read_table(const struct state_place *place, void **bytes, size_t *size,
	struct kp_diags *warnings, struct kp_diag *diag)
{
	struct kp_diag why;
	char *text = NULL;
	enum content content =
		read_content(place, state_table_name, KP_TABLE_MOST, &text, size, &why);

	if (content == FAILED) {
		*diag = why;
		return -1;
	}
	if (content == DAMAGED)
		state_set_aside(place, state_table_name, &why, "", warnings);
	*bytes = text;
	return 0;
}

/*
 * What the daemon can do without: what is wrong with it is a warning. What cannot be read
 * may be right, and is not written over.
 */
static char *read_spare(const struct state_place *place, const char *name, size_t most,
	size_t *size, struct kp_diags *warnings)
{
	struct kp_diag why;
	char *text = NULL;

	switch (read_content(place, name, most, &text, size, &why)) {
	case PRESENT:
		return text;
	case DAMAGED:
	case FAILED:
		state_set_aside(place, name, &why, "", warnings);
		return NULL;
	case ABSENT:
		break;
	}
	return NULL;
}

void *state_read_index(
	const struct state_place *place, size_t *size, struct kp_diags *warnings)
{
	return read_spare(place, state_index_name, INDEX_MOST, size, warnings);
}

char *state_read_incidents(
	const struct state_place *place, size_t *size, struct kp_diags *warnings)
{
	return read_spare(place, state_incidents_name, KP_JSON_BYTES, size, warnings);
}

char *state_read_history(
	const struct state_place *place, size_t *size, struct kp_diags *warnings)
{
	return read_spare(place, state_history_name, HISTORY_BYTES, size, warnings);
}
