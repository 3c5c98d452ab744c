/* SPDX-License-Identifier: MIT */
/*
 * A library with all that the loader would load for it, directly and by others, none of
 * it loaded: where each comes from, which are missing, and what they define.
 */
#ifndef KP_WORKER_CLOSURE_H
#define KP_WORKER_CLOSURE_H

#include <jansson.h>
#include <stdbool.h>

#include "daemon/worker/elf_image.h"
#include "daemon/worker/search.h"

enum { CLOSURE_MOST = 256 };

struct closure_part {
	char *name; /* as it is needed */
	char *path;
	const char *by; /* name of the part that needs it; NULL: the library itself */
	int fd;
	struct elf_image image;
};

/* Zero it. */
struct closure {
	size_t count;
	struct closure_part *parts[CLOSURE_MOST];
	/* Some could not be read, or there are too many: what is not found may be there.
	 */
	bool is_cut;
	/* The rows of search_library for those that are missing, each with "by". */
	json_t *missing;
};

/*
 * `library` is open, `facts` are its own (elf_facts), `path` is where its needs are
 * looked for. -1 when memory is exhausted.
 */
int closure_gather(struct closure *closure, const json_t *facts,
	const struct search_path *path) __attribute__((warn_unused_result));
void closure_finish(struct closure *closure);

/* The part that stands for a needed name, or NULL. */
const struct closure_part *closure_find(const struct closure *closure, const char *name);

#endif
