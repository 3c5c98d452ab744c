/* SPDX-License-Identifier: MIT */
/* A reader of JSON that writes what it reads, with line ends and indents. */
#include "lib/base/json_layout.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MOST = 64, INDENT = 2, LINE_MOST = 2 + INDENT * DEPTH_MOST };

struct layout {
	const char *at, *end;
	char *out;
	size_t used, room;
	unsigned depth;
};

static bool reserve(struct layout *layout, size_t size)
{
	if (layout->out && layout->room - layout->used >= size)
		return true;
	size_t room = layout->room * 2 + size + 1;
	char *out = realloc(layout->out, room);
	if (!out)
		return false;
	layout->out = out;
	layout->room = room;
	return true;
}

static bool put(struct layout *layout, const char *bytes, size_t size)
{
	if (!reserve(layout, size))
		return false;
	memcpy(layout->out + layout->used, bytes, size);
	layout->used += size;
	return true;
}

static bool put_line(struct layout *layout)
{
	size_t indent = (size_t)INDENT * layout->depth;

	if (!reserve(layout, LINE_MOST))
		return false;
	layout->out[layout->used++] = '\n';
	memset(layout->out + layout->used, ' ', indent);
	layout->used += indent;
	return true;
}

static bool is_next(const struct layout *layout, char c)
{
	return layout->at < layout->end && *layout->at == c;
}

/* Reads this byte and writes it. */
static bool take(struct layout *layout, char c)
{
	if (!is_next(layout, c))
		return false;
	layout->at++;
	return put(layout, &c, 1);
}

/* Escapes as jansson writes them; not surrogates, which come in pairs. */
static const char *behind_escape(const char *at, const char *end)
{
	if (end - at >= 2 && at[1] && strchr("\"\\bfnrt", at[1]))
		return at + 2;
	if (end - at < 6 || at[1] != 'u' || at[2] == 'D' || at[2] == 'd')
		return NULL;
	for (int i = 2; i < 6; i++)
		if (!isxdigit((unsigned char)at[i]))
			return NULL;
	return at + 6;
}

static bool string(struct layout *layout)
{
	const char *first = layout->at;
	const char *at = first + 1;

	if (!is_next(layout, '"'))
		return false;
	while (at < layout->end && *at != '"') {
		if (*at == '\\') {
			at = behind_escape(at, layout->end);
			if (!at)
				return false;
		} else if ((unsigned char)*at < ' ' || (unsigned char)*at >= 0x7f) {
			return false;
		} else {
			at++;
		}
	}
	if (at == layout->end)
		return false;
	layout->at = at + 1;
	return put(layout, first, (size_t)(at + 1 - first));
}

static bool integer(struct layout *layout)
{
	const char *first = layout->at;
	const char *at = first + (*first == '-');
	const char *digits = at;

	while (at < layout->end && *at >= '0' && *at <= '9')
		at++;
	if (at == digits || (*digits == '0' && at - digits > 1) || at - digits > 18)
		return false;
	layout->at = at;
	return put(layout, first, (size_t)(at - first));
}

static bool word(struct layout *layout)
{
	static const char *const words[] = {"null", "true", "false"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t size = strlen(words[i]);
		if ((size_t)(layout->end - layout->at) < size ||
			memcmp(layout->at, words[i], size) != 0)
			continue;
		layout->at += size;
		return put(layout, words[i], size);
	}
	return false;
}

static bool value(struct layout *layout);

static bool member(struct layout *layout)
{
	return string(layout) && take(layout, ':') && put(layout, " ", 1) &&
	       value(layout);
}

/* An object of members or an array of values. */
static bool nested(
	struct layout *layout, char first, char last, bool (*item)(struct layout *layout))
{
	if (!take(layout, first))
		return false;
	if (is_next(layout, last))
		return take(layout, last);
	if (++layout->depth > DEPTH_MOST)
		return false;
	do
		if (!put_line(layout) || !item(layout))
			return false;
	while (take(layout, ','));
	layout->depth--;
	return put_line(layout) && take(layout, last);
}

static bool value(struct layout *layout)
{
	if (layout->at == layout->end)
		return false;
	switch (*layout->at) {
	case '{':
		return nested(layout, '{', '}', member);
	case '[':
		return nested(layout, '[', ']', value);
	case '"':
		return string(layout);
	case 'n':
	case 't':
	case 'f':
		return word(layout);
	default:
		return integer(layout);
	}
}

int kp_json_lay_out(const char *text, size_t size, char **out, size_t *out_size)
{
	struct layout layout = {.at = text, .end = text + size};

	/* Indents of a list of small objects about double it. */
	if (size > 0 && reserve(&layout, 2 * size + LINE_MOST) && value(&layout) &&
		layout.at == layout.end && put(&layout, "", 1)) {
		*out = layout.out;
		*out_size = layout.used - 1;
		return 0;
	}
	free(layout.out);
	return -1;
}
