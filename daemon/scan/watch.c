/* SPDX-License-Identifier: MIT */
/* inotify(7) on directories, debounced. */
#include "daemon/scan/watch.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/file.h"
#include "lib/base/text.h"

enum {
	QUIET_MS = 200,
	LATEST_MS = 2000,
	READS_A_TURN = 16,
	CREATED_MOST = 256, /* more at once are told without a look */
	MASK = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_CLOSE_WRITE |
	       IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR | IN_EXCL_UNLINK,
};

struct watched {
	int wd; /* -1: gone */
	unsigned kinds;
	char *path;
};

/* Paths, the caller's. */
struct created {
	size_t count;
	char *paths[CREATED_MOST];
};

struct watch {
	uv_poll_t poll;
	uv_timer_t timer;
	int open_handles;
	int fd;
	uint64_t first_ms; /* of the changes that wait; 0: none */
	/* What was created since; what the pool looks at; whether some of it is whole. */
	struct created created, looked_at;
	uv_work_t look;
	bool looking, is_whole, closing;
	void (*changed)(void *context);
	void *context;
	size_t count;
	struct watched *dirs;
};

static bool is_editors(const char *name)
{
	static const char *const ends[] = {"~", ".swp", ".swx", ".tmp", ".part"};
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (kp_text_ends_with(name, ends[i]))
			return true;
	return name[0] == '.' || name[0] == '#';
}

bool watch_counts(unsigned kinds, const char *name, bool is_dir)
{
	/* "..data" is how configuration volumes swap all their files at once. */
	if (strncmp(name, "..", 2) == 0 && kinds & (WATCH_MANIFESTS | WATCH_LIBRARIES))
		return true;
	if (kinds & WATCH_ANCESTOR && is_dir)
		return true;
	if (is_editors(name))
		return false;
	if (kinds & WATCH_LIBRARIES)
		return true;
	return kinds & WATCH_MANIFESTS && kp_text_ends_with(name, ".json");
}

static void on_quiet(uv_timer_t *timer)
{
	struct watch *watch = timer->data;
	watch->first_ms = 0;
	watch->changed(watch->context);
}

static void tell_soon(struct watch *watch)
{
	uint64_t now = uv_now(watch->timer.loop);
	uint64_t delay = QUIET_MS;

	if (!watch->first_ms)
		watch->first_ms = now;
	if (now + delay > watch->first_ms + LATEST_MS)
		delay = watch->first_ms + LATEST_MS > now
				? watch->first_ms + LATEST_MS - now
				: 0;
	(void)uv_timer_start(&watch->timer, on_quiet, delay, 0);
}

static struct watched *find(struct watch *watch, int wd)
{
	for (size_t i = 0; i < watch->count; i++)
		if (watch->dirs[i].wd == wd)
			return &watch->dirs[i];
	return NULL;
}

/* ---- what was created ---- */

static void drop(struct created *created)
{
	for (size_t i = 0; i < created->count; i++)
		free(created->paths[i]);
	created->count = 0;
}

/*
 * A file that was just created is being written: its end is IN_CLOSE_WRITE. Links
 * and what is no file are whole at once.
 */
static bool is_unfinished(const char *path)
{
	struct stat st;
	return lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1;
}

/* In libuv's pool: a file system may keep us waiting. */
static void look(uv_work_t *work)
{
	struct watch *watch = work->data;

	watch->is_whole = false;
	for (size_t i = 0; i < watch->looked_at.count && !watch->is_whole; i++)
		watch->is_whole = !is_unfinished(watch->looked_at.paths[i]);
}

static void release(struct watch *watch);
static void on_looked(uv_work_t *work, int status);

static void look_soon(struct watch *watch)
{
	if (watch->looking || watch->created.count == 0)
		return;
	watch->looked_at = watch->created;
	watch->created.count = 0;
	watch->look.data = watch;
	watch->looking = true;
	watch->open_handles++;
	(void)uv_queue_work(watch->timer.loop, &watch->look, look, on_looked);
}

static void on_looked(uv_work_t *work, int status)
{
	struct watch *watch = work->data;
	(void)status;

	watch->looking = false;
	drop(&watch->looked_at);
	if (!watch->closing) {
		if (watch->is_whole)
			tell_soon(watch);
		look_soon(watch);
	}
	release(watch);
}

static void take_created(struct watch *watch, const struct watched *dir, const char *name)
{
	struct created *created = &watch->created;
	char *path = NULL;

	if (created->count == CREATED_MOST ||
		asprintf(&path, "%s/%s", dir->path, name) < 0)
		tell_soon(watch);
	else
		created->paths[created->count++] = path;
}

/* ---- events ---- */

static void take_change(
	struct watch *watch, const struct watched *dir, const struct inotify_event *event)
{
	bool is_dir = event->mask & IN_ISDIR;

	if (event->len == 0) {
		/* The directory itself: who may write there counts. */
		if (event->mask & IN_ATTRIB && dir->kinds & WATCH_MANIFESTS)
			tell_soon(watch);
		return;
	}
	if (!watch_counts(dir->kinds, event->name, is_dir))
		return;
	if (event->mask & IN_CREATE && !is_dir)
		take_created(watch, dir, event->name);
	else
		tell_soon(watch);
}

static void take_event(struct watch *watch, const struct inotify_event *event)
{
	if (event->mask & IN_Q_OVERFLOW) {
		tell_soon(watch);
		return;
	}
	struct watched *dir = find(watch, event->wd);
	if (!dir)
		return;
	if (event->mask & IN_MOVE_SELF)
		(void)inotify_rm_watch(watch->fd, event->wd);
	if (event->mask & (IN_IGNORED | IN_UNMOUNT | IN_DELETE_SELF | IN_MOVE_SELF)) {
		dir->wd = -1;
		tell_soon(watch);
		return;
	}
	take_change(watch, dir, event);
}

static void on_events(uv_poll_t *poll, int status, int events)
{
	struct watch *watch = poll->data;
	_Alignas(struct inotify_event) char bytes[16384];
	(void)events;

	if (status < 0)
		return;
	for (int turn = 0; turn < READS_A_TURN; turn++) {
		ssize_t n = read(watch->fd, bytes, sizeof(bytes));
		if (n <= 0)
			break;
		for (char *at = bytes; at < bytes + n;) {
			const struct inotify_event *event = (const void *)at;
			take_event(watch, event);
			at += sizeof(*event) + event->len;
		}
	}
	look_soon(watch);
}

/* A negative errno, which is libuv's error on Linux, too. */
static int open_events(uv_loop_t *loop, struct watch *watch)
{
	watch->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	return watch->fd < 0 ? -errno : uv_poll_init(loop, &watch->poll, watch->fd);
}

struct watch *watch_new(uv_loop_t *loop, void (*changed)(void *context), void *context,
	struct kp_diag *diag)
{
	struct watch *watch = calloc(1, sizeof(*watch));
	if (!watch) {
		kp_diag_no_memory(diag);
		return NULL;
	}
	watch->changed = changed;
	watch->context = context;
	int error = open_events(loop, watch);
	if (error < 0) {
		kp_diag_set(diag, "no_watch", NULL,
			"cannot watch directories (%s); changes are noticed by the looks "
			"of --rescan-s only",
			uv_strerror(error));
		kp_file_close(&watch->fd);
		free(watch);
		return NULL;
	}
	(void)uv_timer_init(loop, &watch->timer);
	watch->poll.data = watch;
	watch->timer.data = watch;
	watch->open_handles = 2;
	(void)uv_poll_start(&watch->poll, UV_READABLE, on_events);
	return watch;
}

static struct watched *by_wd(struct watched *dirs, size_t count, int wd)
{
	for (size_t i = 0; i < count; i++)
		if (dirs[i].wd == wd)
			return &dirs[i];
	return NULL;
}

static void free_dirs(struct watched *dirs, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(dirs[i].path);
	free(dirs);
}

/* Adds one; two paths of one directory share its descriptor. */
static bool add(struct watch *watch, struct watched *dirs, size_t *count,
	const struct watch_dir *wanted)
{
	int wd = inotify_add_watch(watch->fd, wanted->path, MASK);
	if (wd < 0)
		return false;
	struct watched *same = by_wd(dirs, *count, wd);
	if (same) {
		same->kinds |= wanted->kinds;
		return true;
	}
	char *path = strdup(wanted->path);
	if (!path)
		return false;
	struct watched *added = &dirs[(*count)++];
	added->wd = wd;
	added->kinds = wanted->kinds;
	added->path = path;
	return true;
}

bool watch_set(
	struct watch *watch, const struct watch_dir *dirs, size_t count, size_t *failed)
{
	struct watched *next = calloc(count ? count : 1, sizeof(*next));
	size_t n = 0;
	bool is_new = false;

	*failed = next ? 0 : count;
	if (!next)
		return false;
	for (size_t i = 0; i < count; i++)
		*failed += !add(watch, next, &n, &dirs[i]);
	for (size_t i = 0; i < n; i++)
		is_new |= !find(watch, next[i].wd);
	for (size_t i = 0; i < watch->count; i++)
		if (watch->dirs[i].wd >= 0 && !by_wd(next, n, watch->dirs[i].wd))
			(void)inotify_rm_watch(watch->fd, watch->dirs[i].wd);
	free_dirs(watch->dirs, watch->count);
	watch->dirs = next;
	watch->count = n;
	return is_new;
}

static void release(struct watch *watch)
{
	if (--watch->open_handles > 0)
		return;
	kp_file_close(&watch->fd);
	free_dirs(watch->dirs, watch->count);
	drop(&watch->created);
	free(watch);
}

static void on_closed(uv_handle_t *handle)
{
	release(handle->data);
}

void watch_close(struct watch *watch)
{
	if (!watch)
		return;
	watch->closing = true;
	uv_close((uv_handle_t *)&watch->poll, on_closed);
	uv_close((uv_handle_t *)&watch->timer, on_closed);
}
