/* SPDX-License-Identifier: MIT */
/* Columns of characters, and where to break a line. */
#include "cmd/wrap.h"

#include <string.h>
#include <wchar.h>

/* Bytes of the character at `text`; its columns: 0 (combining), 1 or 2. */
static size_t character(const char *text, size_t left, size_t *columns)
{
	mbstate_t state = {0};
	wchar_t wide;
	size_t size = mbrtowc(&wide, text, left, &state);
	int width = size == (size_t)-1 || size == (size_t)-2 || size == 0 ? -1
									  : wcwidth(wide);
	*columns = width < 0 ? 1 : (size_t)width;
	return size == (size_t)-1 || size == (size_t)-2 || size == 0 ? 1 : size;
}

size_t wrap_width(const char *text, size_t size)
{
	size_t total = 0;
	while (size > 0) {
		size_t columns;
		size_t n = character(text, size, &columns);
		total += columns;
		text += n;
		size -= n;
	}
	return total;
}

size_t wrap_line(const char *text, size_t columns, const char **rest)
{
	size_t size = strlen(text), at = 0, used = 0, blank = 0;
	while (at < size) {
		size_t width;
		size_t n = character(text + at, size - at, &width);
		if (at > 0 && used + width > columns)
			break;
		if (text[at] == ' ')
			blank = at;
		used += width;
		at += n;
	}
	if (at < size && text[at] != ' ' && blank > 0)
		at = blank;
	*rest = text + at + strspn(text + at, " ");
	return at;
}
