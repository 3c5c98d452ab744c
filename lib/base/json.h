/* SPDX-License-Identifier: MIT */
/*
 * Bounded reading of JSON with places of errors, over jansson. Every JSON text
 * that kplug reads comes through here; knows nothing of what it means.
 *
 * A path names a value inside a text: `kernels[2].priority`.
 */
#ifndef KP_LIB_JSON_H
#define KP_LIB_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/base/diag.h"

enum {
	KP_JSON_BYTES = 4 << 20, /* what a note, a manifest or a message may have */
	KP_JSON_DEPTH = 32,	 /* arrays and objects inside each other */
};

/* Bits for kp_json_key.types. An integer is not a real here: list both. */
enum {
	KP_JSON_OBJECT = 1 << JSON_OBJECT,
	KP_JSON_ARRAY = 1 << JSON_ARRAY,
	KP_JSON_STRING = 1 << JSON_STRING,
	KP_JSON_INTEGER = 1 << JSON_INTEGER,
	KP_JSON_REAL = 1 << JSON_REAL,
	KP_JSON_NUMBER = KP_JSON_INTEGER | KP_JSON_REAL,
	KP_JSON_BOOLEAN = 1 << JSON_TRUE | 1 << JSON_FALSE,
	KP_JSON_NULL = 1 << JSON_NULL,
};

struct kp_json_key {
	const char *name;
	unsigned types;
	bool required;
};

/*
 * Parses one document of at most KP_JSON_BYTES and KP_JSON_DEPTH. *out is a new
 * reference. Codes: json_too_large, json_too_deep, json_not_utf8, json_nul,
 * json_duplicate_key, json_syntax; the place is filled with `file` (a name for
 * people, or NULL), line and column.
 */
int kp_json_parse(const char *text, size_t size, const char *file, json_t **out,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/*
 * Is `value` an object whose keys are these, with these types, the required
 * ones present? Codes: wrong_type, missing_key, unknown_key (with the nearest
 * known one); the object of the diagnostic is the path of the key below `path`
 * ("" at the top). With `unknown` not NULL unknown keys are added there as
 * warnings and accepted.
 */
int kp_json_check(const json_t *value, const char *path, const struct kp_json_key *keys,
	size_t count, struct kp_diags *unknown, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/* Code wrong_type: "kernels[2].priority: a string, not an integer". Returns -1. */
int kp_json_wrong_type(
	struct kp_diag *diag, const char *path, const json_t *value, unsigned types);

/*
 * Finds the place of the value (for a key: of the key) that diag->object names
 * in `text` and fills file, line and column. jansson keeps no positions, so the
 * text is scanned again. Does nothing when the path is not there. Returns -1.
 */
int kp_json_place(struct kp_diag *diag, const char *text, size_t size, const char *file);

/*
 * For the main of a process that is ours: from now on every allocation that fails for
 * jansson, in any thread, is noticed by kp_json_load.
 */
void kp_json_watch_heap(void);

/* Whether one has failed since then: what was built meanwhile may lack a part. */
bool kp_json_has_starved(void);

/*
 * json_loadb (2.14) takes many an allocation that failed for a fault of the text, and
 * some for none. This tells them apart: NULL with *no_memory, or with what is wrong in
 * *error.
 */
json_t *kp_json_load(const char *text, size_t size, size_t flags, json_error_t *error,
	bool *no_memory) __attribute__((warn_unused_result));

/* "string", "integer", ...: a type for people, with its article. */
const char *kp_json_type_name(const json_t *value);

/*
 * As json_dumps: malloc'ed, NULL where memory is exhausted or the value cannot be
 * printed; never a part of the text.
 */
char *kp_json_dumps(const json_t *value, size_t flags)
	__attribute__((warn_unused_result));

/* A new JSON string of bytes that are made safe (kp_text_clean_bytes) first. */
json_t *kp_json_clean_string(const char *bytes);

/* The same, null for NULL and "". */
json_t *kp_json_clean_or_null(const char *bytes);
/* A new reference to the value, to a new null where there is none. */
json_t *kp_json_or_null(const json_t *value);

/*
 * For values that are built piece by piece and are NULL when memory was short for
 * one of them: takes both and gives the list with the item, or NULL.
 */
json_t *kp_json_append(json_t *list, json_t *item);
/* As much for objects: the members of `more` are added. */
json_t *kp_json_merge(json_t *object, json_t *more);

/* string or NULL of a key that has passed kp_json_check. */
const char *kp_json_text(const json_t *object, const char *key);

#endif
