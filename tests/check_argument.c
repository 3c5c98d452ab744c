/* SPDX-License-Identifier: MIT */
/* Calls that the family does not describe are refused before a kernel runs. */
#include "lib/family/argument.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* c = a b + bias, c may be a; parts p and q may lie between each other. */
static const char text[] =
	"{\"operation\":\"t/mm\",\"revision\":1,\"dims\":[\"m\",\"n\",\"k\"],\"roles\":["
	"{\"name\":\"a\",\"direction\":\"in\",\"dims\":[\"m\",\"k\"],\"key\":true,"
	"\"formats\":[\"f32\",\"bf16\"]},"
	"{\"name\":\"b\",\"direction\":\"in\",\"dims\":[\"k\",\"n\"],\"key\":true,"
	"\"formats\":[\"f32\",\"bf16\"]},"
	"{\"name\":\"c\",\"direction\":\"out\",\"dims\":[\"m\",\"n\"],\"key\":true,"
	"\"formats\":[\"f32\"],\"alias\":\"a\"},"
	"{\"name\":\"p\",\"direction\":\"out\",\"dims\":[\"m\",2],\"formats\":[\"f32\"],"
	"\"optional\":true,\"interleave\":true},"
	"{\"name\":\"q\",\"direction\":\"out\",\"dims\":[\"m\",2],\"formats\":[\"f32\"],"
	"\"optional\":true,\"interleave\":true},"
	"{\"name\":\"bias\",\"direction\":\"in\",\"dims\":[\"n\"],\"key\":true,"
	"\"formats\":[\"f32\"],\"optional\":true,\"space\":\"host\"}],"
	"\"check\":{\"kind\":\"norm\",\"tolerance\":{\"f32\":1e-5}}}";

enum { A, B, C, P, Q, BIAS, ROLES };

/* A right call of m = 4, n = 6, k = 4 that a test then spoils. */
struct call {
	struct kp_family family;
	struct kp_tensor tensors[ROLES];
	int64_t shapes[ROLES][2], strides[ROLES][2];
	const struct kp_tensor *list[ROLES];
	size_t count;
	float memory[256];
};

static void set(struct call *call, int role, size_t offset, int64_t rows, int64_t columns)
{
	call->shapes[role][0] = rows;
	call->shapes[role][1] = columns;
	call->strides[role][0] = columns;
	call->strides[role][1] = 1;
	call->tensors[role] = (struct kp_tensor){.data = call->memory + offset,
		.device = {KP_DEVICE_CPU, 0},
		.ndim = 2,
		.dtype = {KP_CODE_FLOAT, 32, 1},
		.shape = call->shapes[role],
		.strides = call->strides[role]};
	call->list[role] = &call->tensors[role];
}

static struct call *right_call(void)
{
	struct call *call = calloc(1, sizeof(*call));
	struct kp_diag diag = {0};
	int rc = kp_family_parse(text, strlen(text), "t.mm.json", &call->family, &diag);
	ck_assert_msg(rc == 0, "%s", diag.message);
	set(call, A, 0, 4, 4);
	set(call, B, 20, 4, 6);
	set(call, C, 50, 4, 6);
	set(call, P, 80, 4, 2);
	set(call, Q, 100, 4, 2);
	set(call, BIAS, 120, 6, 1);
	call->tensors[BIAS].ndim = 1;
	call->strides[BIAS][0] = 1;
	call->count = ROLES;
	return call;
}

static void end(struct call *call)
{
	kp_family_finish(&call->family);
	free(call);
}

static int check(struct call *call, struct kp_shape *shape, struct kp_diag *diag)
{
	return kp_arguments_check(
		&call->family, NULL, call->list, call->count, shape, diag);
}

/* Refused with this code, about this role, with these words; or NULL: accepted. */
static void expect(
	struct call *call, const char *code, const char *object, const char *words)
{
	struct kp_diag diag = {0};
	char rest[128] = "";
	char *at = rest;
	int rc = check(call, NULL, &diag);
	if (!code) {
		ck_assert_msg(rc == 0, "%s", diag.message);
		end(call);
		return;
	}
	ck_assert_int_eq(rc, -1);
	ck_assert_msg(strcmp(diag.code, code) == 0, "%s: %s", diag.code, diag.message);
	ck_assert_str_eq(diag.object, object);
	snprintf(rest, sizeof(rest), "%s", words ? words : "");
	for (char *word; at && (word = strsep(&at, "|")) && *word;)
		ck_assert_msg(strstr(diag.message, word) != NULL, "%s: not in: %s", word,
			diag.message);
	end(call);
}

START_TEST(a_right_call_gives_every_dim)
{
	struct call *call = right_call();
	struct kp_shape shape = {0};
	ck_assert_int_eq(check(call, &shape, NULL), 0);
	ck_assert_uint_eq(shape.count, 3);
	ck_assert_int_eq(kp_shape_get(&shape, "m"), 4);
	ck_assert_int_eq(kp_shape_get(&shape, "n"), 6);
	ck_assert_int_eq(kp_shape_get(&shape, "k"), 4);
	end(call);
}
END_TEST

START_TEST(k01_an_absent_optional_role_is_absent)
{
	struct call *call = right_call();
	call->list[P] = call->list[Q] = call->list[BIAS] = NULL;
	expect(call, NULL, NULL, NULL);
	call = right_call();
	call->count = 3;
	expect(call, NULL, NULL, NULL);
	call = right_call();
	call->list[P] = NULL;
	expect(call, NULL, NULL, NULL);
}
END_TEST

START_TEST(k01_a_wrong_number_of_tensors_is_refused)
{
	struct call *call = right_call();
	struct kp_diag diag;
	ck_assert_int_eq(kp_arguments_check(
				 &call->family, NULL, call->list, ROLES + 1, NULL, &diag),
		-1);
	ck_assert_str_eq(diag.code, "wrong_count");
	ck_assert_ptr_nonnull(strstr(diag.message, "7 tensors"));
	ck_assert_ptr_nonnull(strstr(diag.message, "6 roles"));
	ck_assert_int_eq(
		kp_arguments_check(&call->family, NULL, NULL, 3, NULL, &diag), -1);
	ck_assert_str_eq(diag.code, "wrong_count");
	call->count = 2;
	expect(call, "missing_tensor", "c", NULL);
	call = right_call();
	call->count = 0;
	expect(call, "missing_tensor", "a", NULL);
}
END_TEST

START_TEST(k01_null_for_a_required_role_is_refused)
{
	static const char *const names[] = {"a", "b", "c"};
	struct call *call = right_call();
	call->list[_i] = NULL;
	expect(call, "missing_tensor", names[_i], "required|NULL");
}
END_TEST

static const struct {
	int role;
	struct kp_dtype dtype;
	const char *object, *words;
} dtypes[] = {
	{A, {KP_CODE_FLOAT, 16, 1}, "a", "f16|f32"},
	{C, {KP_CODE_BFLOAT, 16, 1}, "c", "bf16|f32"},
	{B, {KP_CODE_INT, 32, 1}, "b", "i32|f32"},
	{BIAS, {KP_CODE_FLOAT, 64, 1}, "bias", "f64|f32"},
	{A, {KP_CODE_FLOAT, 32, 2}, "a", "2 lanes|f32"},
	{A, {3, 64, 1}, "a", "code 3|f32"},
	{A, {KP_CODE_FLOAT, 0, 1}, "a", "0 bits|f32"},
};

START_TEST(k01_a_wrong_dtype_is_refused_with_both)
{
	struct call *call = right_call();
	call->tensors[dtypes[_i].role].dtype = dtypes[_i].dtype;
	expect(call, "wrong_dtype", dtypes[_i].object, dtypes[_i].words);
}
END_TEST

START_TEST(k01_a_wrong_rank_is_refused_with_both)
{
	static const int32_t ranks[] = {-1, 0, 1, 3, INT32_MAX};
	struct call *call = right_call();
	char words[64];
	call->tensors[B].ndim = ranks[_i];
	snprintf(words, sizeof(words), "%d dims|2 here", ranks[_i]);
	expect(call, "wrong_rank", "b", words);
}
END_TEST

static const struct {
	int role, dim;
	int64_t extent;
	const char *object, *words;
} dims[] = {
	{B, 0, 5, "b", "(k) is 5|a has 4"},
	{C, 0, 3, "c", "(m) is 3|a has 4"},
	{C, 1, 7, "c", "(n) is 7|b has 6"},
	{P, 1, 3, "p", "dim 1 is 3|the family has 2"},
	{BIAS, 0, 1, "bias", "(n) is 1|b has 6"},
	{A, 1, 0, "b", "(k) is 4|a has 0"},
};

START_TEST(k01_dims_that_disagree_are_refused_with_role_dim_and_both_values)
{
	struct call *call = right_call();
	call->shapes[dims[_i].role][dims[_i].dim] = dims[_i].extent;
	expect(call, "dims_disagree", dims[_i].object, dims[_i].words);
}
END_TEST

START_TEST(k01_a_negative_dim_is_refused)
{
	static const int64_t extents[] = {-1, INT32_MIN, INT64_MIN};
	struct call *call = right_call();
	char words[64];
	call->shapes[A][0] = extents[_i];
	snprintf(words, sizeof(words), "(m)|%lld", (long long)extents[_i]);
	expect(call, "bad_extent", "a", words);
}
END_TEST

START_TEST(k01_bytes_that_overflow_are_refused)
{
	struct call *call = right_call();
	call->strides[A][0] = INT64_MAX / 2;
	expect(call, "too_large", "a", NULL);
	call = right_call();
	call->strides[A][0] = INT64_MAX / 8;
	expect(call, "too_large", "a", NULL);
	call = right_call();
	call->shapes[A][0] = call->shapes[C][0] = call->shapes[P][0] =
		call->shapes[Q][0] = INT64_MAX;
	expect(call, "too_large", "a", NULL);
	call = right_call();
	call->strides[A][0] = INT64_MAX / 32;
	call->tensors[A].data = (void *)(UINTPTR_MAX / 2 - 64);
	expect(call, "too_large", "a", NULL);
}
END_TEST

START_TEST(a_tensor_without_its_parts_is_refused)
{
	struct call *call = right_call();
	call->tensors[B].shape = NULL;
	expect(call, "bad_tensor", "b", "no shape");
	call = right_call();
	call->tensors[B].strides = NULL;
	expect(call, "bad_tensor", "b", "no strides");
	call = right_call();
	call->tensors[B].byte_offset = 4;
	expect(call, "bad_tensor", "b", "offset");
	call = right_call();
	call->tensors[B].data = NULL;
	expect(call, "bad_tensor", "b", "no data");
	call = right_call();
	call->tensors[BIAS].device.type = KP_DEVICE_CUDA;
	expect(call, "wrong_device", "bias", "host");
}
END_TEST

START_TEST(k02_a_tensor_without_elements_needs_no_data)
{
	struct call *call = right_call();
	call->shapes[A][1] = call->shapes[B][0] = 0;
	call->tensors[A].data = call->tensors[B].data = NULL;
	expect(call, NULL, NULL, NULL);
	call = right_call();
	call->shapes[B][1] = call->shapes[C][1] = call->shapes[BIAS][0] = 0;
	call->tensors[C].data = call->tensors[A].data;
	expect(call, NULL, NULL, NULL);
}
END_TEST

START_TEST(k03_strides_of_any_kind_are_accepted)
{
	struct call *call = right_call();
	call->strides[B][0] = 1; /* transposed */
	call->strides[B][1] = 4;
	expect(call, NULL, NULL, NULL);
	call = right_call();
	call->strides[A][0] = 0; /* one row for all */
	expect(call, NULL, NULL, NULL);
	call = right_call();
	call->tensors[B].data = call->memory + 43; /* from the end */
	call->strides[B][0] = -6;
	call->strides[B][1] = -1;
	expect(call, NULL, NULL, NULL);
}
END_TEST

START_TEST(k04_an_output_that_shares_memory_is_refused)
{
	struct call *call = right_call();
	call->tensors[C].data = call->tensors[B].data;
	expect(call, "overlap", "c", "b and c");
	call = right_call();
	call->tensors[C].data = call->memory + 20 + 23;
	expect(call, "overlap", "c", "b and c");
	call = right_call();
	call->tensors[P].data = call->memory + 50 + 23;
	expect(call, "overlap", "c", "c and p");
	call = right_call();
	call->tensors[BIAS].data = call->memory + 107;
	expect(call, "overlap", "q", "q and bias");
	call = right_call();
	call->tensors[P].data = call->memory + 7 * 8; /* backwards into c */
	call->strides[P][0] = -2;
	expect(call, "overlap", "c", "c and p");
}
END_TEST

START_TEST(k04_inputs_and_neighbours_may_share)
{
	struct call *call = right_call();
	call->tensors[B].data = call->tensors[A].data;
	expect(call, NULL, NULL, NULL);
	call = right_call();
	call->tensors[C].data = call->memory + 20 + 24;
	expect(call, NULL, NULL, NULL);
}
END_TEST

START_TEST(k04_an_output_that_overlaps_itself_is_refused)
{
	struct call *call = right_call();
	call->strides[C][0] = 0;
	expect(call, "overlap", "c", "itself");
	call = right_call();
	call->strides[P][1] = 0;
	expect(call, "overlap", "p", "itself");
	call = right_call();
	call->shapes[A][0] = call->shapes[C][0] = call->shapes[P][0] =
		call->shapes[Q][0] = 1;
	call->strides[C][0] = 0;
	expect(call, NULL, NULL, NULL);
}
END_TEST

/* n = k = 4, so that a and c are of one shape. */
static struct call *square_call(void)
{
	struct call *call = right_call();
	call->shapes[B][1] = call->shapes[C][1] = call->shapes[BIAS][0] = 4;
	call->strides[C][0] = 4;
	return call;
}

START_TEST(k04_an_alias_is_the_very_same_memory)
{
	struct call *call = square_call();
	call->tensors[C].data = call->tensors[A].data;
	expect(call, NULL, NULL, NULL);
	call = square_call();
	call->tensors[C].data = call->memory + 1;
	expect(call, "overlap", "c", "a and c|not the same elements");
	call = square_call();
	call->tensors[C].data = call->tensors[A].data;
	call->strides[C][0] = 1;
	call->strides[C][1] = 4;
	expect(call, "overlap", "c", "a and c|not the same elements");
}
END_TEST

START_TEST(k04_interleaved_roles_may_lie_between_each_other)
{
	struct call *call = right_call();
	call->tensors[Q].data = call->memory + 82;
	call->strides[P][0] = call->strides[Q][0] = 4;
	expect(call, NULL, NULL, NULL);
	call = right_call();
	call->tensors[BIAS].data = call->memory + 82;
	call->strides[P][0] = 4;
	expect(call, "overlap", "p", "p and bias");
}
END_TEST

static const struct {
	const char *signature, *code, *object;
} signatures[] = {
	{"a=f32,b=f32,c=f32,bias=f32", NULL, NULL},
	{"a=bf16,b=f32,c=f32,bias=f32", "wrong_dtype", "a"},
	{"a=f32,b=f32,c=f32", "unexpected_tensor", "bias"},
};

START_TEST(a_signature_says_the_dtypes)
{
	struct call *call = right_call();
	struct kp_signature signature;
	struct kp_diag diag = {0};
	ck_assert_int_eq(
		kp_signature_parse(signatures[_i].signature, &signature, NULL), 0);
	int rc = kp_arguments_check(
		&call->family, &signature, call->list, call->count, NULL, &diag);
	ck_assert_msg(rc == (signatures[_i].code ? -1 : 0), "%s", diag.message);
	if (signatures[_i].code) {
		ck_assert_str_eq(diag.code, signatures[_i].code);
		ck_assert_str_eq(diag.object, signatures[_i].object);
	}
	end(call);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

static void add_tests(TCase *tcase)
{
	tcase_add_test(tcase, a_right_call_gives_every_dim);
	tcase_add_test(tcase, k01_an_absent_optional_role_is_absent);
	tcase_add_test(tcase, k01_a_wrong_number_of_tensors_is_refused);
	tcase_add_loop_test(tcase, k01_null_for_a_required_role_is_refused, 0, 3);
	tcase_add_loop_test(
		tcase, k01_a_wrong_dtype_is_refused_with_both, 0, COUNT(dtypes));
	tcase_add_loop_test(tcase, k01_a_wrong_rank_is_refused_with_both, 0, 5);
	tcase_add_loop_test(tcase,
		k01_dims_that_disagree_are_refused_with_role_dim_and_both_values, 0,
		COUNT(dims));
	tcase_add_loop_test(tcase, k01_a_negative_dim_is_refused, 0, 3);
	tcase_add_test(tcase, k01_bytes_that_overflow_are_refused);
	tcase_add_test(tcase, a_tensor_without_its_parts_is_refused);
	tcase_add_test(tcase, k02_a_tensor_without_elements_needs_no_data);
	tcase_add_test(tcase, k03_strides_of_any_kind_are_accepted);
	tcase_add_test(tcase, k04_an_output_that_shares_memory_is_refused);
	tcase_add_test(tcase, k04_inputs_and_neighbours_may_share);
	tcase_add_test(tcase, k04_an_output_that_overlaps_itself_is_refused);
	tcase_add_test(tcase, k04_an_alias_is_the_very_same_memory);
	tcase_add_test(tcase, k04_interleaved_roles_may_lie_between_each_other);
	tcase_add_loop_test(tcase, a_signature_says_the_dtypes, 0, COUNT(signatures));
}

int main(void)
{
	Suite *suite = suite_create("argument");
	TCase *tcase = tcase_create("argument");
	add_tests(tcase);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
