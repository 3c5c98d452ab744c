/* SPDX-License-Identifier: MIT */
/* decisions.json and table in the state directory. */
#include "daemon/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/lock.h"
#include "lib/file.h"
#include "lib/json.h"

enum { TABLE_BYTES = 256 << 20, TABLE_DELAY_MS = 200 };

static const char decisions_name[] = "decisions.json";
static const char table_name[] = "table";
static const char aside_end[] = ".damaged";

/* Who waits for a write. */
struct done {
	struct done *next;
	state_done_fn *call;
	void *context;
};

/* A file and what is next to be written to it. */
struct file {
	uv_work_t work;
	struct state *state;
	const char *name;
	mode_t mode;
	bool durable, busy;
	void *bytes; /* being written */
	size_t size;
	void *next_bytes; /* NULL: nothing waits */
	size_t next_size;
	struct done *waiting, *next_waiting;
	int result;
	struct kp_diag diag;
};

struct state {
	uv_loop_t *loop;
	int dir;
	char *path;
	struct lock lock;
	struct file decisions, table;
	uv_timer_t delay;
	bool has_timer, closing;
};

/* ---- opening and reading ---- */

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
	free(state->decisions.bytes);
	free(state->decisions.next_bytes);
	free(state->table.bytes);
	free(state->table.next_bytes);
	free(state->path);
	free(state);
}

int state_open(uv_loop_t *loop, const char *path, bool system, struct state **out,
	struct kp_diag *diag)
{
	struct state *state = calloc(1, sizeof(*state));
	if (!state)
		return kp_diag_no_memory(diag);
	*state = (struct state){.loop = loop,
		.dir = -1,
		.lock = {.fd = -1},
		.path = strdup(path),
		.decisions = {.state = state,
			.name = decisions_name,
			.mode = 0600,
			.durable = true},
		.table = {.state = state, .name = table_name, .mode = 0644}};
	if (!state->path)
		kp_diag_no_memory(diag);
	if (!state->path || open_dir(state, system, diag) < 0 ||
		take_lock(state, diag) < 0) {
		state_free(state);
		return -1;
	}
	(void)uv_timer_init(loop, &state->delay);
	state->delay.data = state;
	*out = state;
	return 0;
}

/* Kept for whoever wants to look, out of the way of what replaces it. */
static void set_aside(struct state *state, const char *name, const struct kp_diag *why,
	struct kp_diags *warnings)
{
	char aside[64];
	struct kp_diag diag = *why;

	(void)snprintf(aside, sizeof(aside), "%s%s", name, aside_end);
	bool is_moved = renameat(state->dir, name, state->dir, aside) == 0;
	kp_diag_set(&diag, "damaged_state", name, "%s/%s is damaged (%s); %s%s",
		state->path, name, why->message,
		is_moved ? "it is now " : "and cannot be moved away",
		is_moved ? aside : "");
	kp_diags_add(warnings, &diag);
}

enum content { FAILED = -1, ABSENT, DAMAGED, PRESENT };

/* What cannot be read now may be right: only what is in it can be wrong. */
static enum content read_content(struct state *state, const char *name, size_t limit,
	char **text, size_t *size, struct kp_diag *diag)
{
	struct kp_diag why;

	if (kp_file_read(state->dir, name, limit, text, size, &why) == 0)
		return PRESENT;
	if (strcmp(why.code, "missing_file") == 0)
		return ABSENT;
	if (strcmp(why.code, "file_too_large") == 0) {
		*diag = why;
		return DAMAGED;
	}
	kp_diag_set(diag, why.code, name, "%s/%s: %s", state->path, name, why.message);
	return FAILED;
}

/* A restart must not make what was lost look as if it had never been. */
static void look_aside(struct state *state, struct kp_diags *lost)
{
	char aside[64];
	struct kp_diag diag;

	(void)snprintf(aside, sizeof(aside), "%s%s", decisions_name, aside_end);
	if (faccessat(state->dir, aside, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	kp_diag_set(&diag, "damaged_state", decisions_name,
		"%s/%s was set aside by an earlier start and nothing was decided since: "
		"what it had disabled is not",
		state->path, aside);
	kp_diags_add(lost, &diag);
}

int state_decisions(struct state *state, struct kp_decisions *decisions,
	struct kp_diags *lost, struct kp_diag *diag)
{
	struct kp_diag why;
	size_t size = 0;
	char *text = NULL;
	enum content content =
		read_content(state, decisions_name, KP_JSON_BYTES, &text, &size, &why);

	*decisions = (struct kp_decisions){0};
	if (content == ABSENT)
		look_aside(state, lost);
	if (content == PRESENT &&
		kp_decisions_parse(text, size, decisions_name, decisions, &why) < 0) {
		*decisions = (struct kp_decisions){0};
		content = strcmp(why.code, "no_memory") == 0 ? FAILED : DAMAGED;
	}
	free(text);
	if (content == DAMAGED)
		set_aside(state, decisions_name, &why, lost);
	if (content == FAILED)
		*diag = why;
	return content == FAILED ? -1 : 0;
}

int state_table(struct state *state, void **bytes, size_t *size,
	struct kp_diags *warnings, struct kp_diag *diag)
{
	struct kp_diag why;
	char *text = NULL;
	enum content content =
		read_content(state, table_name, TABLE_BYTES, &text, size, &why);

	if (content == FAILED) {
		*diag = why;
		return -1;
	}
	if (content == DAMAGED)
		set_aside(state, table_name, &why, warnings);
	*bytes = text;
	return 0;
}

void state_table_is_damaged(
	struct state *state, const struct kp_diag *diag, struct kp_diags *warnings)
{
	set_aside(state, table_name, diag, warnings);
}

/* ---- writing ---- */

static void write_next(struct file *file);

static void write_now(uv_work_t *work)
{
	struct file *file = work->data;
	file->result = kp_file_replace(file->state->dir, file->name, file->bytes,
		file->size, file->mode, file->durable, &file->diag);
}

static void tell(struct done *done, const struct kp_diag *diag)
{
	while (done) {
		struct done *next = done->next;
		done->call(done->context, diag);
		free(done);
		done = next;
	}
}

static void free_if_closed(struct state *state)
{
	if (state->closing && !state->has_timer && !state->decisions.busy &&
		!state->table.busy)
		state_free(state);
}

static void on_written(uv_work_t *work, int status)
{
	struct file *file = work->data;
	struct done *done = file->waiting;
	(void)status;

	free(file->bytes);
	file->bytes = NULL;
	file->waiting = NULL;
	file->busy = false;
	write_next(file);
	tell(done, file->result < 0 ? &file->diag : NULL);
	free_if_closed(file->state);
}

static void write_next(struct file *file)
{
	if (file->busy || !file->next_bytes)
		return;
	file->bytes = file->next_bytes;
	file->size = file->next_size;
	file->waiting = file->next_waiting;
	file->next_bytes = NULL;
	file->next_waiting = NULL;
	file->busy = true;
	file->work.data = file;
	(void)uv_queue_work(file->state->loop, &file->work, write_now, on_written);
}

static void replace_next(struct file *file, void *bytes, size_t size)
{
	free(file->next_bytes);
	file->next_bytes = bytes;
	file->next_size = size;
}

int state_keep_decisions(struct state *state, const struct kp_decisions *decisions,
	state_done_fn *call, void *context, struct kp_diag *diag)
{
	struct file *file = &state->decisions;
	char *text = kp_decisions_print(decisions);
	struct done *done = malloc(sizeof(*done));

	if (!text || !done) {
		free(text);
		free(done);
		return kp_diag_no_memory(diag);
	}
	*done = (struct done){.call = call, .context = context};
	struct done **last = &file->next_waiting;
	while (*last)
		last = &(*last)->next;
	*last = done;
	replace_next(file, text, strlen(text));
	write_next(file);
	return 0;
}

static void on_delay(uv_timer_t *timer)
{
	struct state *state = timer->data;
	write_next(&state->table);
}

void state_keep_table(struct state *state, const void *bytes, size_t size)
{
	void *copy = malloc(size);
	if (!copy)
		return;
	memcpy(copy, bytes, size);
	replace_next(&state->table, copy, size);
	if (!uv_is_active((uv_handle_t *)&state->delay))
		(void)uv_timer_start(&state->delay, on_delay, TABLE_DELAY_MS, 0);
}

static void on_timer_closed(uv_handle_t *handle)
{
	struct state *state = handle->data;
	state->has_timer = false;
	free_if_closed(state);
}

void state_close(struct state *state)
{
	if (!state || state->closing)
		return;
	state->closing = true;
	/* What was put off is written now. */
	write_next(&state->table);
	state->has_timer = true;
	uv_close((uv_handle_t *)&state->delay, on_timer_closed);
}
