/* SPDX-License-Identifier: MIT */
/* What refers to entries of the store: the closures that must stay. */
#ifndef KP_DAEMON_REFERENCES_H
#define KP_DAEMON_REFERENCES_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/store/digest.h"

struct daemon;

/* A closure that a plugin had while this daemon ran, or in the table that it began with.
 */
struct served {
	char closure[DIGEST_TEXT];
	uint64_t left;	  /* the first generation known to be without it; 0: none is */
	uint64_t left_ms; /* of uv_now */
	bool is_here;	  /* in the table that was followed last */
	bool is_restored; /* applications may come back that have it */
};

/* Zero it first. */
struct references {
	uint64_t generation; /* that was followed last */
	size_t n_served, served_room, count, room;
	struct served *served;	    /* in byte order of closure */
	char (*items)[DIGEST_TEXT]; /* sorted by references_take */
	bool failed;		    /* memory: nothing may be removed */
};

/* Remembers what the published table serves. */
void references_follow(struct references *references, const struct daemon *daemon);
/* Gathers all that must stay now; also without what the history alone keeps. */
void references_take(
	struct references *references, const struct daemon *daemon, bool with_history);
bool references_has(const struct references *references, const char *closure);
/* Is there one that only waits to be let go? */
bool references_wait(const struct references *references);
void references_finish(struct references *references);

#endif
