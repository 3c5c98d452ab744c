/* SPDX-License-Identifier: MIT */
/* Reads /etc/ld.so.cache within its bounds. */
#include "daemon/worker/ld_cache.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/file.h"

enum { CACHE_MOST = 64 << 20 };

static const char new_magic[] = "glibc-ld.so.cache1.1";
static const char old_magic[] = "ld.so-1.7.0";

/* Offsets of strings count from the start of this header. */
struct header {
	char magic[20]; /* with the version, not terminated */
	uint32_t count, strings_size;
	uint8_t flags, padding[3];
	uint32_t extension, unused[3];
};

struct entry {
	int32_t flags;
	uint32_t key, value, os_version;
	uint64_t hwcap;
};

struct old_header {
	char magic[12]; /* one NUL behind the text */
	uint32_t count;
};
enum { OLD_ENTRY = 12 };

/* Where the new table starts: at 0, or aligned behind an old one. */
static size_t find_table(const char *bytes, size_t size)
{
	struct old_header old;
	if (size < sizeof(old) || memcmp(bytes, old_magic, sizeof(old_magic) - 1) != 0)
		return 0;
	memcpy(&old, bytes, sizeof(old));
	uint64_t end = sizeof(old) + (uint64_t)old.count * OLD_ENTRY;
	end = (end + 7) & ~(uint64_t)7;
	return end < size ? (size_t)end : size;
}

static const char *string_at(const char *table, size_t size, uint32_t offset)
{
	if (offset >= size || !memchr(table + offset, '\0', size - offset))
		return NULL;
	return table + offset;
}

static bool find_in(const char *table, size_t size, const char *soname,
	bool (*accept)(void *context, const char *path), void *context)
{
	struct header header;
	if (size < sizeof(header) || memcmp(table, new_magic, sizeof(header.magic)) != 0)
		return false;
	memcpy(&header, table, sizeof(header));
	if (header.count > (size - sizeof(header)) / sizeof(struct entry))
		return false;
	for (uint32_t i = 0; i < header.count; i++) {
		struct entry entry;
		memcpy(&entry, table + sizeof(header) + i * sizeof(entry), sizeof(entry));
		const char *key = string_at(table, size, entry.key);
		const char *path = string_at(table, size, entry.value);
		if (key && path && strcmp(key, soname) == 0 && accept(context, path))
			return true;
	}
	return false;
}

bool ld_cache_find(const char *file, const char *soname,
	bool (*accept)(void *context, const char *path), void *context)
{
	char *bytes = NULL;
	size_t size;
	if (kp_file_read(AT_FDCWD, file, CACHE_MOST, &bytes, &size, NULL) < 0)
		return false;
	size_t start = find_table(bytes, size);
	bool found = find_in(bytes + start, size - start, soname, accept, context);
	free(bytes);
	return found;
}
