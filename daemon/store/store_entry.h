/* SPDX-License-Identifier: MIT */
/* What store.c and draft.c share: the store from the inside. */
#ifndef KP_DAEMON_STORE_ENTRY_H
#define KP_DAEMON_STORE_ENTRY_H

#include "daemon/store/store.h"

/* Entries that are being removed, and go at the next start if they were not. */
#define STORE_GONE ".gone-"

struct store {
	char *dir;
	char boot[64];
	int fd;	   /* of dir */
	int marks; /* of .boot/<boot>, or -1 */
	struct store_wish wish;
};

/* Remembers that the entry is right as it is, for this boot; *kept as store_keeps. */
void store_mark(const struct store *store, const char *closure, struct trace **kept);

#endif
