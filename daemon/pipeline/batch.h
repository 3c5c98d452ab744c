/* SPDX-License-Identifier: MIT */
/*
 * Libraries that are identified together. No code of theirs runs, and all were put where
 * they lie by the same people: one worker looks at several, one after the other. What it
 * says is believed as a whole, or not at all: unless it ends as agreed, having printed
 * nothing and asked for nothing that it may not, each of its libraries gets a worker of
 * its own, and is judged by that alone. Loop thread only.
 */
#ifndef KP_DAEMON_BATCH_H
#define KP_DAEMON_BATCH_H

#include <stddef.h>
#include <sys/queue.h>

#include "daemon/pipeline/pool.h"

enum {
	BATCH_MOST = POOL_FDS_MOST,
	BATCH_BYTES = 1 << 20, /* of a library; what is larger takes its own time */
	BATCH_MS = 2000,  /* for all: then each has the time that it may take alone */
	BATCHES_MOST = 2, /* at a time: those who come meanwhile are the next one */
};

struct batch_item;
TAILQ_HEAD(batch_items, batch_item);

struct batches {
	struct pool *pool;
	struct batch_items waiting;
	size_t running;
};

/* The pool is borrowed. Nothing is to be finished once every item has ended. */
void batches_init(struct batches *batches, struct pool *pool);

/*
 * As pool_submit, for a request that identifies {"kind", "file", "part"}; its only
 * descriptor is taken over, also by a failure. NULL: memory, or the pool is closing.
 */
struct batch_item *batches_submit(
	struct batches *batches, const struct pool_request *request);
/* As pool_cancel. Its end comes with that of its batch. */
void batches_cancel(struct batch_item *item);

#endif
