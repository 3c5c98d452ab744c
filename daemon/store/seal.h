/* SPDX-License-Identifier: MIT */
/*
 * Signatures beside entries of the store: STORE/.seals/<closure> is the text under which
 * the entry's library was taken, so that it can be verified again when an earlier
 * generation is rolled back to. Knows nothing of what it says; all functions block.
 */
#ifndef KP_DAEMON_SEAL_H
#define KP_DAEMON_SEAL_H

struct store;

/* Of the store in `dir`, malloc'ed; NULL: no memory. */
char *seal_path(const char *dir, const char *closure);

/* Keeps the text, unless it is there; one that cannot be kept is not there. */
void seal_keep(const struct store *store, const char *closure, const char *text);
void seal_remove(const struct store *store, const char *closure);

/* Removes those without an entry: for a start. */
void seal_sweep(const struct store *store);

#endif
