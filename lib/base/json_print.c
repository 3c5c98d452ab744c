/* SPDX-License-Identifier: MIT */
/*
 * A JSON value as text, whole or not at all: json_dumps (2.14) goes on behind a key that
 * it could not write, and what it returns then is another text.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/json.h"

struct printing {
	char *text;
	size_t size, room;
	bool failed;
};

static bool make_room(struct printing *printing, size_t more)
{
	size_t needed, room;

	if (__builtin_add_overflow(printing->size + 1, more, &needed) ||
		__builtin_mul_overflow(needed, (size_t)2, &room))
		return false;
	if (needed <= printing->room)
		return true;
	char *text = realloc(printing->text, room);
	if (!text)
		return false;
	printing->text = text;
	printing->room = room;
	return true;
}

static int append(const char *bytes, size_t size, void *context)
{
	struct printing *printing = context;

	if (printing->failed || !make_room(printing, size)) {
		printing->failed = true;
		return -1;
	}
	memcpy(printing->text + printing->size, bytes, size);
	printing->size += size;
	return 0;
}

char *kp_json_dumps(const json_t *value, size_t flags)
{
	struct printing printing = {0};

	if (json_dump_callback(value, append, &printing, flags) < 0 || printing.failed ||
		!printing.text) {
		free(printing.text);
		return NULL;
	}
	printing.text[printing.size] = '\0';
	return printing.text;
}
