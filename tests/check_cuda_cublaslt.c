/* SPDX-License-Identifier: MIT */
/* gemm/mm by cuBLASLt: layouts, plans, errors, and where the library is looked for. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/gpu.h"
#include "tests/support/suite.h"

static const char kernel[] = "gemm_mm_cublaslt";

struct product {
	struct guarded roles[3], expected;
	struct arguments arguments;
};

static void product_init(
	struct product *product, const int64_t *shape, uint8_t code, const int *layouts)
{
	const int64_t extents[3][2] = {
		{shape[0], shape[2]}, {shape[2], shape[1]}, {shape[0], shape[1]}};

	memset(product, 0, sizeof(*product));
	for (int i = 0; i < 3; i++) {
		guarded_init(&product->roles[i], code, (enum guarded_layout)layouts[i], 2,
			extents[i]);
		if (i < 2)
			guarded_fill(&product->roles[i], (uint64_t)i + 3);
		product->arguments.roles[i] = &product->roles[i];
	}
	product->arguments.n_roles = 3;
	guarded_init(&product->expected, code, GUARDED_ROWS, 2, extents[2]);
}

static void product_finish(struct product *product)
{
	for (int i = 0; i < 3; i++)
		guarded_finish(&product->roles[i]);
	guarded_finish(&product->expected);
}

static void compare(struct product *product)
{
	struct arguments arguments = product->arguments;
	struct subject subject;
	const struct guarded *c = &product->roles[2];
	double *expected = calloc((size_t)c->count + 1, sizeof(double));

	arguments.roles[2] = &product->expected;
	ck_assert(subject_open(&subject, "reference", "gemm_mm"));
	ck_assert_int_eq(subject_run(&subject, &arguments), KP_OK);
	subject_close(&subject);
	ck_assert_ptr_nonnull(expected);
	for (int64_t i = 0; i < c->count; i++)
		expected[i] = guarded_get(&product->expected, i);
	ck_assert_double_le(guarded_distance(c, expected), c->bytes == 2 ? 1e-2 : 1e-5);
	ck_assert(guarded_intact(c));
	free(expected);
}

static void open_or_fail(struct gpu *gpu)
{
	ck_assert_msg(gpu_open(gpu, kernel), "%s", gpu->subject.error.text);
}

static void has_text(const struct gpu *gpu, const char *part)
{
	ck_assert_msg(strstr(gpu->subject.error.text, part) != NULL,
		"\"%s\" is not in \"%s\"", part, gpu->subject.error.text);
}

/* Rows, columns or padded rows, each of the three; edges of the family among them. */
START_TEST(k02_products_are_right)
{
	static const int64_t shapes[][3] = {{1, 1, 1}, {1, 7, 3}, {5, 1, 17}, {7, 17, 33},
		{13, 47, 1}, {3, 5, 0}, {0, 5, 3}, {3, 0, 5}, {0, 0, 0}, {16, 24, 8}};
	struct gpu gpu;

	open_or_fail(&gpu);
	for (int i = 0; i < 27; i++)
		for (int way = 0; way < 4; way++) {
			const int layouts[] = {i % 3, i / 3 % 3, i / 9};
			struct product product;

			product_init(&product, shapes[_i],
				way & 2 ? KP_CODE_BFLOAT : KP_CODE_FLOAT, layouts);
			int status = gpu_run(&gpu, &product.arguments,
				way & 1 ? GPU_ALIGNED : GPU_PLAIN);

			ck_assert_msg(status == KP_OK, "layouts %d: %s", i,
				gpu.subject.error.text);
			compare(&product);
			product_finish(&product);
		}
	gpu_close(&gpu);
}
END_TEST

START_TEST(k03_what_it_cannot_describe_is_refused)
{
	static const int layouts[][3] = {{GUARDED_SPREAD, 0, 0}, {GUARDED_REVERSED, 0, 0},
		{0, GUARDED_SPREAD, 0}, {0, GUARDED_REVERSED, 0}, {0, 0, GUARDED_SPREAD},
		{0, 0, GUARDED_REVERSED}};
	const int64_t shape[] = {5, 6, 7};
	struct product product;
	struct gpu gpu;

	open_or_fail(&gpu);
	product_init(&product, shape, KP_CODE_FLOAT, layouts[_i]);
	ck_assert_int_eq(gpu_run(&gpu, &product.arguments, GPU_PLAIN), KP_UNSUPPORTED);
	has_text(&gpu, "neither contiguous rows nor contiguous columns");
	ck_assert(guarded_untouched(&product.roles[2]));
	product_finish(&product);
	gpu_close(&gpu);
}
END_TEST

START_TEST(each_function_that_fails_is_named)
{
	static const struct {
		const char *fail;
		int status;
		const char *text;
	} rows[] = {
		{"cublasLtMatrixLayoutInit_internal:7", KP_UNSUPPORTED,
			"describing the matrices: CUBLAS_STATUS_INVALID_VALUE (7)"},
		{"cublasLtMatmulDescInit_internal:3", KP_NO_MEMORY,
			"describing the matrices: CUBLAS_STATUS_ALLOC_FAILED (3)"},
		{"cublasLtMatmulDescSetAttribute:7", KP_UNSUPPORTED,
			"describing the matrices"},
		{"cublasLtMatmulPreferenceInit_internal:7", KP_UNSUPPORTED,
			"cublasLtMatmulAlgoGetHeuristic: "},
		{"cublasLtMatmulPreferenceSetAttribute:3", KP_NO_MEMORY,
			"cublasLtMatmulAlgoGetHeuristic: "},
		{"cublasLtMatmulAlgoGetHeuristic:15", KP_UNSUPPORTED,
			"CUBLAS_STATUS_NOT_SUPPORTED (15)"},
		{"cublasLtMatmul:13", KP_RUNTIME,
			"cublasLtMatmul: CUBLAS_STATUS_EXECUTION_FAILED (13)"},
	};
	const int64_t shape[] = {4, 4, 4};
	const int layouts[3] = {0};
	struct product product;
	struct gpu gpu;

	open_or_fail(&gpu);
	product_init(&product, shape, KP_CODE_BFLOAT, layouts);
	setenv("KP_FAKE_CUBLASLT_FAIL", rows[_i].fail, 1);
	ck_assert_int_eq(gpu_run(&gpu, &product.arguments, GPU_PLAIN), rows[_i].status);
	has_text(&gpu, rows[_i].text);
	ck_assert_int_gt(gpu.subject.error.native_code, 0);
	ck_assert_uint_eq(gpu.launches, 0);
	product_finish(&product);
	gpu_close(&gpu);
}
END_TEST

START_TEST(product_without_an_algorithm_is_unsupported)
{
	const int64_t shape[] = {4, 4, 4};
	const int layouts[3] = {0};
	struct product product;
	struct gpu gpu;

	open_or_fail(&gpu);
	setenv("KP_FAKE_CUBLASLT_NONE", "1", 1);
	product_init(&product, shape, KP_CODE_FLOAT, layouts);
	ck_assert_int_eq(gpu_run(&gpu, &product.arguments, GPU_PLAIN), KP_UNSUPPORTED);
	has_text(&gpu, "has no algorithm for this product");
	product_finish(&product);
	gpu_close(&gpu);
}
END_TEST

/* A handle that cannot be made, and a library that is none or lacks a function. */
START_TEST(library_that_cannot_be_used_is_named)
{
	static const struct {
		const char *library, *fail, *text;
	} rows[] = {
		{NULL, "cublasLtCreate:1",
			"cublasLtCreate: CUBLAS_STATUS_NOT_INITIALIZED (1)"},
		{"/nowhere/libcublasLt.so.13", NULL,
			"KPLUG_CUBLASLT names /nowhere/libcublasLt.so.13, which cannot "
			"be opened: "},
		{"/dev/null", NULL,
			"KPLUG_CUBLASLT names /dev/null, which cannot be opened: "},
		{"libm.so.6", NULL, "cuBLASLt has no function cublasLtCreate"},
	};
	struct gpu gpu;

	if (rows[_i].fail)
		setenv("KP_FAKE_CUBLASLT_FAIL", rows[_i].fail, 1);
	if (rows[_i].library)
		setenv("KPLUG_CUBLASLT", rows[_i].library, 1);
	ck_assert(!gpu_open(&gpu, kernel));
	ck_assert_int_eq(gpu.subject.error.status, KP_UNAVAILABLE);
	has_text(&gpu, rows[_i].text);
	ck_assert_ptr_null(gpu.subject.device_state);
	gpu_close(&gpu);
}
END_TEST

START_TEST(probe_says_which_named_library_cannot_be_read)
{
	struct gpu gpu;

	gpu_begin(&gpu, kernel);
	ck_assert_int_eq(gpu.subject.kernel->available(NULL, &gpu.subject.error), KP_OK);
	setenv("KPLUG_CUBLASLT", "/nowhere/libcublasLt.so.13", 1);
	ck_assert_int_eq(
		gpu.subject.kernel->available(NULL, &gpu.subject.error), KP_UNAVAILABLE);
	has_text(&gpu,
		"KPLUG_CUBLASLT names /nowhere/libcublasLt.so.13, which cannot be read");
	gpu_close(&gpu);
}
END_TEST

/* A call made by hand, so that a plan can be kept and given to another one. */
struct by_hand {
	struct kp_tensor roles[3];
	const struct kp_tensor *tensors[3];
	int64_t shape[3][2], strides[3][2];
	_Alignas(256) unsigned char plan[2048];
	char memory[3][256];
	struct kp_error error;
	struct kp_call call;
};

static void by_hand_init(struct by_hand *hand, const struct gpu *gpu)
{
	memset(hand, 0, sizeof(*hand));
	for (int i = 0; i < 3; i++) {
		hand->shape[i][0] = hand->shape[i][1] = 4;
		hand->strides[i][0] = 4;
		hand->strides[i][1] = 1;
		/* Addresses that nobody reads: these calls are refused before. */
		hand->roles[i] =
			(struct kp_tensor){.data = (void *)(uintptr_t)(4096 * (i + 1)),
				.device = {KP_DEVICE_CUDA, 0},
				.ndim = 2,
				.dtype = {KP_CODE_FLOAT, 32, 1},
				.shape = hand->shape[i],
				.strides = hand->strides[i]};
		hand->tensors[i] = &hand->roles[i];
	}
	hand->error.size = sizeof(hand->error);
	hand->call = (struct kp_call){KP_SIZED(struct kp_call), .n_tensors = 3,
		.tensors = hand->tensors, .error = &hand->error,
		.device_state = gpu->subject.device_state, .stream = gpu->stream,
		.host_plan = hand->plan, .host_plan_bytes = sizeof(hand->plan),
		.workspace = (void *)(uintptr_t)(1 << 20), .workspace_bytes = 32 << 20,
		.generation = 7};
}

START_TEST(k08_plan_of_something_else_is_stale)
{
	static const char *const texts[] = {"kernel and generation",
		"kernel and generation", "other extents", "other extents",
		"other extents", "aligned to more bytes"};
	struct by_hand hand;
	struct gpu gpu;

	open_or_fail(&gpu);
	by_hand_init(&hand, &gpu);
	ck_assert_int_eq(gpu.subject.kernel->plan(&hand.call), KP_OK);
	switch (_i) {
	case 0:
		hand.call.generation = 8;
		break;
	case 1:
		memset(hand.plan, 0, sizeof(hand.plan));
		break;
	case 2:
		hand.shape[0][0] = hand.shape[2][0] = 3;
		break;
	case 3:
		hand.strides[1][0] = 5;
		break;
	case 4:
		for (int i = 0; i < 3; i++)
			hand.roles[i].dtype = (struct kp_dtype){KP_CODE_BFLOAT, 16, 1};
		break;
	default:
		hand.roles[1].data = (char *)hand.roles[1].data + 16;
	}
	ck_assert_int_eq(gpu.subject.kernel->run(&hand.call), KP_STALE);
	ck_assert_ptr_nonnull(strstr(hand.error.text, texts[_i]));
	gpu_close(&gpu);
}
END_TEST

START_TEST(missing_plan_or_workspace_is_refused)
{
	struct by_hand hand;
	struct gpu gpu;

	open_or_fail(&gpu);
	by_hand_init(&hand, &gpu);
	if (_i == 0) {
		hand.call.host_plan = NULL;
		ck_assert_int_eq(gpu.subject.kernel->plan(&hand.call), KP_INVALID);
	} else if (_i == 1) {
		hand.call.host_plan_bytes = 16;
	} else {
		ck_assert_int_eq(gpu.subject.kernel->plan(&hand.call), KP_OK);
		hand.call.workspace_bytes = 16;
	}
	ck_assert_int_eq(gpu.subject.kernel->run(&hand.call), KP_INVALID);
	ck_assert_ptr_nonnull(strstr(hand.error.text, _i < 2 ? "plan" : "workspace"));
	gpu_close(&gpu);
}
END_TEST

START_TEST(a19_config_is_read_strictly)
{
	static const struct {
		const char *config;
		int status;
		const char *text;
	} rows[] = {
		{"{}", KP_OK, ""},
		{" {\"cublaslt\": \"/opt/lib/libcublasLt.so.13\"} ", KP_OK, ""},
		{"[]", KP_INVALID, "object expected"},
		{"{\"cublas\": \"/x\"}", KP_INVALID,
			"unknown key \"cublas\"; the key is \"cublaslt\""},
		{"{\"cublaslt\": 3}", KP_INVALID, "cublaslt: a text is expected"},
		{"{\"cublaslt\": \"lib.so\"}", KP_INVALID,
			"an absolute path is expected"},
		{"{\"cublaslt\": \"/a\", \"cublaslt\": \"/b\"}", KP_INVALID,
			"given twice"},
		{"{\"cublaslt\": \"/a\\u0000\"}", KP_INVALID, "without escapes"},
		{"{\"cublaslt\": \"/a", KP_INVALID, "both quotes"},
		{"{\"cublaslt\" \"/a\"}", KP_INVALID, "a colon is expected"},
		{"{\"cublaslt\": \"/a\",}", KP_INVALID, "a comma and a key, or the end"},
		{"{} x", KP_INVALID, "nothing is expected after the object"},
	};
	struct gpu gpu;
	void *state = NULL;

	ck_assert_int_lt(_i, (int)(sizeof(rows) / sizeof(rows[0])));
	gpu_begin(&gpu, kernel);
	ck_assert_int_eq(gpu.subject.code->start(
				 NULL, rows[_i].config, &state, &gpu.subject.error),
		rows[_i].status);
	has_text(&gpu, rows[_i].text);
	if (rows[_i].status == KP_OK)
		gpu.subject.code->stop(state);
	else
		ck_assert_ptr_null(state);
	gpu_close(&gpu);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cuda_cublaslt");
	TCase *tcase = tcase_create("cublaslt");

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, k02_products_are_right, 0, 10);
	tcase_add_loop_test(tcase, k03_what_it_cannot_describe_is_refused, 0, 6);
	tcase_add_loop_test(tcase, each_function_that_fails_is_named, 0, 7);
	tcase_add_test(tcase, product_without_an_algorithm_is_unsupported);
	tcase_add_loop_test(tcase, library_that_cannot_be_used_is_named, 0, 4);
	tcase_add_test(tcase, probe_says_which_named_library_cannot_be_read);
	tcase_add_loop_test(tcase, k08_plan_of_something_else_is_stale, 0, 6);
	tcase_add_loop_test(tcase, missing_plan_or_workspace_is_refused, 0, 3);
	tcase_add_loop_test(tcase, a19_config_is_read_strictly, 0, 12);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
