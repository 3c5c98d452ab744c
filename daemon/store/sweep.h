/* SPDX-License-Identifier: MIT */
/* How large the store is, and taking entries out of it. Blocks; knows no plugin. */
#ifndef KP_DAEMON_SWEEP_H
#define KP_DAEMON_SWEEP_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/store/digest.h"

struct store;

struct sweep_entry {
	char closure[DIGEST_TEXT];
	int64_t bytes; /* that it takes on the disk */
};

/* In byte order of closure; drafts and what was set aside count in `bytes` alone. */
struct sweep_list {
	size_t count;
	struct sweep_entry *entries;
	int64_t bytes;
};

/* -1: it cannot be read, or memory is exhausted; *list is untouched then. */
int sweep_look(const struct store *store, struct sweep_list *list)
	__attribute__((warn_unused_result));
void sweep_finish(struct sweep_list *list);

/*
 * Takes one out, at once and whole: a reader of before keeps what it has open or mapped.
 * -1 with errno: it is where it was.
 */
int sweep_remove(const struct store *store, const char *closure)
	__attribute__((warn_unused_result));

#endif
