/* SPDX-License-Identifier: MIT */
/* Versions of symbols: those that a library needs of others, and those that it has. */
#ifndef KP_WORKER_ELF_VERSIONS_H
#define KP_WORKER_ELF_VERSIONS_H

#include <stdbool.h>

#include "daemon/worker/elf_image.h"

struct elf_version {
	const char *library; /* soname that should have it */
	const char *name;
	uint16_t index; /* in the table of symbols' versions */
	bool weak;	/* does not matter when it is missing */
};

/* Calls for each version that is needed, until there are too many or they are cut. */
void elf_versions_needed(const struct elf_image *image,
	void (*take)(void *context, const struct elf_version *version), void *context);

/* Does it define any versions at all, and this one? */
bool elf_versions_any(const struct elf_image *image);
bool elf_versions_has(const struct elf_image *image, const char *name);
/* The highest that it has of those with the same letters in front ("GLIBC_"), or NULL. */
const char *elf_versions_highest(const struct elf_image *image, const char *like);

#endif
