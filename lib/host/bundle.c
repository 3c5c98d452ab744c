/* SPDX-License-Identifier: MIT */
/* The loader itself is asked which file it has under a name. */
#include "lib/host/bundle.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DEPTH = 16 };

static bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

/* The path of what is mapped under this name; false: nothing is. */
static bool find_mapped(const char *name, char path[PATH_MAX])
{
	struct link_map *map;
	void *handle = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
	bool found = false;

	if (!handle)
		return false;
	if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0) {
		(void)snprintf(path, PATH_MAX, "%s", map->l_name);
		found = true;
	}
	(void)dlclose(handle);
	return found;
}

static int check_file(const char *stored, const char *path, struct kp_diag *diag)
{
	const char *name = strrchr(path, '/') + 1;
	char mapped[PATH_MAX];

	if (is_same_file(path, stored) || !find_mapped(name, mapped) ||
		is_same_file(path, mapped))
		return 0;
	return kp_diag_set(diag, "soname_conflict", name,
		"this process has %s mapped, which it would get instead of its own %s",
		mapped, path);
}

static int check_dir(const char *stored, const char *dir, int depth, struct kp_diag *diag)
{
	struct dirent *entry;
	int result = 0;
	DIR *open = depth < DEPTH ? opendir(dir) : NULL;

	/* What is not there cannot be taken from elsewhere. */
	if (!open)
		return depth < DEPTH && errno == ENOMEM ? kp_diag_no_memory(diag) : 0;
	while (result == 0 && (entry = readdir(open))) {
		char path[PATH_MAX];
		struct stat st;
		int length = snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		if (entry->d_name[0] == '.' || length >= PATH_MAX || stat(path, &st) < 0)
			continue;
		if (S_ISDIR(st.st_mode))
			result = check_dir(stored, path, depth + 1, diag);
		else if (S_ISREG(st.st_mode))
			result = check_file(stored, path, diag);
	}
	(void)closedir(open);
	return result;
}

int kp_bundle_check(const char *stored, const char *closure, struct kp_diag *diag)
{
	const char *at = closure && *closure ? strstr(stored, closure) : NULL;
	char dir[PATH_MAX];

	if (!at)
		return 0;
	(void)snprintf(
		dir, sizeof(dir), "%.*s", (int)(at - stored + strlen(closure)), stored);
	return check_dir(stored, dir, 0, diag);
}
