/* SPDX-License-Identifier: MIT */
/* Lines of texts, and libsodium for what they say. */
#include "daemon/worker/minisign.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

static const char untrusted[] = "untrusted comment:";
static const char trusted[] = "trusted comment: ";

enum { ALGORITHM = 2, LINE_MOST = 4096 };

/* One line without its end, and what follows it; false where there is none. */
static bool take_line(const char **text, const char **line, size_t *length)
{
	if (!**text)
		return false;
	*line = *text;
	*length = strcspn(*text, "\n");
	*text += *length + ((*text)[*length] == '\n');
	if (*length > 0 && (*line)[*length - 1] == '\r')
		--*length;
	return *length < LINE_MOST;
}

static bool begins(const char *line, size_t length, const char *with)
{
	return length >= strlen(with) && memcmp(line, with, strlen(with)) == 0;
}

/* Exactly so many bytes of base64. */
static bool decode(const char *line, size_t length, unsigned char *bytes, size_t size)
{
	size_t n;

	return sodium_base642bin(bytes, size, line, length, NULL, &n, NULL,
		       sodium_base64_VARIANT_ORIGINAL) == 0 &&
	       n == size;
}

/* The first line is anybody's word. */
static bool skip_untrusted(const char **text)
{
	const char *line;
	size_t length;

	return take_line(text, &line, &length) && begins(line, length, untrusted);
}

static bool read_key(const char *text, struct minisign_key *key)
{
	unsigned char bytes[ALGORITHM + MINISIGN_ID + MINISIGN_KEY];
	const char *line;
	size_t length;

	if (!skip_untrusted(&text) || !take_line(&text, &line, &length) ||
		!decode(line, length, bytes, sizeof(bytes)) ||
		memcmp(bytes, "Ed", 2) != 0)
		return false;
	memcpy(key->id, bytes + ALGORITHM, MINISIGN_ID);
	memcpy(key->bytes, bytes + ALGORITHM + MINISIGN_ID, MINISIGN_KEY);
	return text[strspn(text, "\r\n")] == '\0';
}

int minisign_key_parse(const char *text, const char *file, struct minisign_key *key,
	struct kp_diag *diag)
{
	struct minisign_key read;

	if (!read_key(text, &read))
		return kp_diag_set(diag, "bad_key_file", file,
			"%s is no public key of minisign: write there what `minisign -G` "
			"has put into minisign.pub, or remove it",
			file);
	*key = read;
	return 0;
}

static bool read_signature(const char *text, struct minisign *signature)
{
	unsigned char bytes[ALGORITHM + MINISIGN_ID + MINISIGN_SIGNATURE];
	const char *line;
	size_t length;

	if (!skip_untrusted(&text) || !take_line(&text, &line, &length) ||
		!decode(line, length, bytes, sizeof(bytes)) || bytes[0] != 'E' ||
		(bytes[1] != 'd' && bytes[1] != 'D'))
		return false;
	signature->prehashed = bytes[1] == 'D';
	memcpy(signature->id, bytes + ALGORITHM, MINISIGN_ID);
	memcpy(signature->signature, bytes + ALGORITHM + MINISIGN_ID, MINISIGN_SIGNATURE);
	if (!take_line(&text, &line, &length) || !begins(line, length, trusted))
		return false;
	line += strlen(trusted);
	length -= strlen(trusted);
	if (length >= sizeof(signature->comment))
		return false;
	memcpy(signature->comment, line, length);
	signature->comment[length] = '\0';
	return take_line(&text, &line, &length) &&
	       decode(line, length, signature->global, sizeof(signature->global)) &&
	       text[strspn(text, "\r\n")] == '\0';
}

int minisign_parse(const char *text, const char *file, struct minisign *signature,
	struct kp_diag *diag)
{
	struct minisign read;

	if (!read_signature(text, &read))
		return kp_diag_set(diag, "wrong_signature", file,
			"%s is no signature of minisign, or it was cut: sign the library "
			"again with `minisign -S`",
			file);
	*signature = read;
	return 0;
}

void minisign_id_print(const unsigned char id[MINISIGN_ID], char text[MINISIGN_ID_TEXT])
{
	for (size_t i = 0; i < MINISIGN_ID; i++)
		(void)snprintf(text + 2 * i, 3, "%02X", id[MINISIGN_ID - 1 - i]);
}

static bool is_of_bytes(const struct minisign *signature, const struct minisign_key *key,
	const void *bytes, size_t size)
{
	unsigned char hash[crypto_generichash_BYTES_MAX];

	if (signature->prehashed) {
		if (crypto_generichash(hash, sizeof(hash), bytes, size, NULL, 0) != 0)
			return false;
		bytes = hash;
		size = sizeof(hash);
	}
	return crypto_sign_verify_detached(
		       signature->signature, bytes, size, key->bytes) == 0;
}

static bool has_own_comment(
	const struct minisign *signature, const struct minisign_key *key)
{
	unsigned char both[MINISIGN_SIGNATURE + MINISIGN_COMMENT];
	size_t length = strlen(signature->comment);

	memcpy(both, signature->signature, MINISIGN_SIGNATURE);
	memcpy(both + MINISIGN_SIGNATURE, signature->comment, length);
	return crypto_sign_verify_detached(signature->global, both,
		       MINISIGN_SIGNATURE + length, key->bytes) == 0;
}

int minisign_verify(const struct minisign *signature, const struct minisign_key *key,
	const void *bytes, size_t size, const char *file, struct kp_diag *diag)
{
	char id[MINISIGN_ID_TEXT];

	minisign_id_print(key->id, id);
	if (!is_of_bytes(signature, key, bytes, size))
		return kp_diag_set(diag, "wrong_signature", file,
			"the signature of %s by the key %s is not one of these bytes: "
			"the library was changed after it was signed, or this is "
			"another file's signature; get both again from who signed them",
			file, id);
	if (!has_own_comment(signature, key))
		return kp_diag_set(diag, "wrong_signature", file,
			"the trusted comment in the signature of %s is not what the key "
			"%s has signed: get the signature again from who made it",
			file, id);
	return 0;
}
