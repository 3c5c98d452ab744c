/* SPDX-License-Identifier: MIT */
/* Asking of many paths, most of which lie in a few directories. */
#include <stdlib.h>
#include <string.h>

#include "lib/base/trust.h"

/* NULL: it is not right, or there is no room. */
static const struct kp_trust_dir *look_at_dir(
	struct kp_trust_look *look, const char *path, size_t length)
{
	struct kp_trust_dir dir;

	for (size_t i = 0; i < look->count; i++)
		if (strlen(look->dirs[i].path) == length &&
			memcmp(look->dirs[i].path, path, length) == 0)
			return &look->dirs[i].dir;
	char *own = look->count < KP_TRUST_DIRS ? strndup(path, length) : NULL;
	if (!own || kp_trust_dir_open(&dir, look->trust, own, NULL) < 0) {
		free(own);
		return NULL;
	}
	look->dirs[look->count].path = own;
	look->dirs[look->count].dir = dir;
	return &look->dirs[look->count++].dir;
}

bool kp_trust_look(struct kp_trust_look *look, const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!look->trust)
		return true;
	const struct kp_trust_dir *dir =
		slash && slash != path ? look_at_dir(look, path, (size_t)(slash - path))
				       : NULL;
	return dir ? kp_trust_path_at(dir, slash + 1, NULL) == 0
		   : kp_trust_path(look->trust, path, NULL) == 0;
}

void kp_trust_look_finish(struct kp_trust_look *look)
{
	for (size_t i = 0; i < look->count; i++) {
		kp_trust_dir_close(&look->dirs[i].dir);
		free(look->dirs[i].path);
	}
	look->count = 0;
}
