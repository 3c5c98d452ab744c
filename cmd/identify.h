/* SPDX-License-Identifier: MIT */
/* What a library file says of itself, without a daemon: asks plugin-worker. */
#ifndef CMD_IDENTIFY_H
#define CMD_IDENTIFY_H

#include <jansson.h>

#include "lib/base/diag.h"
#include "lib/plugin/verdict.h"

/*
 * Runs `plugin-worker --identify FILE`, which executes nothing of the file, for
 * at most timeout_ms (negative: no limit). *info is {"plugin": PluginInfo}. `keys` is a
 * directory of public keys for FILE.minisig, or NULL: nobody looks at that.
 * Codes no_worker, worker_failed, timed_out, bad_cache and those of
 * kp_json_parse.
 */
int identify_file(const char *file, const char *keys, int timeout_ms, json_t **info,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/*
 * The same by `plugin-worker --inspect FILE`: the library alone, its note not held
 * against the families; with keys, that there is no signature is a warning. *verdict is
 * the caller's to finish.
 */
int identify_library(const char *file, const char *keys, int timeout_ms,
	struct kp_verdict *verdict, struct kp_diag *diag)
	__attribute__((warn_unused_result));

#endif
