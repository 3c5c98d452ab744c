/* SPDX-License-Identifier: MIT */
/*
 * The store: one directory a closure, with the library and what it reaches by
 * $ORIGIN. Everything after maps files of it by their paths. All functions block
 * and may run in any thread; one draft belongs to one thread at a time.
 *
 * STORE/<closure>/...            an entry, read-only
 * STORE/.boot/<boot id>/<closure> stamps of an entry when it was hashed, in this boot
 * STORE/.seals/<closure>        its signature (daemon/store/seal.h)
 * STORE/.new-XXXXXX/             a draft
 * STORE/.gone-<closure>/         an entry that is being removed
 * STORE/.damaged-<closure>/      an entry that was not what its name says
 */
#ifndef KP_DAEMON_STORE_H
#define KP_DAEMON_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/scan/stamp.h"
#include "daemon/store/digest.h"
#include "lib/base/diag.h"

enum {
	STORE_FILES = 64, /* of an entry */
	STORE_UPS = 8,	  /* directories above the library's that it may reach */
	STORE_FILE_MIB = DIGEST_FILE_MIB,
};

struct kp_trust;
struct store;
struct draft;

/*
 * Makes what is missing of the directory (0755) and removes drafts that an
 * earlier run left: there is one user of a store. `boot` names this boot, NULL: the
 * kernel's own id. Codes of kp_file_make_dirs, io_error, no_memory.
 */
struct store *store_open(const char *dir, const char *boot, struct kp_diag *diag);
void store_close(struct store *store); /* NULL is fine */

/*
 * What is asked of files, before the first draft. What goes into the store of a system's
 * daemon is published to everybody: it takes none that is not readable by all
 * (not_world_readable). `trust` is borrowed; NULL: anybody's files are taken.
 */
struct store_wish {
	const struct kp_trust *trust;
	bool for_all;
};
void store_ask(struct store *store, const struct store_wish *wish);

/*
 * Is this entry here and right? It is hashed where that was not done in this boot, or
 * its files have other stamps since; one that is not what its name says is set
 * aside, *damaged set (may be NULL; never cleared).
 */
bool store_has(struct store *store, const char *closure, bool *damaged);

/*
 * The same; *kept (may be NULL) gets the stamps of all its files and directories by their
 * paths below the store, as of the time it was found to be right: a new reference, which
 * the caller gives back, or NULL where there is no memory.
 */
bool store_keeps(
	struct store *store, const char *closure, bool *damaged, struct trace **kept);

/* What is known of the entry is forgotten: it is hashed when it is asked for next. */
void store_doubt(const struct store *store, const char *closure);

/* The path of a file of an entry, malloc'ed; NULL when memory is exhausted. */
char *store_path(const struct store *store, const char *closure, const char *name);

/* A new, empty draft. */
struct draft *draft_new(struct store *store, struct kp_diag *diag);
/* An entry that is there already is hashed before it is believed (store_doubt). */
void draft_doubt(struct draft *draft);
/* Removes what was not kept. NULL is fine. */
void draft_free(struct draft *draft);

/* A file of a draft; the first one is the library. */
struct draft_file {
	char *from; /* the path it was read from */
	char *at;   /* the same, absolute, without "." and ".." */
	char digest[DIGEST_TEXT];
	uint64_t size;
	struct stamp stamp;
};
size_t draft_count(const struct draft *draft);
const struct draft_file *draft_file(const struct draft *draft, size_t i);
/* Is the file of this absolute path in it? */
bool draft_has(const struct draft *draft, const char *path);

enum draft_result {
	DRAFT_ADDED,
	DRAFT_YOUNG, /* or it changed while it was read: again in *wait_ms */
	DRAFT_WRONG, /* *diag says how */
};

/*
 * Copies and hashes the file of an absolute path in one pass. Codes of
 * kp_file_open and digest_copy, dangling_link, too_many_files, outside (more than
 * STORE_UPS directories above the library), those of store_ask and lib/base/trust.h.
 * Nobody else sees the copy before draft_keep.
 */
enum draft_result draft_add(struct draft *draft, const char *path, unsigned *wait_ms,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/* Opens the copy; a descriptor of the caller, or -1. */
int draft_open(const struct draft *draft, size_t i, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/* After draft_keep, what store_keeps gives of the entry: a new reference, or NULL. */
struct trace *draft_kept(struct draft *draft);

/*
 * Makes the draft an entry, or drops it for one that is there already. *entry
 * gets the name of the library inside of the entry, malloc'ed. *damaged is set,
 * and never cleared: an entry of this name was wrong and has been set aside. Codes
 * write_failed, no_memory.
 */
int draft_keep(struct draft *draft, char closure[DIGEST_TEXT], char **entry,
	bool *damaged, struct kp_diag *diag) __attribute__((warn_unused_result));

#endif
