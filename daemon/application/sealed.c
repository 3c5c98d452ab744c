/* SPDX-License-Identifier: MIT */
/* memfd_create(2) and its seals. */
#include "daemon/application/sealed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/owned.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

enum { SIZE_STAYS = F_SEAL_SHRINK | F_SEAL_GROW };

static int failed(const char *what, const char *name, struct kp_diag *diag)
{
	return kp_diag_set(diag, "io_error", name, "cannot %s the memory file %s: %s",
		what, name, strerror(errno));
}

/* Gives the descriptor away. */
static int give(int *fd)
{
	int given = *fd;
	*fd = -1;
	return given;
}

int sealed_new(const char *name, size_t size, struct kp_diag *diag)
{
	unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	owned_fd fd = memfd_create(name, flags | MFD_NOEXEC_SEAL);

	/* Kernels before 6.3 do not know it. */
	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(name, flags);
	if (fd < 0)
		return failed("make", name, diag);
	if (ftruncate(fd, (off_t)size) < 0)
		return failed("size", name, diag);
	return give(&fd);
}

int sealed_reader(int fd, struct kp_diag *diag)
{
	char path[64];

	if (fcntl(fd, F_ADD_SEALS, SIZE_STAYS | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) < 0)
		return failed("seal", "control", diag);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	int reader = open(path, O_RDONLY | O_CLOEXEC);
	/* Without /proc: the seals alone keep others from writing. */
	if (reader < 0)
		reader = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return reader < 0 ? failed("open", "control", diag) : reader;
}

static int write_part(int fd, const struct sealed_part *part)
{
	size_t done = 0;

	while (done < part->size) {
		ssize_t n = pwrite(fd, (const char *)part->bytes + done,
			part->size - done, (off_t)(part->at + done));
		if (n < 0 && errno != EINTR)
			return -1;
		if (n > 0)
			done += (size_t)n;
	}
	return 0;
}

int sealed_content(const char *name, size_t size, const struct sealed_part *parts,
	size_t n_parts, struct kp_diag *diag)
{
	owned_fd fd = sealed_new(name, size, diag);

	if (fd < 0)
		return -1;
	for (size_t i = 0; i < n_parts; i++)
		if (write_part(fd, &parts[i]) < 0)
			return failed("write", name, diag);
	if (fcntl(fd, F_ADD_SEALS, SIZE_STAYS | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
		return failed("seal", name, diag);
	return give(&fd);
}

int sealed_shared(const char *name, size_t size, struct kp_diag *diag)
{
	owned_fd fd = sealed_new(name, size, diag);

	if (fd < 0)
		return -1;
	if (fcntl(fd, F_ADD_SEALS, SIZE_STAYS | F_SEAL_SEAL) < 0)
		return failed("seal", name, diag);
	return give(&fd);
}
