/* SPDX-License-Identifier: MIT */
/* SHA-256 of bytes and of files, as lower-case text. Knows nothing of what they mean. */
#ifndef KP_DAEMON_DIGEST_H
#define KP_DAEMON_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/diag.h"

enum {
	DIGEST_TEXT = 65,
	DIGEST_FILE_MIB = 512, /* of a library */
};

void digest_bytes(const void *bytes, size_t size, char text[DIGEST_TEXT]);

/*
 * Reads `from` from its start to its end, wherever its offset is, which stays: who else
 * has the same open file may move it meanwhile. Writes what was read to `to`, unless
 * that is -1. More than `limit` bytes is file_too_large. *size may be NULL.
 * `name` is for messages. Blocks. Codes: file_too_large, io_error, write_failed.
 */
int digest_copy(int from, int to, uint64_t limit, const char *name,
	char text[DIGEST_TEXT], uint64_t *size, struct kp_diag *diag)
	__attribute__((warn_unused_result));

#endif
