/* SPDX-License-Identifier: MIT */
/* Files beside entries. */
#include "daemon/store/seal.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/store/store_entry.h"
#include "lib/base/file.h"
#include "lib/base/owned.h"

enum { SEAL_BYTES = 64 << 10 };

static const char seals[] = ".seals";

char *seal_path(const char *dir, const char *closure)
{
	char *path;

	return asprintf(&path, "%s/%s/%s", dir, seals, closure) < 0 ? NULL : path;
}

static int open_seals(const struct store *store)
{
	return openat(store->fd, seals, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static bool is_kept(int dir, const char *closure, const char *text)
{
	owned_text kept = NULL;
	size_t size;

	return kp_file_read(dir, closure, SEAL_BYTES, &kept, &size, NULL) == 0 &&
	       size == strlen(text) && memcmp(kept, text, size) == 0;
}

void seal_keep(const struct store *store, const char *closure, const char *text)
{
	(void)mkdirat(store->fd, seals, 0755);
	owned_fd dir = open_seals(store);

	if (dir < 0 || is_kept(dir, closure, text))
		return;
	if (kp_file_replace(dir, closure, text, strlen(text), 0644, false, NULL) < 0)
		(void)unlinkat(dir, closure, 0);
}

void seal_remove(const struct store *store, const char *closure)
{
	owned_fd dir = open_seals(store);

	if (dir >= 0)
		(void)unlinkat(dir, closure, 0);
}

void seal_sweep(const struct store *store)
{
	int dir = open_seals(store);
	DIR *stream = dir < 0 ? NULL : fdopendir(dir);
	const struct dirent *item;

	while (stream && (item = readdir(stream)))
		if (strcmp(item->d_name, ".") != 0 && strcmp(item->d_name, "..") != 0 &&
			faccessat(store->fd, item->d_name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
			(void)unlinkat(dirfd(stream), item->d_name, 0);
	if (stream)
		(void)closedir(stream);
	else
		kp_file_close(&dir);
}
