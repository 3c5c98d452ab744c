/* SPDX-License-Identifier: MIT */
/* Entries of the store, counted and removed. */
#include "daemon/store/sweep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/store/seal.h"
#include "daemon/store/store_entry.h"
#include "daemon/store/tree.h"
#include "lib/base/file.h"

static bool is_entry(const char *name)
{
	return strlen(name) == DIGEST_TEXT - 1 &&
	       strspn(name, "0123456789abcdef") == DIGEST_TEXT - 1;
}

static int add(struct sweep_list *list, const char *name, int64_t bytes)
{
	struct sweep_entry *entries =
		reallocarray(list->entries, list->count + 1, sizeof(*entries));

	if (!entries)
		return -1;
	list->entries = entries;
	memcpy(entries[list->count].closure, name, DIGEST_TEXT);
	entries[list->count++].bytes = bytes;
	return 0;
}

static int look_at(const struct store *store, const char *name, struct sweep_list *list)
{
	int64_t bytes = tree_bytes(store->fd, name);

	list->bytes += bytes;
	return is_entry(name) ? add(list, name, bytes) : 0;
}

static int compare(const void *a, const void *b)
{
	const struct sweep_entry *x = a, *y = b;
	return strcmp(x->closure, y->closure);
}

int sweep_look(const struct store *store, struct sweep_list *list)
{
	int fd = openat(store->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	struct sweep_list found = {0};
	struct dirent *item;
	int failed = 0;

	if (!stream) {
		kp_file_close(&fd);
		return -1;
	}
	errno = 0;
	while (!failed && (item = readdir(stream)))
		if (strcmp(item->d_name, ".") != 0 && strcmp(item->d_name, "..") != 0)
			failed = look_at(store, item->d_name, &found);
	(void)closedir(stream);
	if (failed) {
		sweep_finish(&found);
		return -1;
	}
	if (found.count > 0)
		qsort(found.entries, found.count, sizeof(*found.entries), compare);
	*list = found;
	return 0;
}

void sweep_finish(struct sweep_list *list)
{
	free(list->entries);
	*list = (struct sweep_list){0};
}

/* Under another name first: nobody finds half of it, also after a kill. */
int sweep_remove(const struct store *store, const char *closure)
{
	char gone[sizeof(STORE_GONE) + DIGEST_TEXT];

	(void)snprintf(gone, sizeof(gone), STORE_GONE "%s", closure);
	(void)tree_remove(store->fd, gone);
	if (renameat(store->fd, closure, store->fd, gone) < 0)
		return -1;
	store_doubt(store, closure);
	seal_remove(store, closure);
	/* What is left of it now goes with the next start. */
	(void)tree_remove(store->fd, gone);
	return 0;
}
