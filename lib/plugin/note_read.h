/* SPDX-License-Identifier: MIT */
/* What the files that read a note share: the state of reading and its pieces. */
#ifndef KP_LIB_NOTE_READ_H
#define KP_LIB_NOTE_READ_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/base/arena.h"
#include "lib/base/diag.h"
#include "lib/family/format.h"
#include "lib/plugin/spec.h"

enum { KP_NOTE_PATH = 192 };

/* signature is scratch memory: one is too large to clear for each text. */
struct kp_note_reader {
	struct kp_arena *arena;
	struct kp_diags *warnings;
	struct kp_diag *diag;
	struct kp_signature signature;
};

/* "kernels[2]" and "priority" to "kernels[2].priority"; an element's path. */
const char *kp_note_path(char path[KP_NOTE_PATH], const char *parent, const char *key);
const char *kp_note_path_at(char path[KP_NOTE_PATH], const char *parent, size_t index);

/* Is the text a name? Code bad_name. */
int kp_note_check_name(struct kp_note_reader *reader, const char *path, const char *text)
	__attribute__((warn_unused_result));

/*
 * The array `key` of an object that has passed kp_json_check, as strings that
 * each pass `check`; none when the key is absent. As a set: in byte order, each
 * once. Codes too_many, wrong_type and those of `check`.
 */
typedef int kp_note_check_fn(
	struct kp_note_reader *reader, const char *path, const char *text);
int kp_note_read_strings(struct kp_note_reader *reader, const json_t *object,
	const char *parent, const char *key, kp_note_check_fn *check, bool is_set,
	struct kp_strings *strings) __attribute__((warn_unused_result));

/* One element of `kernels`; its traits. Codes as in lib/plugin/note.h. */
int kp_note_read_kernel(struct kp_note_reader *reader, const json_t *value,
	const char *path, struct kp_spec *spec) __attribute__((warn_unused_result));
int kp_note_read_traits(struct kp_note_reader *reader, const json_t *traits,
	const char *parent, struct kp_spec *spec) __attribute__((warn_unused_result));

#endif
