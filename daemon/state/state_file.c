/* SPDX-License-Identifier: MIT */
/* Whole writes of one file, one after the other. */
#include "daemon/state/state_file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/file.h"

struct state_done {
	struct state_done *next;
	state_done_fn *call;
	void *context;
};

/* Should the new one be damaged, there is the one before. Without links there is not. */
static void keep_old(const struct state_file *file)
{
	char new[NAME_MAX + 1];

	(void)snprintf(new, sizeof(new), ".%s.new", file->old);
	(void)unlinkat(file->dir, new, 0);
	if (linkat(file->dir, file->name, file->dir, new, 0) == 0)
		(void)renameat(file->dir, new, file->dir, file->old);
}

static void stamp_file(const struct state_file *file, struct stamp *stamp)
{
	struct stat st;

	*stamp = (struct stamp){.exists = false};
	if (fstatat(file->dir, file->name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		stamp_from_stat(&st, stamp);
}

static void write_now(uv_work_t *work)
{
	struct state_file *file = work->data;

	if (file->keeps_old)
		keep_old(file);
	file->result = kp_file_replace(file->dir, file->name, file->bytes, file->size,
		file->mode, file->durable, &file->diag);
	if (file->durable)
		stamp_file(file, &file->kept_as);
}

static void tell(struct state_done *done, const struct kp_diag *diag)
{
	while (done) {
		struct state_done *next = done->next;
		done->call(done->context, diag);
		free(done);
		done = next;
	}
}

/* What is on the disk need not be written there again; unless somebody took it away. */
static bool is_kept(const struct state_file *file, const void *bytes, size_t size)
{
	struct stamp now;

	if (file->busy || file->next_bytes || !file->kept || file->kept_size != size ||
		memcmp(file->kept, bytes, size) != 0)
		return false;
	stamp_file(file, &now);
	return now.exists && stamp_equal(&now, &file->kept_as);
}

/* A write is over: its bytes are what later ones are compared with. */
static void settle_bytes(struct state_file *file)
{
	void *bytes = file->bytes;

	file->bytes = NULL;
	if (file->durable) {
		free(file->kept);
		file->kept = NULL;
	}
	if (file->durable && file->result == 0) {
		file->kept = bytes;
		file->kept_size = file->size;
	} else if (file->keeps && file->result < 0 && !file->next_bytes) {
		file->next_bytes = bytes;
		file->next_size = file->size;
	} else {
		free(bytes);
	}
}

static void on_written(uv_work_t *work, int status)
{
	struct state_file *file = work->data;
	struct state_done *done = file->waiting;
	/* The next one, which may begin below, has a result of its own. */
	bool failed = file->result < 0;
	struct kp_diag diag = file->diag;
	(void)status;

	settle_bytes(file);
	file->waiting = NULL;
	file->busy = false;
	if (!failed)
		file->is_good = true;
	if (!failed || !file->keeps)
		state_file_next(file);
	tell(done, failed ? &diag : NULL);
	file->written(file->context, file);
}

void state_file_next(struct state_file *file)
{
	if (file->busy || !file->next_bytes)
		return;
	file->bytes = file->next_bytes;
	file->size = file->next_size;
	file->waiting = file->next_waiting;
	file->next_bytes = NULL;
	file->next_waiting = NULL;
	file->busy = true;
	file->keeps_old = file->old && file->is_good;
	file->work.data = file;
	(void)uv_queue_work(file->loop, &file->work, write_now, on_written);
}

void state_file_put(struct state_file *file, void *bytes, size_t size)
{
	free(file->next_bytes);
	file->next_bytes = bytes;
	file->next_size = size;
}

int state_file_keep(struct state_file *file, void *bytes, size_t size,
	state_done_fn *call, void *context, struct kp_diag *diag)
{
	struct state_done *done = malloc(sizeof(*done));

	if (!done) {
		free(bytes);
		return kp_diag_no_memory(diag);
	}
	*done = (struct state_done){.call = call, .context = context};
	if (is_kept(file, bytes, size)) {
		free(bytes);
		tell(done, NULL);
		return 0;
	}
	struct state_done **last = &file->next_waiting;
	while (*last)
		last = &(*last)->next;
	*last = done;
	state_file_put(file, bytes, size);
	state_file_next(file);
	return 0;
}

void state_file_finish(struct state_file *file)
{
	free(file->bytes);
	free(file->next_bytes);
	free(file->kept);
}
