/* SPDX-License-Identifier: MIT */
/* Strings that people read: made safe, compared, offered. Knows no meaning. */
#ifndef KP_LIB_TEXT_H
#define KP_LIB_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Copies `text` so that it can be shown and put into JSON: valid UTF-8 only,
 * control bytes (C0 but \n and \t, DEL, C1) and bad bytes as \xNN, what is not to be
 * shown as \uNNNN, cut at a whole character. Always terminated; `out` must not overlap
 * `text`. Returns the length written.
 */
size_t kp_text_clean(const char *text, char *out, size_t size);
/* The same for bytes that need not be terminated. */
size_t kp_text_clean_bytes(const char *bytes, size_t length, char *out, size_t size);

/*
 * Appends to what `text` holds up to `used` and returns the new length: for a
 * text that is built piece by piece and cut where it is full.
 */
size_t kp_text_add(char *text, size_t size, size_t used, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Does it end so, with something before it? */
bool kp_text_ends_with(const char *text, const char *end);
/* Is it `name`, or below it: of the plugin a, "a" and "a/kernel" are. */
bool kp_text_is_below(const char *text, const char *name);
/*
 * What a file is called without its directory and this end: where in `path` it begins,
 * and its length.
 */
const char *kp_text_stem(const char *path, const char *end, size_t *length);

/* Are they the same? For short names that mostly differ early. */
static inline bool kp_text_is(const char *a, const char *b)
{
	return a[0] == b[0] && strcmp(a, b) == 0;
}

/* Is it one of them? */
bool kp_text_among(const char *text, const char *const *texts, size_t count);

/* Byte order of two elements that are texts (char *): for qsort and bsearch. */
int kp_text_compare(const void *a, const void *b);

/* Is it valid UTF-8 (no surrogates, no overlong forms)? */
bool kp_text_is_utf8(const char *bytes, size_t length);
/*
 * May a character be shown as it is? Not a control but \n and \t, nor what puts others in
 * another order (writing to the left), ends a line, or is seen by nobody: with it a text
 * reads as what it is not. What joins letters and chooses their form may.
 */
bool kp_text_is_shown(uint32_t point);
/* The bytes of the valid character at the front, and which it is; 0: there is none. */
size_t kp_text_character(const char *bytes, size_t length, uint32_t *point);

/* How many bytes at the front are. */
size_t kp_text_utf8_length(const char *bytes, size_t length);

/*
 * A name of a plugin, kernel, role, trait, tag or feature: 1 to 64 of
 * [A-Za-z0-9._+-], first a letter or digit.
 */
bool kp_text_is_name(const char *text);
extern const char kp_text_name_rule[]; /* the rule in words */

/* Levenshtein distance over at most 64 bytes each, without regard to case. */
size_t kp_text_distance(const char *a, const char *b);

/*
 * The entry of `names` that is closest to `wanted` by edit distance, ignoring case, or
 * NULL when none is close enough to be what somebody meant: a third of the characters
 * may be wrong, and one must be right.
 */
const char *kp_text_nearest(const char *wanted, const char *const *names, size_t count);

/*
 * The end of a sentence about a name that is not known: "; did you mean X?" of the
 * nearest, else with `list` ("it has") "; it has A, B, C", else "". Returns `text`.
 */
enum { KP_TEXT_OFFER = 320 };
const char *kp_text_offer(const char *wanted, const char *const *names, size_t count,
	const char *list, char text[KP_TEXT_OFFER]);

/* The same of a name that was found already; NULL: none. */
const char *kp_text_meant(const char *nearest, char text[KP_TEXT_OFFER]);

/* The X that a sentence offers at its end, copied; NULL when it offers none. */
const char *kp_text_offered(const char *sentence, char *name, size_t size);

#endif
