/* SPDX-License-Identifier: MIT */
/* Claims, and bytes as files. */
#include "tests/fuzz/target.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/file.h"

void target_claimed(int holds, const char *claim)
{
	if (holds)
		return;
	(void)fprintf(stderr, "this does not hold: %s\n", claim);
	abort();
}

void target_is_refused(const struct kp_diag *diag)
{
	target_claim(diag->code && diag->code[0] != '\0');
	target_claim(diag->message[0] != '\0');
	target_claim(memchr(diag->message, '\0', sizeof(diag->message)) != NULL);
}

char *target_copy(const uint8_t *bytes, size_t size)
{
	char *copy = malloc(size ? size : 1);

	target_claim(copy != NULL);
	if (size > 0)
		memcpy(copy, bytes, size);
	return copy;
}

int target_memory(const uint8_t *bytes, size_t size)
{
	int fd = memfd_create("input", MFD_CLOEXEC);

	target_claim(fd >= 0);
	target_claim(kp_file_write(fd, bytes, size) == 0);
	target_claim(lseek(fd, 0, SEEK_SET) == 0);
	return fd;
}

/* ---- a directory ---- */

static char directory[256];

static int drop(const char *path, const struct stat *status, int type, struct FTW *where)
{
	(void)status;
	(void)type;
	(void)where;
	return remove(path);
}

static void drop_directory(void)
{
	(void)nftw(directory, drop, 4, FTW_DEPTH | FTW_PHYS);
}

static void make_directory(void)
{
	const char *tmp = getenv("TMPDIR");

	(void)snprintf(
		directory, sizeof(directory), "%s/kplug-fuzz-XXXXXX", tmp ? tmp : "/tmp");
	target_claim(mkdtemp(directory) != NULL);
	target_claim(atexit(drop_directory) == 0);
}

const char *target_file(const char *name, const void *bytes, size_t size)
{
	char path[512];

	if (!directory[0])
		make_directory();
	(void)snprintf(path, sizeof(path), "%s/%s", directory, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	target_claim(fd >= 0);
	target_claim(kp_file_write(fd, bytes, size) == 0);
	(void)close(fd);
	return directory;
}
