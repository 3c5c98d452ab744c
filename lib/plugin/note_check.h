/* SPDX-License-Identifier: MIT */
/*
 * Is what a note says of its kernels right by the families? Asked by the registry of a
 * plugin and by `plugin-worker --identify` of a file that nobody has installed.
 */
#ifndef KP_LIB_NOTE_CHECK_H
#define KP_LIB_NOTE_CHECK_H

#include "lib/family/family.h"
#include "lib/plugin/note.h"

/*
 * `offset` is the manifest's, or 0; it is added to the priorities. Codes of
 * kp_family_check_signature, unknown_trait, bad_trait, bad_priority_offset, no_memory;
 * the object is the path in the note. Warnings: unknown_family, newer_revision.
 */
int kp_note_check(struct kp_note *note, const struct kp_families *families, int offset,
	struct kp_diags *warnings, struct kp_diag *diag)
	__attribute__((warn_unused_result));

#endif
