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

#include "daemon/scan/stamp.h"
#include "daemon/state/lock.h"
#include "daemon/state/state_read.h"
#include "lib/base/file.h"
#include "lib/base/json.h"

enum { TABLE_DELAY_MS = 200 };

/* Its name until it is complete. */
static const char old_new_name[] = ".decisions.json.old.new";

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
	bool has_old;	/* the one before is kept, too */
	bool keeps_old; /* of the write under way: the file before it has no fault */
	void *bytes;	/* being written */
	size_t size;
	void *kept; /* of a durable one: what this run has last written; NULL: unknown */
	size_t kept_size;
	struct stamp kept_as;
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
	struct file decisions, table, index, incidents;
	uv_timer_t delay;
	bool is_good; /* decisions.json has no fault */
	bool has_timer, closing;
};

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
	free(state->decisions.bytes);
	free(state->decisions.next_bytes);
	free(state->decisions.kept);
	free(state->table.bytes);
	free(state->table.next_bytes);
	free(state->index.bytes);
	free(state->index.next_bytes);
	free(state->incidents.bytes);
	free(state->incidents.next_bytes);
	free(state->incidents.kept);
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
			.name = state_decisions_name,
			.mode = 0600,
			.durable = true,
			.has_old = true},
		.table = {.state = state, .name = state_table_name, .mode = 0644},
		.index = {.state = state, .name = state_index_name, .mode = 0600},
		.incidents = {.state = state,
			.name = state_incidents_name,
			.mode = 0600,
			.durable = true}};
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

int state_decisions(struct state *state, struct kp_decisions *decisions,
	struct kp_diags *lost, struct kp_diag *diag)
{
	const struct state_place place = {state->dir, state->path};
	return state_read_decisions(&place, decisions, &state->is_good, lost, diag);
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

/* ---- writing ---- */

static void write_next(struct file *file);

/* Should the new one be damaged, there is the one before. Without links there is not. */
static void keep_old(const struct state *state)
{
	(void)unlinkat(state->dir, old_new_name, 0);
	if (linkat(state->dir, state_decisions_name, state->dir, old_new_name, 0) == 0)
		(void)renameat(state->dir, old_new_name, state->dir, state_old_name);
}

static void stamp_file(const struct file *file, struct stamp *stamp)
{
	struct stat st;

	*stamp = (struct stamp){.exists = false};
	if (fstatat(file->state->dir, file->name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		stamp_from_stat(&st, stamp);
}

static void write_now(uv_work_t *work)
{
	struct file *file = work->data;

	if (file->keeps_old)
		keep_old(file->state);
	file->result = kp_file_replace(file->state->dir, file->name, file->bytes,
		file->size, file->mode, file->durable, &file->diag);
	if (file->durable)
		stamp_file(file, &file->kept_as);
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
		!state->table.busy && !state->index.busy && !state->incidents.busy)
		state_free(state);
}

/* What is on the disk need not be written there again; unless somebody took it away. */
static bool is_kept(const struct file *file, const void *bytes, size_t size)
{
	struct stamp now;

	if (file->busy || file->next_bytes || !file->kept || file->kept_size != size ||
		memcmp(file->kept, bytes, size) != 0)
		return false;
	stamp_file(file, &now);
	return now.exists && stamp_equal(&now, &file->kept_as);
}

/* A write is over: its bytes are what later ones are compared with. */
static void settle_bytes(struct file *file, bool failed)
{
	void *bytes = file->bytes;

	file->bytes = NULL;
	if (file->durable && !failed) {
		free(file->kept);
		file->kept = bytes;
		file->kept_size = file->size;
		return;
	}
	free(bytes);
	if (!file->durable)
		return;
	free(file->kept);
	file->kept = NULL;
}

static void on_written(uv_work_t *work, int status)
{
	struct file *file = work->data;
	struct done *done = file->waiting;
	/* The next one, which begins below, has a result of its own. */
	bool failed = file->result < 0;
	struct kp_diag diag = file->diag;
	(void)status;

	settle_bytes(file, failed);
	file->waiting = NULL;
	file->busy = false;
	if (file->has_old && !failed)
		file->state->is_good = true;
	write_next(file);
	tell(done, failed ? &diag : NULL);
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
	file->keeps_old = file->has_old && file->state->is_good;
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

	if (!text || !done || strlen(text) > KP_JSON_BYTES) {
		int failed = text && done
				     ? kp_diag_set(diag, "decisions_full",
					       state_decisions_name,
					       "%s would have %zu bytes, at most %d can "
					       "be read back",
					       state_decisions_name, strlen(text),
					       KP_JSON_BYTES)
				     : kp_diag_no_memory(diag);
		free(text);
		free(done);
		return failed;
	}
	*done = (struct done){.call = call, .context = context};
	if (is_kept(file, text, strlen(text))) {
		free(text);
		tell(done, NULL);
		return 0;
	}
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

void state_keep_index(struct state *state, void *bytes, size_t size)
{
	replace_next(&state->index, bytes, size);
	write_next(&state->index);
}

void state_keep_incidents(struct state *state, char *text, size_t size)
{
	replace_next(&state->incidents, text, size);
	write_next(&state->incidents);
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
