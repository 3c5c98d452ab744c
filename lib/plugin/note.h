/* SPDX-License-Identifier: MIT */
/*
 * The note of a plugin: its metadata, JSON by lib/schemas/note.json. Knows
 * nothing of ELF; the worker finds the bytes.
 */
#ifndef KP_LIB_NOTE_H
#define KP_LIB_NOTE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/base/diag.h"
#include "lib/base/version.h"
#include "lib/plugin/spec.h"

enum {
	KP_NOTE_STRINGS = 256, /* in one array: signatures, tags, features, ... */
	KP_NOTE_TRAITS = 64,   /* of a kernel */
	KP_NOTE_TRAIT_VALUES = 1024,
	KP_NOTE_REVISION_MOST = 1000000,
};

struct kp_arena;

struct kp_note_name {
	const char *name;
	const struct kp_spec *spec;
};

struct kp_note {
	json_t *root;		 /* owns the strings */
	struct kp_arena *memory; /* owns the arrays of the specs */
	const char *name; /* of the package; the registry's name is the manifest's */
	const char *version_text;
	const char *author, *license, *description; /* NULL: not said */
	struct kp_version version;
	unsigned abi_major, abi_built, abi_needed;
	bool has_host; /* the note says a range; without one every host fits */
	struct kp_version_range host;
	size_t n_kernels;
	struct kp_spec *kernels;	  /* in the note's order */
	const struct kp_note_name *names; /* the same in byte order of name */
};

/*
 * Reads a note. Whatever is wrong refuses it as a whole: codes of kp_json_parse
 * and kp_json_check, bad_version, bad_name, bad_priority, bad_signature,
 * bad_operation, bad_trait, bad_arch, bad_abi, bad_capability, bad_revision,
 * bad_need, unknown_flag, duplicate_kernel (both named), too_many_kernels,
 * too_many, no_signature, empty_range; diag->object is the path
 * (`kernels[2].priority`), its place that in the text. Unknown keys are warnings;
 * `warnings` may be NULL. The ABI and host range are read, not judged: see
 * kp_note_fits.
 *
 * Tags, features and vendors are sets: in byte order, each once.
 */
int kp_note_parse(const char *text, size_t size, struct kp_note *note,
	struct kp_diags *warnings, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/* The same from a parsed text; takes a reference of its own. */
int kp_note_from_json(json_t *root, struct kp_note *note, struct kp_diags *warnings,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/*
 * May a host of this version load it? Codes abi_major, abi_minor, host_too_old,
 * host_too_new; the message has the field, both values and what to do.
 */
int kp_note_fits(const struct kp_note *note, const struct kp_version *host,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/* The ABI alone, against one that is given. Codes abi_major, abi_minor. */
int kp_note_fits_abi(const struct kp_note *note, unsigned major, unsigned minor,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/* NULL when there is none of this name. */
const struct kp_spec *kp_note_find(const struct kp_note *note, const char *kernel);

void kp_note_finish(struct kp_note *note);

#endif
