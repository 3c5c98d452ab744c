/* SPDX-License-Identifier: MIT */
/*
 * What needs no escape is copied; all else is printed as a value, whole or not at all:
 * json_dumps (2.14) goes on behind a key that it could not write, and what it returns
 * then is another text.
 */
#include "lib/base/json_write.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/json.h"

enum { INTEGER_BYTES = 24 };

static bool make_room(struct kp_json_writer *writer, size_t more)
{
	size_t needed, room;

	if (writer->failed || __builtin_add_overflow(writer->size + 1, more, &needed) ||
		__builtin_mul_overflow(needed, (size_t)2, &room)) {
		writer->failed = true;
		return false;
	}
	if (needed <= writer->room)
		return true;
	char *text = realloc(writer->text, room);
	if (!text) {
		writer->failed = true;
		return false;
	}
	writer->text = text;
	writer->room = room;
	return true;
}

static void append(struct kp_json_writer *writer, const char *bytes, size_t size)
{
	if (!make_room(writer, size))
		return;
	memcpy(writer->text + writer->size, bytes, size);
	writer->size += size;
}

/* What comes before a value or a key. */
static void begin_next(struct kp_json_writer *writer)
{
	if (writer->follows)
		append(writer, ",", 1);
	writer->follows = true;
}

void kp_json_write_begin(struct kp_json_writer *writer, char bracket)
{
	begin_next(writer);
	append(writer, &bracket, 1);
	writer->follows = false;
}

void kp_json_write_end(struct kp_json_writer *writer, char bracket)
{
	append(writer, &bracket, 1);
	writer->follows = true;
}

static void append_quoted(struct kp_json_writer *writer, const char *bytes, size_t size)
{
	append(writer, "\"", 1);
	append(writer, bytes, size);
	append(writer, "\"", 1);
}

void kp_json_write_key(struct kp_json_writer *writer, const char *key)
{
	begin_next(writer);
	append_quoted(writer, key, strlen(key));
	append(writer, ":", 1);
	writer->follows = false;
}

/* Is it printable ASCII, and nothing in it special to JSON? */
static bool is_plain(const char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (bytes[i] < ' ' || bytes[i] > '~' || bytes[i] == '"' ||
			bytes[i] == '\\')
			return false;
	return true;
}

void kp_json_write_string(struct kp_json_writer *writer, const char *bytes)
{
	size_t size = bytes ? strlen(bytes) : 0;

	if (!bytes || !is_plain(bytes, size)) {
		kp_json_write_value(
			writer, bytes ? kp_json_clean_string(bytes) : json_null());
		return;
	}
	begin_next(writer);
	append_quoted(writer, bytes, size);
}

void kp_json_write_integer(struct kp_json_writer *writer, int64_t value)
{
	char text[INTEGER_BYTES];
	int n = snprintf(text, sizeof(text), "%" PRId64, value);

	begin_next(writer);
	append(writer, text, (size_t)n);
}

static int take_piece(const char *bytes, size_t size, void *context)
{
	struct kp_json_writer *writer = context;

	append(writer, bytes, size);
	return writer->failed ? -1 : 0;
}

static void print(struct kp_json_writer *writer, const json_t *value, size_t flags)
{
	if (json_dump_callback(value, take_piece, writer, flags) < 0)
		writer->failed = true;
}

void kp_json_write_value(struct kp_json_writer *writer, json_t *value)
{
	begin_next(writer);
	print(writer, value, JSON_COMPACT | JSON_ENCODE_ANY);
	json_decref(value);
}

char *kp_json_write_finish(struct kp_json_writer *writer, size_t *size)
{
	char *text = writer->text;

	if (writer->failed || !text) {
		free(text);
		text = NULL;
	} else {
		text[writer->size] = '\0';
		*size = writer->size;
	}
	*writer = (struct kp_json_writer){0};
	return text;
}

char *kp_json_dumps(const json_t *value, size_t flags)
{
	struct kp_json_writer writer = {0};
	size_t size;

	print(&writer, value, flags);
	return kp_json_write_finish(&writer, &size);
}
