/* SPDX-License-Identifier: MIT */
/*
 * One plugin's way: a state machine whose steps run in the loop (way.c), whose
 * file work runs in the pool (way_work.c), and whose questions go to workers.
 * Of pipeline.c only.
 */
#ifndef KP_DAEMON_WAY_H
#define KP_DAEMON_WAY_H

#include <stdbool.h>
#include <sys/queue.h>
#include <uv.h>

#include "daemon/pipeline/batch.h"
#include "daemon/pipeline/lane.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/pipeline/suspects.h"
#include "daemon/store/cache.h"
#include "daemon/store/store.h"
#include "lib/plugin/finding.h"

struct way {
	struct pipeline *pipeline;
	TAILQ_ENTRY(way) link; /* while it waits */
	bool waits;	       /* for its begin */
	bool counts;	       /* among those that may be under way at a time */
	struct kp_manifest manifest;
	char *library; /* path */
	bool fresh;
	bool closing; /* cancelled: what still comes back is dropped */

	/* One of these is what the way waits for. */
	struct lane_job job;
	uv_timer_t settle;
	struct pool_job *worker;
	struct batch_item *asked;

	/* What the cache knows: borrowed from `known`, a reference. */
	json_t *known;
	struct cache_file file;
	json_t *remembered; /* the verdict that belongs to it */

	/* Results of work in the pool. */
	enum draft_result result;
	unsigned wait_ms, waited_ms;
	struct kp_diag diag;
	bool hit;  /* nothing has changed: the verdict is `remembered` */
	bool same; /* the same bytes as `file` says */

	struct draft *draft;
	size_t searched, identified; /* files of the draft */
	json_t *elfs[STORE_FILES];
	char *entry; /* the library's name inside of the entry */
	char closure[DIGEST_TEXT], deps[DIGEST_TEXT];
	bool checked; /* the entry was hashed again after a failure */
	bool damaged; /* an entry of it was, once */
	bool foreign; /* not to be probed by what is not confined: diag says why */
	struct trace *trace;
	struct trace *kept; /* of its entry in the store, or NULL */
	json_t *parts;

	json_t *seal;	      /* what is asked of a worker about its signature; or NULL */
	struct permit permit; /* to be probed */
	bool was_probed;      /* with a result */
	unsigned lost;
	struct kp_verdict verdict; /* of the library */
	struct kp_finding finding;
	struct kp_verdict part; /* of a library beside it: its elf only */
	struct kp_finding beside;
};

/* Takes a way from its begin to pipeline_finished. */
void way_begin(struct way *way);
/* No callback any more; it is freed when nothing of it is under way. */
void way_cancel(struct way *way);
struct way *way_new(
	struct pipeline *pipeline, const struct kp_manifest *manifest, bool fresh);
/* Not while anything is under way. */
void way_free(struct way *way);

/* From the start, with a new copy. */
void way_copy_again(struct way *way);

/* Questions to workers (way_ask.c), and what comes after. */
void way_seal(struct way *way); /* who has signed the library? (way_seal.c) */
void way_sealed(struct way *way);
/* Keeps the signature with the entry, for when it is rolled back to; in the pool. */
void way_keep_seal(const struct way *way);
/* Is it not to be trusted with what workers here may? Sets way->diag. (way_seal.c) */
bool way_is_foreign(struct way *way);
void way_identify(struct way *way); /* the next file of the draft */
void way_identified(struct way *way);
void way_probe(struct way *way);

/* Ends (way_end.c). */
void way_finish(struct way *way);
/* Every step begins with it: true when nobody wants the result any more. */
bool way_is_over(struct way *way);
/* way->diag says what is wrong with a file. */
void way_fail_file(struct way *way);
void way_fail_digest(struct way *way, const char *digest);

/* Of a file of the draft; takes request->job, sets the rest. */
void way_ask_of_copy(struct way *way, size_t file, struct pool_request *request);
/* Its worker was lost: once more, or its end. */
void way_ask_again(struct way *way, void (*again)(struct way *way));
/* What is asked of signatures of this plugin. */
enum kp_signing_policy way_policy(const struct way *way);
/* What it has asked for or holds goes back (way_ask.c). */
void way_return_permit(struct way *way);

/* The cache (way_end.c). remember: the verdict and the file. */
void way_remember(struct way *way);
void way_remember_file(struct way *way);
void way_key(struct way *way, char key[DIGEST_TEXT]);
const json_t *way_known_verdict(struct way *way, const char *closure, const char *deps);
/* Takes the verdict of an earlier time for this entry. */
int way_recall(struct way *way, const json_t *remembered, const char *closure,
	const char *entry) __attribute__((warn_unused_result));
/* Sets where the library is in the store. */
int way_set_stored(struct way *way, const char *closure, const char *entry)
	__attribute__((warn_unused_result));

/* Work in the pool. */
void way_look(struct lane_job *job);   /* sets hit */
void way_copy(struct lane_job *job);   /* a new draft of the library; sets same */
int way_read_seal(struct way *way);    /* of way_copy; -1: memory */
void way_search(struct lane_job *job); /* adds what the identified files reach */
void way_keep(struct lane_job *job);   /* the draft becomes an entry */
void way_check(struct lane_job *job);  /* is the entry what it should be? sets damaged */
void way_discard(struct lane_job *job);

/* What a way needs of its pipeline. */
struct store *pipeline_store(const struct pipeline *pipeline);
/* Why there is no store. */
const struct kp_diag *pipeline_store_diag(const struct pipeline *pipeline);
struct cache *pipeline_cache(struct pipeline *pipeline);
struct pool *pipeline_pool(const struct pipeline *pipeline);
struct batches *pipeline_batches(struct pipeline *pipeline);
struct lane *pipeline_lane(struct pipeline *pipeline);
uv_loop_t *pipeline_loop(const struct pipeline *pipeline);
const struct pipeline_options *pipeline_settings(const struct pipeline *pipeline);
void pipeline_cache_changed(struct pipeline *pipeline);
/* Its turn is after all others: says so, and others may begin meanwhile. */
void pipeline_suspects_it(struct pipeline *pipeline, struct way *way);
/* It waits for a file, perhaps for long: others may begin meanwhile. */
void pipeline_waits(struct pipeline *pipeline, struct way *way);
/* The verdict is there: hands it on and ends the way. */
void pipeline_finished(struct pipeline *pipeline, struct way *way);
/* The memory of a cancelled or ended way may go. */
void pipeline_gone(struct pipeline *pipeline, struct way *way);

#endif
