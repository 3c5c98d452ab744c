/* SPDX-License-Identifier: MIT */
/* The one parser of formats and signatures. */
#include "lib/family/format.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/text.h"

enum { WORD_BYTES = 65, BLOCK_MOST = 1 << 20, TEXT_MOST = 4096 };

/* A place in the text that is being read. */
struct reader {
	const char *text;
	const char *at;
	struct kp_diag *diag;
};

static int __attribute__((format(printf, 3, 4)))
wrong(const struct reader *r, const char *at, const char *format, ...)
{
	char what[256];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	return kp_diag_set(r->diag, "bad_signature", r->text,
		"\"%.200s\", column %zu: %s", r->text, (size_t)(at - r->text) + 1, what);
}

static void skip_blanks(struct reader *r)
{
	r->at += strspn(r->at, " \t");
}

static bool take(struct reader *r, char c)
{
	if (*r->at != c)
		return false;
	r->at++;
	return true;
}

/* A word of the characters of names, at most size - 1 bytes. */
static int take_word(struct reader *r, const char *what, char *word, size_t size)
{
	size_t length = strcspn(r->at, "=:/@, \t");
	const char *from = r->at;
	char own[WORD_BYTES];

	if (length == 0)
		return wrong(r, from, "%s expected", what);
	if (length >= size || length >= sizeof(own))
		return wrong(r, from, "%s is too long", what);
	memcpy(own, from, length);
	own[length] = '\0';
	if (!kp_text_is_name(own))
		return wrong(r, from,
			"%s has characters outside A-Z a-z 0-9 . _ + - or starts with "
			"one of the last four",
			what);
	memcpy(word, own, length + 1);
	r->at = from + length;
	return 0;
}

/* One of the short words of a format, which fits. */
static void set_word(char out[KP_FORMAT_WORD], const char *word)
{
	(void)snprintf(out, KP_FORMAT_WORD, "%s", word);
}

/* What people write elsewhere, and what it is here. */
static const char *habit(const char *word)
{
	static const struct {
		const char *theirs, *ours;
	} habits[] = {
		{"fp64", "f64"},
		{"float64", "f64"},
		{"double", "f64"},
		{"fp32", "f32"},
		{"float32", "f32"},
		{"float", "f32"},
		{"fp16", "f16"},
		{"float16", "f16"},
		{"half", "f16"},
		{"bfloat16", "bf16"},
		{"fp8_e4m3fn", "f8_e4m3fn"},
		{"float8_e4m3fn", "f8_e4m3fn"},
		{"e4m3", "f8_e4m3fn"},
		{"e4m3fn", "f8_e4m3fn"},
		{"fp8_e5m2", "f8_e5m2"},
		{"float8_e5m2", "f8_e5m2"},
		{"e5m2", "f8_e5m2"},
		{"int8", "i8"},
		{"int16", "i16"},
		{"int32", "i32"},
		{"int", "i32"},
		{"int64", "i64"},
		{"uint8", "u8"},
		{"uint16", "u16"},
		{"uint32", "u32"},
		{"uint64", "u64"},
		{"boolean", "bool"},
	};
	for (size_t i = 0; i < sizeof(habits) / sizeof(habits[0]); i++)
		if (strcmp(habits[i].theirs, word) == 0)
			return habits[i].ours;
	return NULL;
}

static bool is_ambiguous(const char *word)
{
	return strcmp(word, "fp8") == 0 || strcmp(word, "f8") == 0 ||
	       strcmp(word, "float8") == 0;
}

/* Names this short are all alike: with more than a third wrong it is another word. */
static const char *close_one(const char *word, const char *const names[KP_ELEMENTS])
{
	const char *nearest = kp_text_nearest(word, names, KP_ELEMENTS);
	return nearest && 3 * kp_text_distance(word, nearest) <= strlen(word) ? nearest
									      : NULL;
}

static int unknown_dtype(const struct reader *r, const char *at, const char *word)
{
	const char *names[KP_ELEMENTS];

	if (is_ambiguous(word))
		return wrong(r, at,
			"the dtype %s is ambiguous; write f8_e4m3fn or f8_e5m2", word);
	for (size_t i = 0; i < KP_ELEMENTS; i++)
		names[i] = kp_element_name((enum kp_element)i);
	const char *ours = habit(word);
	if (!ours)
		ours = close_one(word, names);
	if (ours)
		return wrong(r, at, "unknown dtype %s; write %s", word, ours);
	return wrong(r, at,
		"unknown dtype %s; the dtypes are f64 f32 f16 bf16 f8_e4m3fn f8_e5m2 i8 "
		"i16 i32 i64 u8 u16 u32 u64 bool",
		word);
}

static int take_element(struct reader *r, enum kp_element *element)
{
	char word[WORD_BYTES];
	const char *from = r->at;

	if (take_word(r, "a dtype", word, sizeof(word)) < 0)
		return -1;
	return kp_element_parse(word, element) ? 0 : unknown_dtype(r, from, word);
}

static int take_extent(struct reader *r, unsigned *extent)
{
	const char *from = r->at;
	unsigned long value = 0;

	while (*r->at >= '0' && *r->at <= '9' && value <= BLOCK_MOST)
		value = value * 10 + (unsigned long)(*r->at++ - '0');
	if (r->at == from || *from == '0' || value > BLOCK_MOST)
		return wrong(r, from, "a block extent from 1 to 1048576 expected");
	*extent = (unsigned)value;
	return 0;
}

static bool starts_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

/* Behind "block=". */
static int take_block(struct reader *r, struct kp_format *f)
{
	static const char dynamic[] = "dynamic";

	if (starts_with(r->at, dynamic)) {
		r->at += sizeof(dynamic) - 1;
		f->block_dynamic = true;
		return 0;
	}
	if (take_extent(r, &f->block_rows) < 0)
		return -1;
	if (!take(r, 'x'))
		return wrong(r, r->at, "block=ROWSxCOLUMNS or block=dynamic expected");
	return take_extent(r, &f->block_columns);
}

static bool has_block(const struct kp_format *f)
{
	return f->block_dynamic || f->block_rows;
}

/* Granularity, its layout and the block, in this order, each behind a colon. */
static int take_scale_parts(struct reader *r, struct kp_format *f)
{
	static const char block[] = "block=";

	while (take(r, ':')) {
		if (has_block(f))
			return wrong(r, r->at, "nothing may follow the block");
		if (starts_with(r->at, block)) {
			r->at += sizeof(block) - 1;
			if (take_block(r, f) < 0)
				return -1;
		} else if (!f->granularity[0]) {
			if (take_word(r, "a granularity", f->granularity,
				    sizeof(f->granularity)) < 0)
				return -1;
		} else if (f->scale_layout[0]) {
			return wrong(r, r->at, "block= expected");
		} else if (take_word(r, "a layout of the scale", f->scale_layout,
				   sizeof(f->scale_layout)) < 0) {
			return -1;
		}
	}
	return 0;
}

static int take_scale(struct reader *r, struct kp_format *f)
{
	const char *from = r->at;

	f->scaled = true;
	if (take_element(r, &f->scale) < 0 || take_scale_parts(r, f) < 0)
		return -1;
	/* A block says that the granularity is one. */
	if (!f->granularity[0])
		set_word(f->granularity, has_block(f) ? "block" : "tensor");
	if (strcmp(f->granularity, "block") == 0 && !has_block(f))
		return wrong(r, from,
			"granularity block requires block_shape; write "
			"block=ROWSxCOLUMNS or block=dynamic");
	if (strcmp(f->granularity, "tensor") == 0 && has_block(f))
		return wrong(r, from, "granularity tensor has no block");
	return 0;
}

static int take_name(struct reader *r, struct kp_format *f)
{
	const char *from = r->at;
	char word[KP_FORMAT_WORD];

	set_word(f->name, "dense");
	if (r->at[strcspn(r->at, ":/@,")] != ':')
		return 0;
	if (take_word(r, "a format", word, sizeof(word)) < 0)
		return -1;
	if (!take(r, ':'))
		return wrong(r, r->at, "a colon expected behind the format");
	if (is_ambiguous(word))
		return wrong(r, from,
			"the format %s is ambiguous; write a dtype f8_e4m3fn or f8_e5m2 "
			"alone, or scaled-fp8 with a scale",
			word);
	set_word(f->name, word);
	return 0;
}

static int take_format(struct reader *r, struct kp_format *format)
{
	struct kp_format f = {0};
	const char *from = r->at;

	if (take_name(r, &f) < 0 || take_element(r, &f.element) < 0)
		return -1;
	if (take(r, '/') && take_word(r, "a layout", f.layout, sizeof(f.layout)) < 0)
		return -1;
	if (take(r, '@') && take_scale(r, &f) < 0)
		return -1;
	if (!f.scaled && starts_with(f.name, "scaled-"))
		return wrong(r, from, "%s requires scale; write @DTYPE", f.name);
	*format = f;
	return 0;
}

static int open_reader(struct reader *r, const char *text, struct kp_diag *diag)
{
	*r = (struct reader){text, text, diag};
	if (strnlen(text, TEXT_MOST) == TEXT_MOST)
		return kp_diag_set(diag, "bad_signature", text,
			"a signature has at most %d characters", TEXT_MOST - 1);
	return 0;
}

int kp_format_parse(const char *text, struct kp_format *format, struct kp_diag *diag)
{
	struct reader r;
	struct kp_format f;

	if (open_reader(&r, text, diag) < 0)
		return -1;
	skip_blanks(&r);
	if (take_format(&r, &f) < 0)
		return -1;
	skip_blanks(&r);
	if (*r.at)
		return wrong(&r, r.at, "the end of the format expected");
	*format = f;
	return 0;
}

static int take_operand(struct reader *r, struct kp_operand *operand)
{
	skip_blanks(r);
	if (take_word(r, "a role", operand->role, sizeof(operand->role)) < 0)
		return -1;
	skip_blanks(r);
	if (!take(r, '='))
		return wrong(r, r->at, "= and a format expected behind the role %s",
			operand->role);
	skip_blanks(r);
	if (take_format(r, &operand->format) < 0)
		return -1;
	skip_blanks(r);
	return 0;
}

/* Keeps the operands in byte order of role. */
static int insert(struct reader *r, const char *from, struct kp_signature *s,
	const struct kp_operand *operand)
{
	size_t i = s->count;

	while (i > 0 && strcmp(s->operands[i - 1].role, operand->role) > 0)
		i--;
	if (i > 0 && strcmp(s->operands[i - 1].role, operand->role) == 0)
		return wrong(r, from, "the role %s is given twice", operand->role);
	if (s->count == KP_SIGNATURE_ROLES)
		return wrong(r, from, "more than 32 roles");
	memmove(&s->operands[i + 1], &s->operands[i],
		(s->count - i) * sizeof(s->operands[0]));
	s->operands[i] = *operand;
	s->count++;
	return 0;
}

int kp_signature_parse(
	const char *text, struct kp_signature *signature, struct kp_diag *diag)
{
	struct reader r;
	struct kp_operand operand;
	char canonical[TEXT_MOST * 2];

	if (open_reader(&r, text, diag) < 0)
		return -1;
	signature->count = 0;
	do {
		const char *from = r.at;
		if (take_operand(&r, &operand) < 0 ||
			insert(&r, from, signature, &operand) < 0)
			return -1;
	} while (take(&r, ','));
	if (*r.at)
		return wrong(&r, r.at, "a comma or the end expected");
	kp_signature_print(signature, canonical, sizeof(canonical));
	if (strlen(canonical) >= KP_SIGNATURE_BYTES)
		return kp_diag_set(diag, "bad_signature", text,
			"the signature has more than %d characters",
			KP_SIGNATURE_BYTES - 1);
	return 0;
}
