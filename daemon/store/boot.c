/* SPDX-License-Identifier: MIT */
/* As the kernel has it. */
#include "daemon/store/boot.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/file.h"

static const char boot_id[] = "/proc/sys/kernel/random/boot_id";

int boot_read(char *boot, size_t size)
{
	char *text;
	size_t length;

	if (kp_file_read(AT_FDCWD, boot_id, BOOT_TEXT, &text, &length, NULL) < 0)
		return -1;
	text[strcspn(text, "\n")] = '\0';
	(void)snprintf(boot, size, "%s", text);
	free(text);
	return boot[0] && !strchr(boot, '/') ? 0 : -1;
}
