/* SPDX-License-Identifier: MIT */
/* Mapping of the page. */
#include "tests/soak/page.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

struct soak_page *soak_page_map(const char *path, bool writes)
{
	int fd = open(path, (writes ? O_RDWR : O_RDONLY) | O_CLOEXEC);

	if (fd < 0)
		return NULL;
	void *page = mmap(NULL, sizeof(struct soak_page),
		PROT_READ | (writes ? PROT_WRITE : 0), MAP_SHARED, fd, 0);
	(void)close(fd);
	return page == MAP_FAILED ? NULL : page;
}
