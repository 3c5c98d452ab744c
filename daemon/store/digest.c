/* SPDX-License-Identifier: MIT */
/* SHA-256 over nettle, in one pass with a copy. */
#include "daemon/store/digest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nettle/sha2.h>

#include "lib/base/file.h"

enum { CHUNK = 256 << 10 };

static void finish(struct sha256_ctx *context, char text[DIGEST_TEXT])
{
	static const char hex[] = "0123456789abcdef";
	uint8_t bytes[SHA256_DIGEST_SIZE];

	sha256_digest(context, sizeof(bytes), bytes);
	for (size_t i = 0; i < sizeof(bytes); i++) {
		text[2 * i] = hex[bytes[i] >> 4];
		text[2 * i + 1] = hex[bytes[i] & 15];
	}
	text[2 * sizeof(bytes)] = '\0';
}

void digest_bytes(const void *bytes, size_t size, char text[DIGEST_TEXT])
{
	struct sha256_ctx context;

	sha256_init(&context);
	sha256_update(&context, size, bytes);
	finish(&context, text);
}

/* One chunk: its length, 0 at the end, -1 with *diag. */
static ssize_t pass(int from, uint64_t at, int to, uint8_t *chunk, const char *name,
	struct kp_diag *diag)
{
	ssize_t n;

	do
		n = pread(from, chunk, CHUNK, (off_t)at);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return kp_diag_set(diag, "io_error", name, "cannot read %s: %s", name,
			strerror(errno));
	if (to >= 0 && kp_file_write(to, chunk, (size_t)n) < 0)
		return kp_diag_set(diag, "write_failed", name,
			"cannot copy %s into the store: %s", name, strerror(errno));
	return n;
}

int digest_copy(int from, int to, uint64_t limit, const char *name,
	char text[DIGEST_TEXT], uint64_t *size, struct kp_diag *diag)
{
	struct sha256_ctx context;
	uint64_t total = 0;
	ssize_t n;
	uint8_t *chunk = malloc(CHUNK);

	if (!chunk)
		return kp_diag_no_memory(diag);
	sha256_init(&context);
	while ((n = pass(from, total, to, chunk, name, diag)) > 0) {
		total += (uint64_t)n;
		if (total > limit) {
			n = kp_diag_set(diag, "file_too_large", name,
				"%s is larger than %llu bytes", name,
				(unsigned long long)limit);
			break;
		}
		sha256_update(&context, (size_t)n, chunk);
	}
	free(chunk);
	if (n < 0)
		return -1;
	finish(&context, text);
	if (size)
		*size = total;
	return 0;
}
