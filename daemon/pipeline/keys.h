/* SPDX-License-Identifier: MIT */
/* The directory of trusted public keys, as text: what is in them a worker reads. */
#ifndef KP_DAEMON_KEYS_H
#define KP_DAEMON_KEYS_H

#include <jansson.h>
#include <time.h>

#include "daemon/scan/stamp.h"
#include "daemon/store/digest.h"
#include "lib/plugin/signing.h"

struct kp_trust;

enum { KEYS_MOST = 256 };

/*
 * Reads the files NAME.pub of the directory in byte order, adds [{"file", "text"}] to
 * `keys` and [{"code", "object", "message"}] to `warnings`: what others may change is no
 * key (key_not_trusted), nor is what cannot be read (bad_key_file); those behind the
 * first KEYS_MOST are told (too_many_keys). Directory and files go into the trace; it may
 * be NULL. Blocks. -1: no memory.
 */
int keys_read(const char *dir, const struct kp_trust *trust, json_t *keys,
	json_t *warnings, struct trace *trace) __attribute__((warn_unused_result));

/*
 * What is asked of signatures, and whose keys count, as one digest: another one where
 * either has changed; "" where no signature is required. And when directory or files were
 * changed last. Blocks. -1: no memory.
 */
struct keys_stamp {
	char digest[DIGEST_TEXT];
	struct timespec newest;
};
int keys_stamp(const struct kp_signing *signing, const struct kp_trust *trust,
	struct keys_stamp *stamp) __attribute__((warn_unused_result));

#endif
