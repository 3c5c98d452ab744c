/* SPDX-License-Identifier: MIT */
/*
 * What is true of the soak's good plugins, in a file that all its processes map: what may
 * run, and what must not. Knows no plugind.
 */
#ifndef KP_SOAK_PAGE_H
#define KP_SOAK_PAGE_H

#include <stdbool.h>
#include <stdint.h>

enum { SOAK_GOOD_MOST = 1024, SOAK_EXTENT = 4, SOAK_NAME = 16 };

/*
 * Libraries are numbered from 1 on as they come; what is in one goes round after `cycle`
 * of them. oldest: that every application obeys already; newest: that is in its place, or
 * may be. off: odd while plugind has said that the plugin is disabled.
 */
struct soak_plugin {
	uint32_t oldest, newest, cycle, off;
};

/* Plugin n has a kernel of the operation "soak/part<n % parts>". */
struct soak_page {
	uint32_t good, parts;
	struct soak_plugin plugins[SOAK_GOOD_MOST];
};

/* For reading, or also for writing; NULL: errno says why. */
struct soak_page *soak_page_map(const char *path, bool writes);

static inline uint32_t soak_load(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

/* Is `content` that of a library from the oldest to the newest? */
static inline bool soak_may_run(
	uint32_t content, uint32_t oldest, uint32_t newest, uint32_t cycle)
{
	for (uint32_t serial = oldest; serial <= newest; serial++)
		if (serial % cycle == content)
			return true;
	return false;
}

#endif
