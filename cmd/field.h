/* SPDX-License-Identifier: MIT */
/* Members of a reply, as text. A reply may hold anything: nothing is trusted. */
#ifndef CMD_FIELD_H
#define CMD_FIELD_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "cmd/output.h"
#include "lib/base/owned.h"

struct grid;

/* The string, or `fallback` where there is none. Borrowed. */
const char *field_text(const json_t *object, const char *key, const char *fallback);
bool field_is(const json_t *object, const char *key, const char *text);
json_int_t field_int(const json_t *object, const char *key);
/* The array's length, 0 where there is none. */
size_t field_count(const json_t *object, const char *key);

/* A scalar, array or object on one line: "{64, 128}". malloc'ed, "" for NULL. */
char *field_print(const json_t *value);
/* The strings of an array with `between`; malloc'ed. */
char *field_join(const json_t *array, const char *between);
/* A shape as --shape takes it: "m=64,n=64"; malloc'ed, "" for none. */
char *field_shape(const json_t *shape);

/*
 * "code: message" of a Reason or Warning, "" where there is none; malloc'ed. The
 * code is left out where the message tells it, or `told` (may be NULL) is it.
 */
char *field_sentence(const json_t *object, const char *told);

/* A line for each object of the array: its `key`. */
void field_lines(const struct output *output, const json_t *array, const char *key);

/* The tone of a state's name. */
enum tone field_state_tone(const char *state);

/* Adds "key  a, b" where the array is not empty. */
void field_pair_list(
	struct grid *grid, const char *title, const json_t *object, const char *key);
/* Adds "key  text" where there is a text, and a row for each further line of it. */
void field_pair_text(
	struct grid *grid, const char *title, const json_t *object, const char *key);
/* Adds a row for each of the object's warnings. */
void field_pair_warnings(struct grid *grid, const json_t *object);

#endif
