/* SPDX-License-Identifier: MIT */
/* The state directory, and the writing of decisions.json and table in it. */
#include "daemon/state/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/state/aside.h"
#include "daemon/state/lock.h"
#include "daemon/state/state_file.h"
#include "daemon/state/state_read.h"
#include "lib/base/file.h"
#include "lib/base/json.h"
#include "lib/base/owned.h"

enum { TABLE_DELAY_MS = 200, AGAIN_MS = 2000, SIGNING_BYTES = 128 };

static const char signing_name[] = "signing";

struct state {
	uv_loop_t *loop;
	int dir;
	char *path;
	struct lock lock;
	struct state_file decisions, table, index, incidents, history;
	uv_timer_t delay, again;
	unsigned timers; /* that are being closed */
	bool closing;
	bool incidents_failed, history_failed;
	state_done_fn *failed;
	void *context;
};

static void on_written(void *context, struct state_file *file);

/* ---- opening ---- */

static int take_lock(struct state *state, struct kp_diag *diag)
{
	char *path = NULL;
	if (asprintf(&path, "%s/lock", state->path) < 0)
		return kp_diag_no_memory(diag);
	int result = lock_take(&state->lock, path, diag);
	free(path);
	return result;
}

static int open_dir(struct state *state, bool system, struct kp_diag *diag)
{
	struct kp_diag why;

	if (kp_file_make_dirs(state->path, system ? 0711 : 0700, &why) < 0)
		return kp_diag_set(diag, why.code, state->path,
			"%s (for the state directory %s): give --state-dir", why.message,
			state->path);
	state->dir = open(state->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (state->dir < 0)
		return kp_diag_set(diag, "write_failed", state->path,
			"cannot open the state directory %s: %s", state->path,
			strerror(errno));
	return 0;
}

static void state_free(struct state *state)
{
	lock_drop(&state->lock);
	kp_file_close(&state->dir);
	state_file_finish(&state->decisions);
	state_file_finish(&state->table);
	state_file_finish(&state->index);
	state_file_finish(&state->incidents);
	state_file_finish(&state->history);
	free(state->path);
	free(state);
}

/* The files have their directory from here on. */
static void set_files(struct state *state)
{
	const struct state_file any = {.loop = state->loop,
		.dir = state->dir,
		.mode = 0600,
		.written = on_written,
		.context = state};

	state->decisions = state->table = state->index = any;
	state->incidents = state->history = any;
	state->decisions.name = state_decisions_name;
	state->decisions.old = state_old_name;
	state->decisions.durable = true;
	state->table.name = state_table_name;
	state->table.mode = 0644;
	state->index.name = state_index_name;
	state->incidents.name = state_incidents_name;
	state->incidents.durable = state->incidents.keeps = true;
	state->history.name = state_history_name;
	state->history.durable = state->history.keeps = true;
}

int state_open(uv_loop_t *loop, const char *path, bool system, struct state **out,
	struct kp_diag *diag)
{
	struct state *state = calloc(1, sizeof(*state));
	if (!state)
		return kp_diag_no_memory(diag);
	*state = (struct state){
		.loop = loop, .dir = -1, .lock = {.fd = -1}, .path = strdup(path)};
	if (!state->path)
		kp_diag_no_memory(diag);
	if (!state->path || open_dir(state, system, diag) < 0 ||
		take_lock(state, diag) < 0) {
		state_free(state);
		return -1;
	}
	set_files(state);
	(void)uv_timer_init(loop, &state->delay);
	(void)uv_timer_init(loop, &state->again);
	state->delay.data = state->again.data = state;
	*out = state;
	return 0;
}

int state_decisions(struct state *state, struct kp_decisions *decisions,
	struct kp_diags *lost, struct kp_diag *diag)
{
	const struct state_place place = {state->dir, state->path};
	return state_read_decisions(
		&place, decisions, &state->decisions.is_good, lost, diag);
}

static bool is_later(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

static bool is_signed_by(
	const struct state *state, const char *digest, const struct timespec *newest)
{
	owned_text text = NULL;
	struct stat table;
	size_t size;

	return kp_file_read(state->dir, signing_name, SIGNING_BYTES, &text, &size,
		       NULL) == 0 &&
	       strcmp(text, digest) == 0 &&
	       fstatat(state->dir, state_table_name, &table, AT_SYMLINK_NOFOLLOW) == 0 &&
	       is_later(&table.st_mtim, newest);
}

/*
 * The files first, the word of it last: after a kill in between it is asked again. A run
 * that asks for none leaves no word that a later one could take for that of its table.
 */
bool state_is_signed_by(
	struct state *state, const char *digest, const struct timespec *newest)
{
	if (!digest[0])
		(void)unlinkat(state->dir, signing_name, 0);
	if (!digest[0] || is_signed_by(state, digest, newest))
		return true;
	bool had_table = unlinkat(state->dir, state_table_name, 0) == 0;
	(void)unlinkat(state->dir, state_index_name, 0);
	if (kp_file_replace(state->dir, signing_name, digest, strlen(digest), 0600, true,
		    NULL) < 0)
		(void)unlinkat(state->dir, signing_name, 0);
	return !had_table;
}

int state_table(struct state *state, void **bytes, size_t *size,
	struct kp_diags *warnings, struct kp_diag *diag)
{
	const struct state_place place = {state->dir, state->path};
	return state_read_table(&place, bytes, size, warnings, diag);
}

void state_table_is_damaged(
	struct state *state, const struct kp_diag *diag, struct kp_diags *warnings)
{
	const struct state_place place = {state->dir, state->path};
	state_set_aside(&place, state_table_name, diag, "", warnings);
}

void *state_index(struct state *state, size_t *size, struct kp_diags *warnings)
{
	const struct state_place place = {state->dir, state->path};
	return state_read_index(&place, size, warnings);
}

void state_index_is_damaged(
	struct state *state, const struct kp_diag *diag, struct kp_diags *warnings)
{
	const struct state_place place = {state->dir, state->path};
	state_set_aside(&place, state_index_name, diag,
		"; every plugin is looked at, and it is made anew", warnings);
}

char *state_incidents(struct state *state, size_t *size, struct kp_diags *warnings)
{
	const struct state_place place = {state->dir, state->path};
	return state_read_incidents(&place, size, warnings);
}

void state_incidents_are_damaged(
	struct state *state, const struct kp_diag *diag, struct kp_diags *warnings)
{
	const struct state_place place = {state->dir, state->path};
	state_set_aside(&place, state_incidents_name, diag,
		"; what is quarantined stays so", warnings);
}

char *state_history(struct state *state, size_t *size, struct kp_diags *warnings)
{
	const struct state_place place = {state->dir, state->path};
	return state_read_history(&place, size, warnings);
}

void state_history_is_damaged(struct state *state, const struct kp_diag *diag,
	const char *now, struct kp_diags *warnings)
{
	const struct state_place place = {state->dir, state->path};
	state_set_aside(&place, state_history_name, diag, now, warnings);
}

bool state_history_was_damaged(const struct state *state)
{
	char aside[ASIDE_BYTES];
	return aside_find(state->dir, state_history_name, aside);
}

/* ---- writing ---- */

static void free_if_closed(struct state *state)
{
	if (state->closing && state->timers == 0 && !state->decisions.busy &&
		!state->table.busy && !state->index.busy && !state->incidents.busy &&
		!state->history.busy)
		state_free(state);
}

/* What nobody waits for is tried again: a full disk may have room by then. */
static void on_again(uv_timer_t *timer)
{
	struct state *state = timer->data;

	state_file_next(&state->incidents);
	state_file_next(&state->history);
}

/* Said once, until it can be written again. */
static void note_failure(struct state *state, struct state_file *file)
{
	bool *is_told = file == &state->history ? &state->history_failed
						: &state->incidents_failed;

	if (file->result == 0) {
		*is_told = false;
		return;
	}
	if (!state->closing) {
		(void)uv_timer_start(&state->again, on_again, AGAIN_MS, 0);
	} else if (!file->ended) {
		file->ended = true;
		state_file_next(file);
	}
	if (!*is_told && state->failed)
		state->failed(state->context, &file->diag);
	*is_told = true;
}

static void on_written(void *context, struct state_file *file)
{
	struct state *state = context;

	if (file->keeps)
		note_failure(state, file);
	free_if_closed(state);
}

void state_on_failed(struct state *state, state_done_fn *failed, void *context)
{
	state->failed = failed;
	state->context = context;
}

int state_keep_decisions(struct state *state, const struct kp_decisions *decisions,
	state_done_fn *call, void *context, struct kp_diag *diag)
{
	char *text = kp_decisions_print(decisions);

	if (!text)
		return kp_diag_no_memory(diag);
	size_t size = strlen(text);
	if (size > KP_JSON_BYTES) {
		free(text);
		return kp_diag_set(diag, "decisions_full", state_decisions_name,
			"%s would have %zu bytes, at most %d can be read back",
			state_decisions_name, size, KP_JSON_BYTES);
	}
	return state_file_keep(&state->decisions, text, size, call, context, diag);
}

static void on_delay(uv_timer_t *timer)
{
	struct state *state = timer->data;

	state_file_next(&state->table);
}

void state_keep_table(struct state *state, const void *bytes, size_t size)
{
	void *copy = malloc(size);
	if (!copy)
		return;
	memcpy(copy, bytes, size);
	state_file_put(&state->table, copy, size);
	if (!uv_is_active((uv_handle_t *)&state->delay))
		(void)uv_timer_start(&state->delay, on_delay, TABLE_DELAY_MS, 0);
}

void state_keep_index(struct state *state, void *bytes, size_t size)
{
	state_file_put(&state->index, bytes, size);
	state_file_next(&state->index);
}

void state_keep_incidents(struct state *state, char *text, size_t size)
{
	state_file_put(&state->incidents, text, size);
	state_file_next(&state->incidents);
}

void state_keep_history(struct state *state, char *text, size_t size)
{
	state_file_put(&state->history, text, size);
	state_file_next(&state->history);
}

static void on_timer_closed(uv_handle_t *handle)
{
	struct state *state = handle->data;

	state->timers--;
	free_if_closed(state);
}

void state_close(struct state *state)
{
	if (!state || state->closing)
		return;
	state->closing = true;
	/* What was put off is written now. */
	state_file_next(&state->table);
	state_file_next(&state->incidents);
	state_file_next(&state->history);
	state->timers = 2;
	uv_close((uv_handle_t *)&state->delay, on_timer_closed);
	uv_close((uv_handle_t *)&state->again, on_timer_closed);
}
