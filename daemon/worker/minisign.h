/* SPDX-License-Identifier: MIT */
/*
 * Detached signatures and public keys in the format of minisign(1): Ed25519 over the file
 * ("Ed") or over its BLAKE2b-512 ("ED"), and a second one over the first and a trusted
 * comment. Reads nothing but what it is given; knows no policy.
 */
#ifndef KP_WORKER_MINISIGN_H
#define KP_WORKER_MINISIGN_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/diag.h"

enum {
	MINISIGN_ID = 8,
	MINISIGN_KEY = 32,
	MINISIGN_SIGNATURE = 64,
	MINISIGN_COMMENT = 1024,
	MINISIGN_ID_TEXT = 2 * MINISIGN_ID + 1
};

struct minisign_key {
	unsigned char id[MINISIGN_ID], bytes[MINISIGN_KEY];
};

struct minisign {
	bool prehashed;
	unsigned char id[MINISIGN_ID], signature[MINISIGN_SIGNATURE];
	unsigned char global[MINISIGN_SIGNATURE];
	char comment[MINISIGN_COMMENT]; /* trusted once it is verified */
};

/* Of a text of `file`, which the message names. Code bad_key_file. */
int minisign_key_parse(const char *text, const char *file, struct minisign_key *key,
	struct kp_diag *diag) __attribute__((warn_unused_result));
/* Code wrong_signature. */
int minisign_parse(const char *text, const char *file, struct minisign *signature,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/* As minisign(1) writes it. */
void minisign_id_print(const unsigned char id[MINISIGN_ID], char text[MINISIGN_ID_TEXT]);

/*
 * Is it this key's, of these bytes, and is the comment its own? The key has its id.
 * `file` is that of the bytes, for messages. Code wrong_signature.
 */
int minisign_verify(const struct minisign *signature, const struct minisign_key *key,
	const void *bytes, size_t size, const char *file, struct kp_diag *diag)
	__attribute__((warn_unused_result));

#endif
