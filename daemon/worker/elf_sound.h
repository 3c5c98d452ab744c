/* SPDX-License-Identifier: MIT */
/*
 * Do the headers of an ELF file agree with each other? A loader believes them: what it
 * would map over other memory, or read beyond a segment, is refused here.
 */
#ifndef KP_WORKER_ELF_SOUND_H
#define KP_WORKER_ELF_SOUND_H

#include "daemon/worker/elf_image.h"

/* Sizes and versions of the file's header. Code elf_damaged. */
int elf_sound_header(const struct elf_image *image, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/* Segments, once they are read: sizes, alignment, order, overlaps. */
int elf_sound_segments(const struct elf_image *image, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/* Tables that the dynamic section names, once it is read. */
int elf_sound_tables(const struct elf_image *image, struct kp_diag *diag)
	__attribute__((warn_unused_result));

#endif
