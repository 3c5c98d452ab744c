/* SPDX-License-Identifier: MIT */
/* Entries of the store: opening, checking, marks of this boot. */
#include "daemon/store/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/store/boot.h"
#include "daemon/store/seal.h"
#include "daemon/store/store_entry.h"
#include "daemon/store/tree.h"
#include "lib/base/file.h"

/* Marks of other boots mean nothing any more. */
static void forget_boots(struct store *store, int boots)
{
	int fd = openat(boots, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *item;

	if (!stream) {
		kp_file_close(&fd);
		return;
	}
	while ((item = readdir(stream)))
		if (item->d_name[0] != '.' && strcmp(item->d_name, store->boot) != 0)
			(void)tree_remove(boots, item->d_name);
	(void)closedir(stream);
}

/* Without marks every entry is hashed once a run: slower, not wrong. */
static void open_marks(struct store *store)
{
	(void)mkdirat(store->fd, ".boot", 0755);
	int boots = openat(
		store->fd, ".boot", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (boots < 0)
		return;
	forget_boots(store, boots);
	(void)mkdirat(boots, store->boot, 0755);
	store->marks = openat(
		boots, store->boot, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	kp_file_close(&boots);
}

static void remove_drafts(struct store *store)
{
	int fd = openat(store->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *item;

	if (!stream) {
		kp_file_close(&fd);
		return;
	}
	while ((item = readdir(stream)))
		if (strncmp(item->d_name, ".new-", 5) == 0 ||
			strncmp(item->d_name, STORE_GONE, sizeof(STORE_GONE) - 1) == 0)
			(void)tree_remove(store->fd, item->d_name);
	(void)closedir(stream);
}

static int open_dir(struct store *store, struct kp_diag *diag)
{
	if (kp_file_make_dirs(store->dir, 0755, diag) < 0)
		return -1;
	store->fd = open(store->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (store->fd < 0)
		return kp_diag_set(diag, "io_error", store->dir, "cannot open %s: %s",
			store->dir, strerror(errno));
	return 0;
}

struct store *store_open(const char *dir, const char *boot, struct kp_diag *diag)
{
	struct store *store = calloc(1, sizeof(*store));

	if (!store || !(store->dir = strdup(dir))) {
		free(store);
		kp_diag_no_memory(diag);
		return NULL;
	}
	store->fd = store->marks = -1;
	if (open_dir(store, diag) < 0) {
		store_close(store);
		return NULL;
	}
	remove_drafts(store);
	seal_sweep(store);
	if (boot)
		(void)snprintf(store->boot, sizeof(store->boot), "%s", boot);
	if (boot || boot_read(store->boot, sizeof(store->boot)) == 0)
		open_marks(store);
	return store;
}

void store_ask(struct store *store, const struct store_wish *wish)
{
	store->wish = *wish;
}

void store_close(struct store *store)
{
	if (!store)
		return;
	kp_file_close(&store->fd);
	kp_file_close(&store->marks);
	free(store->dir);
	free(store);
}

static void write_mark(
	const struct store *store, const char *closure, const char stamps[DIGEST_TEXT])
{
	if (store->marks < 0)
		return;
	int fd = openat(store->marks, closure,
		O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	/* One that is cut is no mark: the entry is hashed again. */
	if (fd >= 0 && write(fd, stamps, DIGEST_TEXT - 1) != DIGEST_TEXT - 1)
		(void)unlinkat(store->marks, closure, 0);
	kp_file_close(&fd);
}

/* Stamps without a trace are as good: the next start looks for itself. */
static bool take_stamps(const struct store *store, const char *closure,
	char stamps[DIGEST_TEXT], struct trace **kept)
{
	struct trace *trace = kept ? trace_new() : NULL;

	if (kept)
		trace_unref(*kept);
	if (tree_stamps(store->fd, closure, STORE_FILES, stamps, trace) == 0) {
		if (kept)
			*kept = trace;
		return true;
	}
	trace_unref(trace);
	if (kept)
		*kept = NULL;
	return false;
}

void store_mark(const struct store *store, const char *closure, struct trace **kept)
{
	char stamps[DIGEST_TEXT];

	if (take_stamps(store, closure, stamps, kept))
		write_mark(store, closure, stamps);
}

void store_doubt(const struct store *store, const char *closure)
{
	if (store->marks >= 0)
		(void)unlinkat(store->marks, closure, 0);
}

static bool is_marked(
	const struct store *store, const char *closure, const char stamps[DIGEST_TEXT])
{
	char *text = NULL;
	size_t size;
	bool same = store->marks >= 0 &&
		    kp_file_read(store->marks, closure, DIGEST_TEXT, &text, &size,
			    NULL) == 0 &&
		    strcmp(text, stamps) == 0;

	free(text);
	return same;
}

static void set_aside(struct store *store, const char *closure)
{
	char name[16 + DIGEST_TEXT];

	(void)snprintf(name, sizeof(name), ".damaged-%s", closure);
	(void)tree_remove(store->fd, name);
	/* Moving needs no right on what is moved while the parent stays the same. */
	if (renameat(store->fd, closure, store->fd, name) < 0)
		(void)tree_remove(store->fd, closure);
}

bool store_has(struct store *store, const char *closure, bool *damaged)
{
	return store_keeps(store, closure, damaged, NULL);
}

bool store_keeps(
	struct store *store, const char *closure, bool *damaged, struct trace **kept)
{
	char stamps[DIGEST_TEXT], digest[DIGEST_TEXT];

	if (faccessat(store->fd, closure, F_OK, 0) < 0)
		return false;
	/* Before the content is read: what is changed meanwhile has others. */
	bool stamped = take_stamps(store, closure, stamps, kept);
	if (stamped && is_marked(store, closure, stamps))
		return true;
	if (stamped && tree_digest(store->fd, closure, STORE_FILES, digest) == 0 &&
		strcmp(digest, closure) == 0) {
		write_mark(store, closure, stamps);
		return true;
	}
	if (kept) {
		trace_unref(*kept);
		*kept = NULL;
	}
	set_aside(store, closure);
	if (damaged)
		*damaged = true;
	return false;
}

char *store_path(const struct store *store, const char *closure, const char *name)
{
	char *path;

	if (asprintf(&path, "%s/%s/%s", store->dir, closure, name) < 0)
		return NULL;
	return path;
}
