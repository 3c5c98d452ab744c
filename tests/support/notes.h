/* SPDX-License-Identifier: MIT */
/* Notes for tests: right ones, and how one is refused. */
#ifndef TESTS_SUPPORT_NOTES_H
#define TESTS_SUPPORT_NOTES_H

#include <stddef.h>

#include "lib/plugin/note.h"

/* A note in which every key is set. */
extern const char note_full[];

/* A note with these kernels, or with one whose member `key` is this; to be freed. */
char *note_with_kernels(const char *kernels);
char *note_with_member(const char *key, const char *value);

/* Reads a note that must be right and without a warning. */
void note_read(const char *text, struct kp_note *note);

/*
 * The text, or a kernel with this member, must be refused with this code and,
 * unless it is NULL, this object; `part` must be in the message.
 */
void note_refused_bytes(const char *text, size_t size, const char *code,
	const char *object, struct kp_diag *diag);
void note_refused(
	const char *text, const char *code, const char *object, struct kp_diag *diag);
void note_member_refused(const char *key, const char *value, const char *code,
	const char *object, const char *part);

#endif
