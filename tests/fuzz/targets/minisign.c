/* SPDX-License-Identifier: MIT */
/*
 * Texts of minisign: a public key where the first byte is even, else a signature, which
 * is verified by a key of ours over bytes of ours, and is not right. What is taken does
 * not depend on what is behind it, and is taken again as it was written by minisign.
 */
#include "tests/fuzz/target.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/worker/minisign.h"

static const char comment[] = "untrusted comment: x";

/* Algorithm, id and the rest in base64. */
static void print(char *line, size_t room, const char *algorithm, const unsigned char *id,
	const unsigned char *rest, size_t size)
{
	unsigned char bytes[2 + MINISIGN_ID + MINISIGN_SIGNATURE];

	memcpy(bytes, algorithm, 2);
	memcpy(bytes + 2, id, MINISIGN_ID);
	memcpy(bytes + 2 + MINISIGN_ID, rest, size);
	(void)sodium_bin2base64(line, room, bytes, 2 + MINISIGN_ID + size,
		sodium_base64_VARIANT_ORIGINAL);
}

static void take_key(const char *text)
{
	struct minisign_key key, again;
	char line[128], whole[256], id[MINISIGN_ID_TEXT];
	struct kp_diag diag;

	if (minisign_key_parse(text, "us.pub", &key, &diag) < 0) {
		target_is_refused(&diag);
		return;
	}
	print(line, sizeof(line), "Ed", key.id, key.bytes, MINISIGN_KEY);
	(void)snprintf(whole, sizeof(whole), "%s\n%s\n", comment, line);
	target_claim(minisign_key_parse(whole, "us.pub", &again, &diag) == 0);
	target_claim(memcmp(&key, &again, sizeof(key)) == 0);
	(void)strcat(whole, "more\n");
	target_claim(minisign_key_parse(whole, "us.pub", &again, &diag) < 0);
	minisign_id_print(key.id, id);
	target_claim(strlen(id) == MINISIGN_ID_TEXT - 1);
}

/* The key of all zeroes but the id: whoever could sign for it would not be a fuzzer. */
static void verify(const struct minisign *signature)
{
	static const char bytes[] = "a library";
	struct minisign_key key = {.bytes = {1, 2, 3}};
	struct kp_diag diag;

	memcpy(key.id, signature->id, MINISIGN_ID);
	target_claim(minisign_verify(
			     signature, &key, bytes, sizeof(bytes), "x.so", &diag) < 0);
	target_is_refused(&diag);
}

static void take_signature(const char *text)
{
	struct minisign signature, again;
	char line[128], global[128], whole[2048];
	struct kp_diag diag;

	if (minisign_parse(text, "x.so.minisig", &signature, &diag) < 0) {
		target_is_refused(&diag);
		return;
	}
	target_claim(strlen(signature.comment) < MINISIGN_COMMENT);
	target_claim(strchr(signature.comment, '\n') == NULL);
	print(line, sizeof(line), signature.prehashed ? "ED" : "Ed", signature.id,
		signature.signature, MINISIGN_SIGNATURE);
	(void)sodium_bin2base64(global, sizeof(global), signature.global,
		MINISIGN_SIGNATURE, sodium_base64_VARIANT_ORIGINAL);
	(void)snprintf(whole, sizeof(whole), "%s\n%s\ntrusted comment: %s\n%s\n", comment,
		line, signature.comment, global);
	target_claim(minisign_parse(whole, "x.so.minisig", &again, &diag) == 0);
	target_claim(again.prehashed == signature.prehashed);
	target_claim(memcmp(again.id, signature.id, MINISIGN_ID) == 0);
	target_claim(strcmp(again.comment, signature.comment) == 0);
	verify(&signature);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char *text = malloc(size + 1);

	target_claim(text != NULL && sodium_init() >= 0);
	memcpy(text, bytes, size);
	text[size] = '\0';
	if (size > 0 && bytes[0] & 1)
		take_signature(text + 1);
	else
		take_key(text + (size > 0));
	free(text);
	return 0;
}
