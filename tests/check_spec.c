/* SPDX-License-Identifier: MIT */
/* Kernels as they are shown: bands, flags, archs, the Kernel of the interface. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "lib/family/format.h"
#include "lib/plugin/spec.h"
#include "tests/support/notes.h"
#include "tests/support/suite.h"

START_TEST(bands_are_those_of_the_design)
{
	static const char *const bands[KP_PRIORITY_END] = {"reference", "-", "-", "-",
		"portable", "portable", "portable", "portable", "performant",
		"performant", "performant", "performant", "specialized", "specialized",
		"specialized", "specialized", "plugin", "plugin", "plugin", "plugin"};
	for (int i = 0; i < KP_PRIORITY_END; i++)
		ck_assert_str_eq(kp_priority_band(i), bands[i]);
	ck_assert_str_eq(kp_priority_band(-1), "-");
	ck_assert_str_eq(kp_priority_band(KP_PRIORITY_END), "-");
}
END_TEST

START_TEST(every_flag_has_a_name)
{
	static const char *const names[] = {"capturable", "syncs", "host_reads",
		"reentrant", "deterministic", "batch_invariant", "unproven"};
	for (unsigned i = 0; i < 7; i++)
		ck_assert_str_eq(kp_flag_name(1u << i), names[i]);
	ck_assert_ptr_null(kp_flag_name(1u << 7));
	ck_assert_ptr_null(kp_flag_name(0));
	ck_assert_ptr_null(kp_flag_name(3));
}
END_TEST

static const struct {
	const char *text, *printed;
	int32_t major, minor;
} archs[] = {{"9.0", "9.0", 9, 0}, {"10", "10.0", 10, 0}, {"10.3", "10.3", 10, 3},
	{"0.0", "0.0", 0, 0}, {"99999.99999", "99999.99999", 99999, 99999}};

START_TEST(arch_is_two_integers)
{
	struct kp_arch arch;
	struct kp_diag diag;
	char text[24];
	ck_assert_int_eq(kp_arch_parse(archs[_i].text, &arch, &diag), 0);
	ck_assert(arch.known);
	ck_assert_int_eq(arch.major, archs[_i].major);
	ck_assert_int_eq(arch.minor, archs[_i].minor);
	ck_assert_str_eq(kp_arch_print(&arch, text, sizeof(text)), archs[_i].printed);
}
END_TEST

static const char *const no_archs[] = {"", "9.", ".9", "9.0.0", "sm_90", "9.0a", " 9.0",
	"9.0 ", "-9.0", "+9", "09.0", "9.00", "9,0", "100000.0", "4294967296.0"};

START_TEST(what_is_no_arch_is_refused)
{
	struct kp_arch arch = {.major = 77};
	struct kp_diag diag;
	ck_assert_int_eq(kp_arch_parse(no_archs[_i], &arch, &diag), -1);
	ck_assert_str_eq(diag.code, "bad_arch");
	ck_assert_str_eq(diag.object, no_archs[_i]);
	ck_assert_int_eq(arch.major, 77);
}
END_TEST

START_TEST(minor_arch_is_compared_as_an_integer)
{
	static const char *const ordered[] = {
		"8.0", "8.9", "8.10", "9.0", "10.0", "10.3"};
	for (size_t i = 0; i < 6; i++)
		for (size_t j = 0; j < 6; j++) {
			struct kp_arch a, b;
			struct kp_diag diag;
			ck_assert_int_eq(kp_arch_parse(ordered[i], &a, &diag), 0);
			ck_assert_int_eq(kp_arch_parse(ordered[j], &b, &diag), 0);
			int order = kp_arch_compare(&a, &b);
			ck_assert((i < j) == (order < 0) && (i > j) == (order > 0));
		}
}
END_TEST

START_TEST(unknown_arch_says_so)
{
	struct kp_arch arch = {0};
	char text[24];
	ck_assert_str_eq(kp_arch_print(&arch, text, sizeof(text)), "unknown");
}
END_TEST

static void json_is(json_t *made, const char *expected)
{
	json_t *value = json_loads(expected, 0, NULL);
	char *text = made ? json_dumps(made, JSON_SORT_KEYS) : NULL;
	ck_assert_ptr_nonnull(value);
	ck_assert_msg(json_equal(made, value), "%s", text ? text : "NULL");
	free(text);
	json_decref(made);
	json_decref(value);
}

START_TEST(full_kernel_is_shown_whole)
{
	struct kp_note note;
	note_read(note_full, &note);
	json_is(kp_spec_json(
			&note.kernels[0], "alpha", "disabled", "operator", "too slow"),
		"{\"name\":\"mm\",\"id\":\"alpha/mm\",\"operation\":\"gemm/"
		"mm\",\"revision\":2,"
		"\"solution\":\"triton\",\"priority\":12,\"band\":\"specialized\","
		"\"signatures\":[\"a=f32,b=f32,c=f32\",\"a=f16,b=f16,c=f16\"],"
		"\"capability\":{\"device\":\"gpu\",\"vendors\":[\"nvidia\"],"
		"\"min_arch\":\"8.0\",\"max_arch\":\"9.0\",\"features\":[\"async\","
		"\"fp8\"]},"
		"\"traits\":{\"head_dim\":{\"in\":[64,128],\"min\":64,\"max\":128,"
		"\"multiple_of\":64,\"required\":true},\"causal\":{\"in\":[true]},"
		"\"page\":{\"in\":[16,32]},\"mode\":{\"in\":[\"fast\"]},"
		"\"scale\":{\"in\":[0.5]},\"free\":{}},"
		"\"tags\":[\"latency\",\"throughput\"],\"features\":[\"gqa\",\"paged\"],"
		"\"flags\":[\"reentrant\",\"deterministic\"],\"needs\":[\"libfoo.so.1\"],"
		"\"layouts\":[\"kn\"],\"state\":\"disabled\","
		"\"reason\":{\"code\":\"operator\",\"message\":\"too slow\"}}");
	kp_note_finish(&note);
}
END_TEST

START_TEST(bare_kernel_has_empty_lists_and_nulls)
{
	struct kp_note note;
	char *text = note_with_member("priority", "0");
	note_read(text, &note);
	json_is(kp_spec_json(&note.kernels[0], "p", NULL, NULL, NULL),
		"{\"name\":\"mm\",\"id\":\"p/mm\",\"operation\":\"gemm/"
		"mm\",\"revision\":1,"
		"\"solution\":null,\"priority\":0,\"band\":\"reference\","
		"\"signatures\":[\"a=f32\"],"
		"\"capability\":{\"device\":\"any\",\"vendors\":[],\"min_arch\":null,"
		"\"max_arch\":null,\"features\":[]},\"traits\":{},\"tags\":[],"
		"\"features\":[],"
		"\"flags\":[],\"needs\":[],\"layouts\":[],\"state\":null,\"reason\":"
		"null}");
	kp_note_finish(&note);
	free(text);
}
END_TEST

/* The kernel of RG08: three signatures over two dtypes of x. */
static void read_mixed(struct kp_note *note)
{
	char *text =
		note_with_member("signatures", "[\"w=mxfp4:u8@u8:block=1x32,x=bf16\",\"w="
					       "nvfp4:u8@f8_e4m3fn:block=1x16,x=bf16\","
					       "\"w=mxfp4:u8@u8:block=1x32,x=f16\"]");
	note_read(text, note);
	free(text);
}

/* How many signatures of the kernel have this dtype in the role; the last of them. */
static size_t having(const struct kp_spec *spec, const char *role,
	enum kp_element element, struct kp_signature *last)
{
	size_t count = 0;
	for (size_t i = 0; i < spec->signatures.count; i++) {
		struct kp_signature signature;
		struct kp_diag diag;
		ck_assert_int_eq(
			kp_signature_parse(spec->signatures.items[i], &signature, &diag),
			0);
		const struct kp_operand *operand = kp_signature_find(&signature, role);
		if (!operand || operand->format.element != element)
			continue;
		*last = signature;
		count++;
	}
	return count;
}

START_TEST(rg08_signatures_are_told_apart_by_the_dtype_of_a_role)
{
	struct kp_note note;
	struct kp_signature found;
	read_mixed(&note);
	ck_assert_uint_eq(having(&note.kernels[0], "x", KP_BF16, &found), 2);
	ck_assert_str_eq(kp_signature_find(&found, "w")->format.name, "nvfp4");
	ck_assert_uint_eq(having(&note.kernels[0], "x", KP_F16, &found), 1);
	ck_assert_str_eq(kp_signature_find(&found, "w")->format.name, "mxfp4");
	ck_assert_uint_eq(having(&note.kernels[0], "w", KP_U8, &found), 3);
	kp_note_finish(&note);
}
END_TEST

START_TEST(rg08b_dtypes_of_a_role_are_those_of_its_signatures)
{
	struct kp_note note;
	struct kp_signature found;
	read_mixed(&note);
	for (int i = 0; i < KP_ELEMENTS; i++) {
		enum kp_element element = (enum kp_element)i;
		bool has = having(&note.kernels[0], "x", element, &found) > 0;
		ck_assert(has == (element == KP_BF16 || element == KP_F16));
	}
	ck_assert_uint_eq(having(&note.kernels[0], "y", KP_BF16, &found), 0);
	kp_note_finish(&note);
}
END_TEST

static const struct {
	const char *role, *dtype, *signature, *code, *part;
} queries[] = {
	{"x", "f16", "w=mxfp4:u8@u8:block:block=1x32,x=f16", NULL, NULL},
	{"x", "bf16", NULL, "ambiguous_signature", "multiple format signatures"},
	{"w", "u8", NULL, "ambiguous_signature", "multiple format signatures"},
	{"x", "f32", NULL, "no_signature", "no signature with x=f32"},
	{"y", "f16", NULL, "no_signature", "no signature with y=f16"},
	{"x", "fp16", NULL, "bad_signature", "unknown dtype fp16"},
};

START_TEST(rg08c_signature_is_found_by_the_dtype_of_a_role_or_named_ambiguous)
{
	struct kp_note note;
	struct kp_diag diag;
	const char *signature = NULL;
	read_mixed(&note);
	int result = kp_spec_signature(
		&note.kernels[0], queries[_i].role, queries[_i].dtype, &signature, &diag);
	ck_assert_int_eq(result, queries[_i].code ? -1 : 0);
	if (queries[_i].code) {
		ck_assert_str_eq(diag.code, queries[_i].code);
		ck_assert_str_eq(diag.object, queries[_i].role);
		ck_assert_msg(strstr(diag.message, queries[_i].part), "%s", diag.message);
		ck_assert_ptr_null(signature);
	} else {
		ck_assert_str_eq(signature, queries[_i].signature);
	}
	kp_note_finish(&note);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("spec");
	tcase_add_test(tcase, bands_are_those_of_the_design);
	tcase_add_test(tcase, every_flag_has_a_name);
	tcase_add_loop_test(
		tcase, arch_is_two_integers, 0, sizeof(archs) / sizeof(archs[0]));
	tcase_add_loop_test(tcase, what_is_no_arch_is_refused, 0,
		sizeof(no_archs) / sizeof(no_archs[0]));
	tcase_add_test(tcase, minor_arch_is_compared_as_an_integer);
	tcase_add_test(tcase, unknown_arch_says_so);
	tcase_add_test(tcase, full_kernel_is_shown_whole);
	tcase_add_test(tcase, bare_kernel_has_empty_lists_and_nulls);
	tcase_add_test(tcase, rg08_signatures_are_told_apart_by_the_dtype_of_a_role);
	tcase_add_test(tcase, rg08b_dtypes_of_a_role_are_those_of_its_signatures);
	tcase_add_loop_test(tcase,
		rg08c_signature_is_found_by_the_dtype_of_a_role_or_named_ambiguous, 0,
		sizeof(queries) / sizeof(queries[0]));
	Suite *suite = suite_create("spec");
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
