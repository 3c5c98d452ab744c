/* SPDX-License-Identifier: MIT */
/*
 * Keeps the registry in line with the directories: survey -> registry ->
 * pipeline -> registry. One scan at a time.
 */
#ifndef KP_DAEMON_SCAN_H
#define KP_DAEMON_SCAN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/scan/stamp.h"
#include "lib/base/diag.h"
#include "lib/registry/registry.h"

struct daemon;
struct index;
struct scan;
struct kp_manifests;

/* What a scan found, in names: arrays, borrowed in the call; NULL: it came to nothing. */
struct scan_result {
	const json_t *added, *changed, *removed;
};
typedef void scan_done_fn(void *context, const struct scan_result *result);

struct scan *scan_new(struct daemon *daemon, struct kp_diag *diag);

/* What an earlier run knew, for the first scan: takes it. NULL is fine. */
void scan_know(struct scan *scan, struct index *index);

/*
 * Looks at everything, from the start, once the scan under way has ended. `done`
 * (may be NULL) is called when it has, verdicts may still be pending.
 */
void scan_request(struct scan *scan, scan_done_fn *done, void *context);

/* Starts one plugin again, forgetting what the cache knows. */
int scan_retry(struct scan *scan, const char *plugin, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/* A rollback was decided, or taken back: what is meant now goes its way. */
int scan_follow(struct scan *scan, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/* Has the first scan read the manifests? */
bool scan_has_read(const struct scan *scan);
/* And has every plugin of it had its verdict, then or by now? */
bool scan_has_settled(struct scan *scan);

/* As of the last scan; empty before the first. */
const struct kp_manifests *scan_manifests(const struct scan *scan);
/* The stamp of a manifest's file, where it says something to a later run. */
bool scan_stamp_of(
	const struct scan *scan, const struct kp_manifest *manifest, struct stamp *stamp);
/* Names of libraries that no manifest names. */
size_t scan_unclaimed(const struct scan *scan, const char *const **names);

/* Of the registry: remembers what is new and what is gone. */
void scan_note_change(struct scan *scan, const struct kp_change *change);
/* Of the pipeline; context is the scan. */
void scan_take_verdict(void *context, const char *plugin, const char *manifest_digest,
	struct kp_verdict *verdict);

/* No further scan. NULL is fine. */
void scan_close(struct scan *scan);
/* Once the loop has ended. NULL is fine. */
void scan_free(struct scan *scan);

#endif
