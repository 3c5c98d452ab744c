/* SPDX-License-Identifier: MIT */
/*
 * What a plugin changes of the process that loads it: told as warnings, for an
 * application has one such process, and a plugin is a guest in it.
 */
#ifndef KP_WORKER_HYGIENE_H
#define KP_WORKER_HYGIENE_H

#include <jansson.h>
#include <stddef.h>

struct hygiene;

/* How the process is now; NULL when memory is exhausted. */
struct hygiene *hygiene_take(void);
void hygiene_free(struct hygiene *hygiene);

/*
 * Adds {"code", "object", "message"} to `warnings` for each thing that is not as in
 * `before`, which becomes what is there now: told once. when: "loading it", ...
 */
void hygiene_compare(struct hygiene *before, const char *when, json_t *warnings);

#endif
