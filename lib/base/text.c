/* SPDX-License-Identifier: MIT */
/* UTF-8, safe copies, and the nearest name. */
#include "lib/base/text.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum {
	NAME_MAX_BYTES = 64,
	MARKS_MOST = 4, /* on one letter; more run over the lines around it */
	PIECE = 12,
};

struct range {
	uint32_t first, last;
};

/* Ascending. Of Unicode 15: controls, formats, separators of lines, fillers, tags. */
static const struct range unshown[] = {
	{0x0, 0x8},
	{0xb, 0x1f},
	{0x7f, 0x9f},
	{0xad, 0xad},
	{0x34f, 0x34f},
	{0x600, 0x605},
	{0x61c, 0x61c},
	{0x6dd, 0x6dd},
	{0x70f, 0x70f},
	{0x890, 0x891},
	{0x8e2, 0x8e2},
	{0x115f, 0x1160},
	{0x17b4, 0x17b5},
	{0x180b, 0x180f},
	{0x200b, 0x200b},
	{0x200e, 0x200f},
	{0x2028, 0x202e},
	{0x2060, 0x206f},
	{0x3164, 0x3164},
	{0xfeff, 0xfeff},
	{0xffa0, 0xffa0},
	{0xfff0, 0xfffb},
	{0xfffe, 0xffff},
	{0x110bd, 0x110bd},
	{0x110cd, 0x110cd},
	{0x13430, 0x1343f},
	{0x1bca0, 0x1bca3},
	{0x1d173, 0x1d17a},
	{0xe0000, 0x10ffff},
};

/* Marks that stand above and below letters of any script. */
static const struct range marks[] = {
	{0x300, 0x36f},
	{0x483, 0x489},
	{0x1ab0, 0x1aff},
	{0x1dc0, 0x1dff},
	{0x20d0, 0x20ff},
	{0xfe20, 0xfe2f},
};

const char kp_text_name_rule[] = "a name has 1 to 64 of the characters A-Z a-z 0-9 . _ + "
				 "- and starts with a letter "
				 "or digit";

static bool is_in(const struct range *ranges, size_t count, uint32_t point)
{
	for (size_t i = 0; i < count && ranges[i].first <= point; i++)
		if (point <= ranges[i].last)
			return true;
	return false;
}

bool kp_text_is_shown(uint32_t point)
{
	return !is_in(unshown, sizeof(unshown) / sizeof(unshown[0]), point);
}

size_t kp_text_character(const char *bytes, size_t left, uint32_t *found)
{
	const unsigned char *at = (const unsigned char *)bytes;
	static const struct {
		uint32_t lowest;
		unsigned char mask, lead, length;
	} forms[] = {
		{0, 0x80, 0x00, 1},
		{0x80, 0xe0, 0xc0, 2},
		{0x800, 0xf0, 0xe0, 3},
		{0x10000, 0xf8, 0xf0, 4},
	};
	for (size_t f = 0; f < sizeof(forms) / sizeof(forms[0]); f++) {
		if ((at[0] & forms[f].mask) != forms[f].lead)
			continue;
		if (forms[f].length > left)
			return 0;
		uint32_t point = at[0] & (unsigned char)~forms[f].mask;
		for (size_t i = 1; i < forms[f].length; i++) {
			if ((at[i] & 0xc0) != 0x80)
				return 0;
			point = point << 6 | (at[i] & 0x3f);
		}
		bool bad = point < forms[f].lowest || point > 0x10ffff ||
			   (point >= 0xd800 && point <= 0xdfff);
		*found = point;
		return bad ? 0 : forms[f].length;
	}
	return 0;
}

/* Each byte of it as \xNN. */
static size_t print_bytes(const unsigned char *at, size_t n, char piece[PIECE])
{
	size_t used = 0;

	for (size_t i = 0; i < n; i++)
		used += (size_t)snprintf(piece + used, PIECE - used, "\\x%02x", at[i]);
	return used;
}

/* What stands for the character of n bytes; n 0: for a byte of none. */
static size_t print_character(
	const unsigned char *at, size_t n, uint32_t point, bool shown, char piece[PIECE])
{
	if (n > 0 && shown) {
		memcpy(piece, at, n);
		return n;
	}
	if (n == 0 || point < 0xa0)
		return print_bytes(at, n ? n : 1, piece);
	return (size_t)snprintf(
		piece, PIECE, point > 0xffff ? "\\U%08x" : "\\u%04x", (unsigned)point);
}

size_t kp_text_clean_bytes(const char *bytes, size_t length, char *out, size_t size)
{
	const char *end = bytes + length;
	size_t used = 0, n_marks = 0;

	if (size == 0)
		return 0;
	for (const char *at = bytes; at < end;) {
		char piece[PIECE];
		uint32_t point = 0;
		size_t n = kp_text_character(at, (size_t)(end - at), &point);
		bool is_mark = is_in(marks, sizeof(marks) / sizeof(marks[0]), point);
		n_marks = is_mark ? n_marks + 1 : 0;
		size_t m = print_character((const unsigned char *)at, n, point,
			kp_text_is_shown(point) && n_marks <= MARKS_MOST, piece);
		if (used + m >= size)
			break;
		memcpy(out + used, piece, m);
		used += m;
		at += n ? n : 1;
	}
	out[used] = '\0';
	return used;
}

size_t kp_text_clean(const char *text, char *out, size_t size)
{
	return kp_text_clean_bytes(text, strlen(text), out, size);
}

size_t kp_text_add(char *text, size_t size, size_t used, const char *format, ...)
{
	va_list args;

	if (used >= size)
		return used;
	va_start(args, format);
	int n = vsnprintf(text + used, size - used, format, args);
	va_end(args);
	if (n < 0)
		return used;
	return (size_t)n < size - used ? used + (size_t)n : size - 1;
}

bool kp_text_ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), tail = strlen(end);
	return length > tail && memcmp(text + length - tail, end, tail) == 0;
}

bool kp_text_is_below(const char *text, const char *name)
{
	size_t n = strlen(name);

	return strncmp(text, name, n) == 0 && (text[n] == '\0' || text[n] == '/');
}

const char *kp_text_stem(const char *path, const char *end, size_t *length)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	*length = strlen(name) - (kp_text_ends_with(name, end) ? strlen(end) : 0);
	return name;
}

bool kp_text_among(const char *text, const char *const *texts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(texts[i], text) == 0)
			return true;
	return false;
}

int kp_text_compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* How many bytes are ASCII, in steps of a word: almost all that is looked at is. */
static size_t ascii_length(const unsigned char *at, size_t length)
{
	size_t used = 0;
	uint64_t word;

	for (; length - used >= sizeof(word); used += sizeof(word)) {
		memcpy(&word, at + used, sizeof(word));
		if (word & UINT64_C(0x8080808080808080))
			break;
	}
	return used;
}

size_t kp_text_utf8_length(const char *bytes, size_t length)
{
	size_t used = ascii_length((const unsigned char *)bytes, length);
	uint32_t point;

	while (used < length) {
		size_t n =
			(unsigned char)bytes[used] < 0x80
				? 1
				: kp_text_character(bytes + used, length - used, &point);
		if (n == 0)
			break;
		used += n;
	}
	return used;
}

bool kp_text_is_utf8(const char *bytes, size_t length)
{
	return kp_text_utf8_length(bytes, length) == length;
}

static bool is_alphanumeric(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool kp_text_is_name(const char *text)
{
	size_t length = strlen(text);
	if (length == 0 || length > NAME_MAX_BYTES || !is_alphanumeric(text[0]))
		return false;
	for (size_t i = 0; i < length; i++)
		if (!is_alphanumeric(text[i]) && !strchr("._+-", text[i]))
			return false;
	return true;
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

size_t kp_text_distance(const char *a, const char *b)
{
	size_t row[NAME_MAX_BYTES + 1];
	size_t m = strnlen(a, NAME_MAX_BYTES);
	size_t n = strnlen(b, NAME_MAX_BYTES);
	for (size_t j = 0; j <= n; j++)
		row[j] = j;
	for (size_t i = 1; i <= m; i++) {
		size_t diagonal = row[0];
		row[0] = i;
		for (size_t j = 1; j <= n; j++) {
			size_t above = row[j];
			size_t best = diagonal + (lower(a[i - 1]) != lower(b[j - 1]));
			if (above + 1 < best)
				best = above + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
			diagonal = above;
		}
	}
	return row[n];
}

const char *kp_text_nearest(const char *wanted, const char *const *names, size_t count)
{
	const char *nearest = NULL;
	size_t length = strlen(wanted);
	size_t best = SIZE_MAX;
	for (size_t i = 0; i < count; i++) {
		size_t d = kp_text_distance(wanted, names[i]);
		size_t longer = strlen(names[i]) > length ? strlen(names[i]) : length;
		/* Two slips in a short name; more are another name. */
		if (d < best && d < length && d <= longer / 3 + (longer < 6)) {
			best = d;
			nearest = names[i];
		}
	}
	return nearest;
}

static const char offer_words[] = "; did you mean ";

const char *kp_text_meant(const char *nearest, char text[KP_TEXT_OFFER])
{
	(void)snprintf(text, KP_TEXT_OFFER, "%s%s%s", nearest ? offer_words : "",
		nearest ? nearest : "", nearest ? "?" : "");
	return text;
}

const char *kp_text_offer(const char *wanted, const char *const *names, size_t count,
	const char *list, char text[KP_TEXT_OFFER])
{
	static const char more[] = ", ...";
	const char *nearest = kp_text_nearest(wanted, names, count);
	size_t used = 0;

	kp_text_meant(nearest, text);
	if (nearest || !list || count == 0)
		return text;
	used = kp_text_add(text, KP_TEXT_OFFER, used, "; %s", list);
	for (size_t i = 0; i < count; i++) {
		assert(names[i]);
		/* Whole names only: half of one is another name. */
		if (used + strlen(names[i]) + sizeof(more) + 2 > KP_TEXT_OFFER) {
			kp_text_add(text, KP_TEXT_OFFER, used, "%s", more);
			break;
		}
		used = kp_text_add(
			text, KP_TEXT_OFFER, used, "%s %s", i ? "," : "", names[i]);
	}
	return text;
}

const char *kp_text_offered(const char *sentence, char *name, size_t size)
{
	const char *from = NULL;

	for (const char *at = strstr(sentence, offer_words); at;
		at = strstr(from, offer_words))
		from = at + strlen(offer_words);
	size_t length = from ? strlen(from) : 0;
	if (length < 2 || length > size || from[length - 1] != '?')
		return NULL;
	(void)snprintf(name, size, "%.*s", (int)length - 1, from);
	return name;
}
