/* SPDX-License-Identifier: MIT */
/*
 * What the loader takes on trust of the dynamic section, its relocations and names: it
 * crashes, or ends the process, where that is wrong. For a library that is looked at;
 * what it needs is left to the probe.
 */
#ifndef KP_WORKER_ELF_TRUSTED_H
#define KP_WORKER_ELF_TRUSTED_H

#include "daemon/worker/elf_image.h"

/* Entries that go together, are there once, and lead where they must. Code elf_damaged.
 */
int elf_trusted_entries(const struct elf_image *image, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/* Names of symbols and versions, and where symbols lie. Code elf_damaged. */
int elf_trusted_names(const struct elf_image *image, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/* Each changes memory of the library that may be changed. Code elf_damaged. */
int elf_trusted_relocations(const struct elf_image *image, struct kp_diag *diag)
	__attribute__((warn_unused_result));

#endif
