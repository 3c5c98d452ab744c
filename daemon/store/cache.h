/* SPDX-License-Identifier: MIT */
/*
 * What was found out before: for each library file what it was and what it led
 * to, and verdicts by what they depend on. Kept in one file, CACHE/probe: a line
 * of JSON each, between a first line that names the format and a last one with the sum
 * of all before it. Knows no store.
 */
#ifndef KP_DAEMON_CACHE_H
#define KP_DAEMON_CACHE_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/scan/stamp.h"
#include "daemon/store/digest.h"
#include "lib/base/diag.h"
#include "lib/platform/confinement.h"

/*
 * Kept when not used: one entry a file, one verdict a key. Of verdicts that no file has
 * now, as earlier libraries may come back, CACHE_SPARE; then the oldest go.
 */
enum { CACHE_DAYS = 30, CACHE_MOST = 65536, CACHE_MIB = 256, CACHE_SPARE = 512 };

/*
 * Values are never changed once they are inside, so that a thread of the pool
 * may read one (with a reference) while the loop thread goes on. What is put in is kept
 * as the text of its line, a tenth of what it takes as a value, until it is asked for.
 */
struct cache {
	json_t *files;	  /* path of a library -> what it was */
	json_t *verdicts; /* key -> verdict */
};

/* -1 when memory is exhausted. */
int cache_init(struct cache *cache) __attribute__((warn_unused_result));
void cache_finish(struct cache *cache);

/*
 * Reads CACHE/probe into an initialized, empty cache; nothing there is fine. What is
 * older than CACHE_DAYS at `now` (seconds) stays out. A file that is wrong is
 * renamed to probe.damaged and *diag says why (code cache_damaged): 1. A directory that
 * is there and cannot be opened: 1, too (write_failed). Blocks.
 */
int cache_read(struct cache *cache, const char *dir, int64_t now, struct kp_diag *diag)
	__attribute__((warn_unused_result));
/* Writes a file from a cache that nobody changes meanwhile. Blocks. */
int cache_write(const struct cache *cache, const char *dir, struct kp_diag *diag)
	__attribute__((warn_unused_result));
/* References to all that is inside now. */
int cache_snapshot(const struct cache *cache, struct cache *snapshot)
	__attribute__((warn_unused_result));

/* What a verdict depends on, beside this kplug and its ABI. */
struct cache_terms {
	const char *closure;	/* its digest; of the library where there is none */
	const char *deps;	/* the digest of what its dependencies resolved to */
	const char *platform;	/* a text that changes when the devices do */
	const char *signatures; /* what was asked of them: a policy's name */
	/* By what workers are confined: a plugin may do in one what another refuses. */
	struct kp_confinement confinement;
};

/* The key of a verdict: SHA-256 over all that; "" when memory is exhausted. */
void cache_key(const struct cache_terms *terms, char key[DIGEST_TEXT]);

/* What is kept of a library file. Texts are borrowed. */
struct cache_file {
	const char *digest;  /* of the library */
	const char *closure; /* "" when it came to none */
	const char *entry;   /* name of the library inside of its entry, "" likewise */
	const char *deps;
	const char *key;     /* of its verdict, "" for none */
	const json_t *parts; /* [[path, digest]]: the other files of the entry */
	const json_t *needs; /* what its dependencies resolved to, as identify said */
	struct trace *trace;
};

/* Borrowed, NULL: not known. */
const json_t *cache_find(const struct cache *cache, const char *library);
/* False when it is not what cache_put puts there; file->trace is new. */
int cache_decode(const json_t *value, struct cache_file *file)
	__attribute__((warn_unused_result));
/* A file that does not fit in memory is forgotten. */
void cache_put(struct cache *cache, const char *library, const struct cache_file *file,
	int64_t now);
void cache_forget(struct cache *cache, const char *library);

/*
 * A verdict, borrowed, or NULL. One of a failure holds for the timeout that it
 * was made with only.
 */
const json_t *cache_verdict(
	const struct cache *cache, const char *key, unsigned timeout_ms);
/* Takes `verdict` (kp_verdict_json), which may be NULL: then nothing is kept. */
void cache_put_verdict(struct cache *cache, const char *key, unsigned timeout_ms,
	int64_t now, json_t *verdict);

#endif
