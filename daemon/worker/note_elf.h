/* SPDX-License-Identifier: MIT */
/* Finds the note of a plugin in an ELF file; knows nothing of what it says. */
#ifndef KP_WORKER_NOTE_ELF_H
#define KP_WORKER_NOTE_ELF_H

#include <stddef.h>

#include "daemon/worker/elf_image.h"

/*
 * The bytes of the one note of kplug, found through PT_NOTE; valid until the
 * image is finished. Codes no_note, note_truncated, several_notes,
 * note_wrong_owner (it is in the place of ours, named), note_wrong_type,
 * note_too_large.
 */
int note_elf_find(const struct elf_image *image, const char **text, size_t *size,
	struct kp_diag *diag) __attribute__((warn_unused_result));

#endif
