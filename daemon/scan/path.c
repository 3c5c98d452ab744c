/* SPDX-License-Identifier: MIT */
/* Normal forms of paths. */
#include "daemon/scan/path.h"

#include <stdlib.h>
#include <string.h>

char *path_normal(const char *path)
{
	char *out = malloc(strlen(path) + 2);
	size_t used = 0;

	if (!out)
		return NULL;
	out[0] = '\0';
	while (*path) {
		path += strspn(path, "/");
		size_t length = strcspn(path, "/");
		if (length == 2 && memcmp(path, "..", 2) == 0) {
			while (used > 0 && out[--used] != '/')
				;
		} else if (length > 0 && !(length == 1 && *path == '.')) {
			out[used++] = '/';
			memcpy(out + used, path, length);
			used += length;
		}
		out[used] = '\0';
		path += length;
	}
	return out;
}

size_t path_common(const char *path, const char *other, size_t length)
{
	size_t end = 0;

	for (size_t i = 0; i <= length && path[i] && path[i] == other[i]; i++)
		if (path[i] == '/')
			end = i;
	return end;
}
