/* SPDX-License-Identifier: MIT */
/* The grammar of formats and signatures, read and printed. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kplug/plugin.h"
#include "lib/family/format.h"
#include "tests/support/suite.h"

static void parse(const char *text, struct kp_signature *signature)
{
	struct kp_diag diag;
	ck_assert_msg(
		kp_signature_parse(text, signature, &diag) == 0, "%s", diag.message);
}

/* The canonical text of a signature, in a buffer of the caller. */
static const char *canonical(const char *text, char *out)
{
	struct kp_signature signature;
	parse(text, &signature);
	return kp_signature_print(&signature, out, KP_SIGNATURE_BYTES);
}

static void refused(const char *text, const char *part)
{
	struct kp_signature signature;
	struct kp_diag diag;
	ck_assert_msg(kp_signature_parse(text, &signature, &diag) == -1, "%s", text);
	ck_assert_str_eq(diag.code, "bad_signature");
	ck_assert_msg(strstr(diag.message, part) != NULL, "%s", diag.message);
}

static const struct {
	const char *text, *canonical;
} accepted[] = {
	{"a=f32,b=f32,c=f32", "a=f32,b=f32,c=f32"},
	{"c=f32, b = f32 ,\ta=f32 ", "a=f32,b=f32,c=f32"},
	{"a=dense:bf16", "a=bf16"},
	{"a=f16/kn", "a=f16/kn"},
	{"a=scaled-fp8:f8_e4m3fn@f32:tensor", "a=scaled-fp8:f8_e4m3fn@f32"},
	{"a=scaled-fp8:f8_e4m3fn@f32:channel", "a=scaled-fp8:f8_e4m3fn@f32:channel"},
	{"a=u8@f32:tensor:swizzled", "a=u8@f32:tensor:swizzled"},
	{"b=mxfp4:u8@u8:block:block=1x32", "b=mxfp4:u8@u8:block:block=1x32"},
	{"b=mxfp4:u8@u8:block=1x32", "b=mxfp4:u8@u8:block:block=1x32"},
	{"b=mxfp4:u8/nk@u8:block:rows:block=dynamic",
		"b=mxfp4:u8/nk@u8:block:rows:block=dynamic"},
	{"x2=bool,x10=i64,x1=u64", "x1=u64,x10=i64,x2=bool"},
};

START_TEST(canonical_text_is_sorted_and_without_defaults)
{
	char out[KP_SIGNATURE_BYTES];
	ck_assert_str_eq(canonical(accepted[_i].text, out), accepted[_i].canonical);
}
END_TEST

static const struct {
	const char *text, *part;
} wrong[] = {
	{"", "column 1: a role expected"},
	{"a", "column 2: = and a format expected behind the role a"},
	{"a=", "column 3: a dtype expected"},
	{"a=f32,", "column 7: a role expected"},
	{"a=f32,,b=f32", "column 7: a role expected"},
	{"a=f32,a=f16", "column 7: the role a is given twice"},
	{"a=f32 b=f32", "column 7: a comma or the end expected"},
	{"a=f32/", "a layout expected"},
	{"a=f32@", "a dtype expected"},
	{"a=f32@f32:", "a granularity expected"},
	{"a=f32@f32:x:y:z", "block= expected"},
	{"a=f32@f32:block:block=1", "ROWSxCOLUMNS"},
	{"a=f32@f32:block:block=0x32", "a block extent from 1"},
	{"a=f32@f32:block:block=1x01", "a block extent from 1"},
	{"a=f32@f32:block:block=1x9999999", "a block extent from 1"},
	{"a=f32@f32:block=dynamic:x", "nothing may follow the block"},
	{"a=f32@f32:tensor:block=1x32", "granularity tensor has no block"},
	{"-a=f32", "a role has characters outside"},
	{"a=f32;b=f32", "a dtype has characters outside"},
	{"a=f\x01", "a dtype has characters outside"},
	{"a=fp32", "write f32"},
	{"a=float16", "write f16"},
	{"a=bfloat16", "write bf16"},
	{"a=f8_e4m3", "write f8_e4m3fn"},
	{"a=int8", "write i8"},
	{"a=f33", "write f32"},
	{"a=foo", "the dtypes are f64 f32 "},
	{"a=xyz", "the dtypes are f64 f32 "},
	{"a=i9", "the dtypes are f64 f32 "},
	{"a=quaternion", "the dtypes are f64 f32"},
	{"a=averyveryverylongformatname:f32", "a format is too long"},
};

START_TEST(wrong_text_says_what_and_at_which_column)
{
	refused(wrong[_i].text, wrong[_i].part);
}
END_TEST

START_TEST(too_many_roles_are_refused)
{
	char text[KP_SIGNATURE_BYTES * 2] = "";
	size_t used = 0;
	for (int i = 0; i < KP_SIGNATURE_ROLES + 1; i++)
		used += (size_t)snprintf(
			text + used, sizeof(text) - used, "%sr%d=f32", i ? "," : "", i);
	refused(text, "more than 32 roles");
}
END_TEST

START_TEST(signature_beyond_its_bound_is_refused)
{
	char text[8192] = "";
	size_t used = 0;
	for (int i = 0; i < 25; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
			"%sarolewithaverylongnamewithmorethanfortybytes%d=f32",
			i ? "," : "", i);
	refused(text, "more than 1023 characters");
	memset(text, 'a', sizeof(text) - 1);
	refused(text, "at most 4095 characters");
}
END_TEST

START_TEST(failure_leaves_format_untouched)
{
	struct kp_format format = {.name = "kept"};
	struct kp_diag diag;
	ck_assert_int_eq(kp_format_parse("f32 f32", &format, &diag), -1);
	ck_assert_str_eq(format.name, "kept");
}
END_TEST

START_TEST(rg04_formats_of_one_role_make_signatures_differ)
{
	char mixed[KP_SIGNATURE_BYTES], dense[KP_SIGNATURE_BYTES],
		same[KP_SIGNATURE_BYTES];
	canonical("a=bf16,b=mxfp4:u8@u8:block:block=1x32,c=bf16", mixed);
	canonical("a=bf16,b=u8,c=bf16", dense);
	canonical("c=bf16,b=mxfp4:u8@u8:block=1x32,a=dense:bf16", same);
	ck_assert_str_ne(mixed, dense);
	ck_assert_str_eq(mixed, same);
}
END_TEST

START_TEST(rg04_scale_is_read_from_its_role)
{
	struct kp_signature signature;
	parse("a=bf16,b=mxfp4:u8@u8:block:rows:block=1x32,c=bf16", &signature);
	const struct kp_operand *b = kp_signature_find(&signature, "b");
	ck_assert_ptr_nonnull(b);
	ck_assert_str_eq(b->format.name, "mxfp4");
	ck_assert_int_eq(b->format.element, KP_U8);
	ck_assert(b->format.scaled);
	ck_assert_int_eq(b->format.scale, KP_U8);
	ck_assert_str_eq(b->format.granularity, "block");
	ck_assert_str_eq(b->format.scale_layout, "rows");
	ck_assert_uint_eq(b->format.block_rows, 1);
	ck_assert_uint_eq(b->format.block_columns, 32);
}
END_TEST

START_TEST(rg04_block_shapes_make_signatures_differ)
{
	char narrow[KP_SIGNATURE_BYTES], wide[KP_SIGNATURE_BYTES],
		any[KP_SIGNATURE_BYTES];
	canonical("b=mxfp4:u8@u8:block=1x32", narrow);
	canonical("b=mxfp4:u8@u8:block=1x16", wide);
	canonical("b=mxfp4:u8@u8:block=dynamic", any);
	ck_assert_str_ne(narrow, wide);
	ck_assert_str_ne(narrow, any);
}
END_TEST

static const char *const shapeless[] = {
	"b=mxfp4:u8@u8:block", "b=u8@f32:block:rows", "a=f32,b=nvfp4:u8@f8_e4m3fn:block"};

START_TEST(rg05_block_scale_without_shape_is_refused)
{
	refused(shapeless[_i], "requires block_shape");
}
END_TEST

static const char *const dynamic[] = {"mxfp4:u8@u8:block:block=dynamic",
	"mxfp4:u8@u8:block=dynamic", "u8/nk@f32:group:rows:block=dynamic"};

START_TEST(rg05b_dynamic_block_is_valid_and_ends_the_text)
{
	struct kp_format format;
	struct kp_diag diag;
	char out[KP_SIGNATURE_BYTES];
	ck_assert_int_eq(kp_format_parse(dynamic[_i], &format, &diag), 0);
	ck_assert(format.block_dynamic);
	ck_assert_uint_eq(format.block_rows, 0);
	ck_assert_uint_eq(format.block_columns, 0);
	kp_format_print(&format, out, sizeof(out));
	ck_assert_str_eq(out + strlen(out) - strlen("block=dynamic"), "block=dynamic");
}
END_TEST

static const char *const vague[] = {
	"a=fp8:u8", "a=fp8:f8_e4m3fn@f32", "a=fp8", "a=f8", "a=float8", "a=u8@fp8"};

START_TEST(rg06_bare_fp8_is_ambiguous)
{
	refused(vague[_i], "ambiguous");
}
END_TEST

static const char *const unscaled[] = {
	"a=scaled-fp8:f8_e4m3fn", "a=scaled-fp8:f8_e5m2/kn", "a=f32,b=scaled-int8:i8"};

START_TEST(rg06b_scaled_format_without_scale_is_refused)
{
	refused(unscaled[_i], "requires scale");
}
END_TEST

START_TEST(rg06c_dense_fp8_has_no_scale_and_scaled_fp8_keeps_it)
{
	struct kp_signature signature;
	parse("a=f8_e4m3fn,b=scaled-fp8:f8_e4m3fn@f32:tensor,c=f8_e5m2", &signature);
	ck_assert(!kp_signature_find(&signature, "a")->format.scaled);
	ck_assert_str_eq(kp_signature_find(&signature, "a")->format.name, "dense");
	ck_assert(!kp_signature_find(&signature, "c")->format.scaled);
	const struct kp_format *b = &kp_signature_find(&signature, "b")->format;
	ck_assert(b->scaled);
	ck_assert_int_eq(b->scale, KP_F32);
	ck_assert_str_eq(b->granularity, "tensor");
}
END_TEST

START_TEST(rg07_storage_dtype_is_found_by_role)
{
	struct kp_signature signature;
	parse("a=bf16,b=f16,c=f32", &signature);
	ck_assert_int_eq(kp_signature_find(&signature, "a")->format.element, KP_BF16);
	ck_assert_int_eq(kp_signature_find(&signature, "b")->format.element, KP_F16);
	ck_assert_ptr_null(kp_signature_find(&signature, "missing"));
	ck_assert_ptr_null(kp_signature_find(&signature, ""));
}
END_TEST

/* A small generator: the same signatures on every run. */
static unsigned draw(unsigned *state, unsigned below)
{
	*state = *state * 1664525u + 1013904223u;
	return (*state >> 16) % below;
}

static void draw_format(unsigned *state, struct kp_format *f)
{
	static const char *const names[] = {"dense", "mxfp4", "scaled-fp8", "x.y_z+1-2"};
	static const char *const layouts[] = {"", "kn", "nk", "tile_16x16"};
	static const char *const grains[] = {"tensor", "channel", "block", "group"};
	memset(f, 0, sizeof(*f));
	strcpy(f->name, names[draw(state, 4)]);
	f->element = (enum kp_element)draw(state, KP_ELEMENTS);
	strcpy(f->layout, layouts[draw(state, 4)]);
	f->scaled = strcmp(f->name, "scaled-fp8") == 0 || draw(state, 2);
	if (!f->scaled)
		return;
	f->scale = (enum kp_element)draw(state, KP_ELEMENTS);
	strcpy(f->granularity, grains[draw(state, 4)]);
	strcpy(f->scale_layout, layouts[draw(state, 4)]);
	bool must = strcmp(f->granularity, "block") == 0;
	if (strcmp(f->granularity, "tensor") == 0 || (!must && draw(state, 2)))
		return;
	f->block_dynamic = draw(state, 2);
	if (f->block_dynamic)
		return;
	f->block_rows = 1 + draw(state, 300);
	f->block_columns = 1 + draw(state, 300);
}

START_TEST(every_printed_signature_reads_back_as_itself)
{
	unsigned state = 1;
	for (int i = 0; i < 3000; i++) {
		struct kp_signature made = {0}, read;
		char first[KP_SIGNATURE_BYTES], second[KP_SIGNATURE_BYTES];
		made.count = 1 + draw(&state, 8);
		for (size_t k = 0; k < made.count; k++) {
			snprintf(made.operands[k].role, sizeof(made.operands[k].role),
				"r%zu", k);
			draw_format(&state, &made.operands[k].format);
		}
		kp_signature_print(&made, first, sizeof(first));
		parse(first, &read);
		ck_assert_uint_eq(read.count, made.count);
		for (size_t k = 0; k < made.count; k++)
			ck_assert_msg(
				memcmp(&made.operands[k].format, &read.operands[k].format,
					sizeof(struct kp_format)) == 0,
				"%s", first);
		ck_assert_str_eq(
			kp_signature_print(&read, second, sizeof(second)), first);
	}
}
END_TEST

/* What is read prints as a fixed point, whatever was changed in it. */
START_TEST(changed_signatures_are_refused_or_fixed_points)
{
	static const char start[] =
		"a=bf16/kn,b=mxfp4:u8@u8:block:rows:block=1x32,c=scaled-fp8:f8_e5m2@f32";
	static const char bytes[] = "=,:/@x0123 \tabfu8-_.\x01\xff";
	unsigned state = 7;
	for (int i = 0; i < 20000; i++) {
		struct kp_signature read;
		struct kp_diag diag = {0};
		char text[sizeof(start)], first[KP_SIGNATURE_BYTES],
			second[KP_SIGNATURE_BYTES];
		memcpy(text, start, sizeof(start));
		for (int k = 0; k <= i % 2; k++) {
			unsigned at = draw(&state, sizeof(start) - 1);
			text[at] = bytes[draw(&state, sizeof(bytes) - 1)];
		}
		if (kp_signature_parse(text, &read, &diag) < 0) {
			ck_assert_str_eq(diag.code, "bad_signature");
			continue;
		}
		kp_signature_print(&read, first, sizeof(first));
		ck_assert_str_eq(canonical(first, second), first);
	}
}
END_TEST

START_TEST(elements_have_the_codes_and_sizes_of_dlpack)
{
	static const struct {
		const char *name;
		enum kp_element element;
		size_t bytes;
		unsigned char code;
	} all[KP_ELEMENTS] = {
		{"f64", KP_F64, 8, 2},
		{"f32", KP_F32, 4, 2},
		{"f16", KP_F16, 2, 2},
		{"bf16", KP_BF16, 2, 4},
		{"f8_e4m3fn", KP_F8_E4M3FN, 1, 10},
		{"f8_e5m2", KP_F8_E5M2, 1, 12},
		{"i8", KP_I8, 1, 0},
		{"i16", KP_I16, 2, 0},
		{"i32", KP_I32, 4, 0},
		{"i64", KP_I64, 8, 0},
		{"u8", KP_U8, 1, 1},
		{"u16", KP_U16, 2, 1},
		{"u32", KP_U32, 4, 1},
		{"u64", KP_U64, 8, 1},
		{"bool", KP_BOOL, 1, 6},
	};
	for (size_t i = 0; i < KP_ELEMENTS; i++) {
		enum kp_element element;
		ck_assert(kp_element_parse(all[i].name, &element));
		ck_assert_int_eq(element, all[i].element);
		ck_assert_str_eq(kp_element_name(element), all[i].name);
		ck_assert_uint_eq(kp_element_bytes(element), all[i].bytes);
		ck_assert_uint_eq(kp_element_code(element), all[i].code);
	}
}
END_TEST

START_TEST(printing_is_cut_and_terminated)
{
	struct kp_signature signature;
	char out[12];
	parse("a=f32,b=f32,c=f32", &signature);
	ck_assert_str_eq(kp_signature_print(&signature, out, sizeof(out)), "a=f32,b=f32");
}
END_TEST

enum {
	ACCEPTED = sizeof(accepted) / sizeof(accepted[0]),
	WRONG = sizeof(wrong) / sizeof(wrong[0]),
	VAGUE = sizeof(vague) / sizeof(vague[0]),
};

int main(void)
{
	TCase *tcase = tcase_create("format");
	tcase_add_loop_test(
		tcase, canonical_text_is_sorted_and_without_defaults, 0, ACCEPTED);
	tcase_add_loop_test(tcase, wrong_text_says_what_and_at_which_column, 0, WRONG);
	tcase_add_test(tcase, too_many_roles_are_refused);
	tcase_add_test(tcase, signature_beyond_its_bound_is_refused);
	tcase_add_test(tcase, failure_leaves_format_untouched);
	tcase_add_test(tcase, rg04_formats_of_one_role_make_signatures_differ);
	tcase_add_test(tcase, rg04_scale_is_read_from_its_role);
	tcase_add_test(tcase, rg04_block_shapes_make_signatures_differ);
	tcase_add_loop_test(tcase, rg05_block_scale_without_shape_is_refused, 0, 3);
	tcase_add_loop_test(tcase, rg05b_dynamic_block_is_valid_and_ends_the_text, 0, 3);
	tcase_add_loop_test(tcase, rg06_bare_fp8_is_ambiguous, 0, VAGUE);
	tcase_add_loop_test(tcase, rg06b_scaled_format_without_scale_is_refused, 0, 3);
	tcase_add_test(tcase, rg06c_dense_fp8_has_no_scale_and_scaled_fp8_keeps_it);
	tcase_add_test(tcase, rg07_storage_dtype_is_found_by_role);
	tcase_add_test(tcase, every_printed_signature_reads_back_as_itself);
	tcase_add_test(tcase, changed_signatures_are_refused_or_fixed_points);
	tcase_add_test(tcase, elements_have_the_codes_and_sizes_of_dlpack);
	tcase_add_test(tcase, printing_is_cut_and_terminated);
	Suite *suite = suite_create("format");
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
