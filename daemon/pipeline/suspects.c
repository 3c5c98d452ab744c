/* SPDX-License-Identifier: MIT */
/* Three queues in front of the probes, and the file that says who passed them. */
#include "daemon/pipeline/suspects.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "daemon/state/state_read.h"
#include "daemon/store/boot.h"
#include "lib/base/file.h"
#include "lib/base/json.h"

/* While so many are being probed, who asks waits: many are marked by one write. */
enum { HELD_MOST = 64, HELD_ENOUGH = 10 };
static const char file_name[] = "probes.json";

TAILQ_HEAD(permits, permit);

struct suspects {
	struct suspects_options options;
	uv_loop_t *loop;
	int dir;
	char boot[BOOT_TEXT];
	struct marks marks;
	struct permits asked, last, marking, held;
	size_t n_held, n_last;
	bool alone;  /* the one that is marked or held is */
	bool stale;  /* the file says more than there is: no hurry */
	bool urgent; /* it says what is not so, or less than there is */
	struct kp_diags damage;
	uv_work_t work;
	char *text;
	bool writing, ending, closing;
	int result;
	struct kp_diag diag;
	void (*closed)(void *context);
	void *closed_context;
};

static void go_on(struct suspects *suspects);

/* ---- the file -------------------------------------------------------------------- */

static void suspects_free(struct suspects *suspects)
{
	marks_finish(&suspects->marks);
	kp_diags_finish(&suspects->damage);
	kp_file_close(&suspects->dir);
	free((char *)(uintptr_t)suspects->options.dir);
	free(suspects);
}

static void warn(struct suspects *suspects, const struct kp_diag *diag)
{
	if (suspects->options.warned)
		suspects->options.warned(suspects->options.context, diag);
}

static void write_marks(uv_work_t *work)
{
	struct suspects *suspects = work->data;

	suspects->result = kp_file_replace(suspects->dir, file_name, suspects->text,
		strlen(suspects->text), 0600, true, &suspects->diag);
}

/* What could not be marked is probed all the same: the next start knows less. */
static void grant_marked(struct suspects *suspects)
{
	struct permit *permit;

	while ((permit = TAILQ_FIRST(&suspects->marking))) {
		TAILQ_REMOVE(&suspects->marking, permit, link);
		TAILQ_INSERT_TAIL(&suspects->held, permit, link);
		permit->state = PERMIT_HELD;
		permit->granted(permit);
	}
}

static void on_written(uv_work_t *work, int status)
{
	struct suspects *suspects = work->data;

	(void)status;
	free(suspects->text);
	suspects->text = NULL;
	suspects->writing = false;
	if (suspects->result < 0)
		warn(suspects, &suspects->diag);
	if (!suspects->ending)
		grant_marked(suspects);
	go_on(suspects);
}

static void begin_write(struct suspects *suspects)
{
	suspects->stale = suspects->urgent = false;
	suspects->text = marks_print(&suspects->marks, suspects->boot, suspects->ending);
	if (!suspects->text) {
		if (!suspects->ending)
			grant_marked(suspects);
		return;
	}
	suspects->writing = true;
	suspects->work.data = suspects;
	(void)uv_queue_work(suspects->loop, &suspects->work, write_marks, on_written);
}

/* ---- turns ----------------------------------------------------------------------- */

static void mark_one(
	struct suspects *suspects, struct permit *permit, enum mark_state state)
{
	if (permit->mark) {
		permit->mark->state = state;
		permit->mark->at = (int64_t)time(NULL);
	}
	TAILQ_INSERT_TAIL(&suspects->marking, permit, link);
	permit->state = PERMIT_MARKING;
	suspects->n_held++;
	suspects->urgent = true;
}

static void admit_asked(struct suspects *suspects)
{
	struct permit *permit;

	if (suspects->n_held >= HELD_ENOUGH)
		return;
	while (!suspects->alone && suspects->n_held < HELD_MOST &&
		(permit = TAILQ_FIRST(&suspects->asked))) {
		TAILQ_REMOVE(&suspects->asked, permit, link);
		mark_one(suspects, permit, MARK_PROBING);
	}
}

static void admit_last(struct suspects *suspects)
{
	struct permit *permit = TAILQ_FIRST(&suspects->last);

	if (!permit || suspects->n_held > 0 || !TAILQ_EMPTY(&suspects->asked) ||
		!suspects->options.is_quiet(suspects->options.context))
		return;
	TAILQ_REMOVE(&suspects->last, permit, link);
	permit->alone = suspects->alone = true;
	permit->mark->stage[0] = '\0';
	free(permit->mark->output);
	permit->mark->output = NULL;
	mark_one(suspects, permit, MARK_ALONE);
}

static void go_on(struct suspects *suspects)
{
	if (suspects->writing)
		return;
	if (suspects->damage.count > 0) {
		warn(suspects, &suspects->damage.items[0]);
		kp_diags_finish(&suspects->damage);
	}
	if (!suspects->ending) {
		admit_asked(suspects);
		admit_last(suspects);
	}
	if (suspects->urgent || (suspects->stale && suspects->n_held == 0))
		begin_write(suspects);
	if (suspects->closing && !suspects->writing) {
		void (*closed)(void *) = suspects->closed;
		void *context = suspects->closed_context;
		suspects_free(suspects);
		closed(context);
	}
}

void suspects_look(struct suspects *suspects)
{
	if (suspects && !suspects->ending)
		go_on(suspects);
}

/* ---- asking ---------------------------------------------------------------------- */

/* Another key of the same plugin: what it was marked for is not there any more. */
static void forget_others(
	struct suspects *suspects, const struct suspects_subject *subject)
{
	struct mark *mark, *next;

	for (mark = TAILQ_FIRST(&suspects->marks); mark; mark = next) {
		next = TAILQ_NEXT(mark, link);
		if (mark->users > 0 || strcmp(mark->plugin, subject->plugin) != 0 ||
			strcmp(mark->key, subject->key) == 0)
			continue;
		marks_remove(&suspects->marks, mark);
		suspects->stale = true;
	}
}

static struct mark *mark_of(
	struct suspects *suspects, const struct suspects_subject *subject)
{
	struct mark *mark = marks_find(&suspects->marks, subject->key);

	if (mark) {
		if (subject->pardoned && mark->users == 0 &&
			mark->state != MARK_PROBING) {
			mark->state = MARK_SUSPECT;
			mark->strikes = 0;
			suspects->stale = true;
		}
		return mark;
	}
	mark = marks_add(&suspects->marks, subject->key, subject->plugin);
	if (mark)
		(void)snprintf(mark->digest, sizeof(mark->digest), "%s", subject->digest);
	return mark;
}

bool suspects_ask(struct suspects *suspects, const struct suspects_subject *subject,
	struct permit *permit, const struct mark **why)
{
	forget_others(suspects, subject);
	struct mark *mark = mark_of(suspects, subject);

	if (mark && mark->state == MARK_QUARANTINED) {
		*why = mark;
		return false;
	}
	permit->mark = mark;
	permit->alone = false;
	if (mark)
		mark->users++;
	if (mark && mark->state != MARK_PROBING) {
		permit->state = PERMIT_LAST;
		suspects->n_last++;
		TAILQ_INSERT_TAIL(&suspects->last, permit, link);
	} else {
		permit->state = PERMIT_ASKED;
		TAILQ_INSERT_TAIL(&suspects->asked, permit, link);
	}
	return true;
}

void suspects_note(struct suspects *suspects, struct permit *permit, const char *stage,
	const char *output)
{
	if (permit->state != PERMIT_HELD || !permit->alone ||
		!mark_note(permit->mark, stage, output))
		return;
	suspects->urgent = true;
	suspects_look(suspects);
}

/* ---- giving back ------------------------------------------------------------------- */

static struct permits *queue_of(struct suspects *suspects, const struct permit *permit)
{
	switch (permit->state) {
	case PERMIT_ASKED:
		return &suspects->asked;
	case PERMIT_LAST:
		return &suspects->last;
	case PERMIT_MARKING:
		return &suspects->marking;
	default:
		return &suspects->held;
	}
}

/* One that has come through alone is innocent; another stays what it was. */
static void settle_mark(struct suspects *suspects, struct permit *permit, bool over)
{
	struct mark *mark = permit->mark;

	if (!mark)
		return;
	mark->users--;
	if (permit->alone)
		mark->state = over ? MARK_PROBING : MARK_SUSPECT;
	if (mark->users > 0)
		return;
	if (mark->state == MARK_PROBING)
		marks_remove(&suspects->marks, mark);
}

void suspects_return(struct suspects *suspects, struct permit *permit, bool over)
{
	if (permit->state == PERMIT_NONE)
		return;
	bool counted = permit->state == PERMIT_MARKING || permit->state == PERMIT_HELD;

	TAILQ_REMOVE(queue_of(suspects, permit), permit, link);
	suspects->n_last -= permit->state == PERMIT_LAST || permit->alone;
	settle_mark(suspects, permit, over);
	if (counted) {
		suspects->n_held--;
		suspects->stale = true;
		suspects->urgent |= permit->alone;
		suspects->alone &= !permit->alone;
	}
	*permit = (struct permit){.state = PERMIT_NONE};
	suspects_look(suspects);
}

size_t suspects_last(const struct suspects *suspects)
{
	return suspects->n_last;
}

void suspects_quarantined(const struct suspects *suspects,
	void (*found)(void *context, const struct mark *mark), void *context)
{
	const struct mark *mark;

	if (!suspects)
		return;
	TAILQ_FOREACH (mark, &suspects->marks, link)
		if (mark->state == MARK_QUARANTINED)
			found(context, mark);
}

/* ---- life ------------------------------------------------------------------------ */

/* What cannot be read now may be right: it stays until it is replaced. */
static void read_marks(struct suspects *suspects)
{
	const struct state_place place = {suspects->dir, suspects->options.dir};
	struct kp_diag why;
	char *text = NULL;
	size_t size;

	if (kp_file_read(suspects->dir, file_name, KP_JSON_BYTES, &text, &size, &why) <
		0) {
		if (strcmp(why.code, "missing_file") != 0)
			kp_diags_add(&suspects->damage, &why);
		return;
	}
	if (marks_read(&suspects->marks, text, size, suspects->boot, &why) < 0)
		state_set_aside(&place, file_name, &why,
			"; which probes were under way is not known", &suspects->damage);
	free(text);
}

struct suspects *suspects_new(uv_loop_t *loop, const struct suspects_options *options)
{
	struct suspects *suspects = calloc(1, sizeof(*suspects));

	if (!suspects)
		return NULL;
	suspects->loop = loop;
	suspects->options = *options;
	TAILQ_INIT(&suspects->marks);
	TAILQ_INIT(&suspects->asked);
	TAILQ_INIT(&suspects->last);
	TAILQ_INIT(&suspects->marking);
	TAILQ_INIT(&suspects->held);
	suspects->dir = open(options->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	suspects->options.dir = strdup(options->dir);
	if (!suspects->options.dir) {
		suspects_free(suspects);
		return NULL;
	}
	if (boot_read(suspects->boot, sizeof(suspects->boot)) < 0)
		suspects->boot[0] = '\0';
	read_marks(suspects);
	return suspects;
}

void suspects_end(struct suspects *suspects)
{
	if (!suspects || suspects->ending)
		return;
	suspects->ending = true;
	suspects->urgent |= suspects->n_held > 0;
	go_on(suspects);
}

void suspects_close(
	struct suspects *suspects, void (*closed)(void *context), void *context)
{
	if (!suspects) {
		closed(context);
		return;
	}
	suspects->closed = closed;
	suspects->closed_context = context;
	suspects->ending = suspects->closing = true;
	go_on(suspects);
}
