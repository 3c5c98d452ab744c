/* SPDX-License-Identifier: MIT */
/*
 * JSON text straight into memory: of what is too much to be made of values first.
 * Compact, as JSON_COMPACT prints. Any thread, each with its own writer.
 */
#ifndef KP_LIB_JSON_WRITE_H
#define KP_LIB_JSON_WRITE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero it first. Once it lacks memory, all that follows does nothing. */
struct kp_json_writer {
	char *text;
	size_t size, room;
	bool failed;
	bool follows; /* a comma comes before what is next */
};

/* bracket: '{' or '[', and '}' or ']'. */
void kp_json_write_begin(struct kp_json_writer *writer, char bracket);
void kp_json_write_end(struct kp_json_writer *writer, char bracket);
/* The key of the next value: a name that needs no escape. */
void kp_json_write_key(struct kp_json_writer *writer, const char *key);

/* Bytes that are made safe first, as kp_json_clean_string; NULL is null. */
void kp_json_write_string(struct kp_json_writer *writer, const char *bytes);
void kp_json_write_integer(struct kp_json_writer *writer, int64_t value);
/* Any value; takes it. NULL: there was no memory for it. */
void kp_json_write_value(struct kp_json_writer *writer, json_t *value);

/* The text, malloc'ed, and its length without the NUL; NULL where memory was exhausted.
 */
char *kp_json_write_finish(struct kp_json_writer *writer, size_t *size)
	__attribute__((warn_unused_result));

#endif
