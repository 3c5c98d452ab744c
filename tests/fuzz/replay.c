/* SPDX-License-Identifier: MIT */
/*
 * The main of a target without libFuzzer: gives it each file that is named, whole and cut
 * at some places. A sanitizer, or a signal, says what is wrong.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/file.h"
#include "tests/fuzz/target.h"

enum { BYTES_MOST = 16 << 20, CUTS = 24 };

static int replay(const char *path)
{
	struct kp_diag diag;
	char *bytes;
	size_t size;

	if (kp_file_read(AT_FDCWD, path, BYTES_MOST, &bytes, &size, &diag) < 0) {
		(void)fprintf(stderr, "%s\n", diag.message);
		return -1;
	}
	(void)fprintf(stderr, "%s\n", path);
	(void)LLVMFuzzerTestOneInput((const uint8_t *)bytes, size);
	for (size_t i = 0; i < CUTS; i++) {
		/* Where it ends matters to the reader: nothing lies behind it. */
		size_t cut = size * i / CUTS;
		char *piece = target_copy((const uint8_t *)bytes, cut);
		(void)LLVMFuzzerTestOneInput((const uint8_t *)piece, cut);
		free(piece);
	}
	free(bytes);
	return 0;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (replay(argv[i]) < 0)
			return EXIT_FAILURE;
	return argc > 1 ? EXIT_SUCCESS : EXIT_FAILURE;
}
