/* SPDX-License-Identifier: MIT */
/* The cuda plugin's host half when the driver refuses: statuses, words, nothing leaked.
 */
#include <check.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/gpu.h"
#include "tests/support/suite.h"

static const char *const kernels[] = {"activation_silu_mul", "attention_decode",
	"elementwise_square", "gemm_mm_cublaslt", "gemm_mm_mma", "gemm_mm_tiled",
	"norm_rms", "norm_softmax"};
enum { KERNELS = sizeof(kernels) / sizeof(kernels[0]), OWN = 5 };

static void has_text(const struct gpu *gpu, const char *part)
{
	ck_assert_msg(strstr(gpu->subject.error.text, part) != NULL,
		"\"%s\" is not in \"%s\"", part, gpu->subject.error.text);
}

static int available(struct gpu *gpu)
{
	memset(&gpu->subject.error, 0, sizeof(gpu->subject.error));
	gpu->subject.error.size = sizeof(gpu->subject.error);
	return gpu->subject.kernel->available(NULL, &gpu->subject.error);
}

static unsigned calls(const struct gpu *gpu, const char *name)
{
	unsigned (*count)(const char *) = gpu_function(gpu, "fake_cuda_calls");

	return count(name);
}

START_TEST(probe_finds_a_device_and_makes_no_context)
{
	struct gpu gpu;

	gpu_begin(&gpu, kernels[_i]);
	ck_assert_int_eq(available(&gpu), KP_OK);
	ck_assert_uint_eq(calls(&gpu, "cuDevicePrimaryCtxRetain"), 0);
	ck_assert_uint_eq(calls(&gpu, "cuCtxSetCurrent"), 0);
	ck_assert_uint_eq(calls(&gpu, "cuCtxGetCurrent"), 0);
	ck_assert_uint_eq(calls(&gpu, "cuModuleLoadData"), 0);
	gpu_close(&gpu);
}
END_TEST

START_TEST(probe_says_what_is_missing)
{
	static const struct {
		const char *variable, *value;
		long native;
		const char *text;
	} rows[] = {
		{"KP_FAKE_CUDA_DEVICES", "0", 100,
			"cuInit: CUDA_ERROR_NO_DEVICE (100): no CUDA-capable device is "
			"detected"},
		{"KP_FAKE_CUDA_VERSION", "11080", 11080,
			"the driver is for CUDA 11.8; this plugin needs one for CUDA "
			"12.4 or later"},
		{"KP_FAKE_CUDA_FAIL", "cuInit:1:803", 803,
			"cuInit: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803): system has "
			"unsupported"},
		{"KP_FAKE_CUDA_FAIL", "cuInit:1:999", 999,
			"cuInit: CUDA_ERROR_UNKNOWN (999): unknown error"},
		{"KP_FAKE_CUDA_FAIL", "cuInit:1:34", 34, "CUDA_ERROR_STUB_LIBRARY"},
		{"KP_FAKE_CUDA_FAIL", "cuDriverGetVersion:1:1", 1,
			"cuDriverGetVersion: CUDA_ERROR_INVALID_VALUE (1): invalid "
			"argument"},
		{"KP_FAKE_CUDA_FAIL", "cuDeviceGetCount:1:3", 3,
			"cuDeviceGetCount: CUDA_ERROR_NOT_INITIALIZED (3)"},
		{"KP_FAKE_CUDA_FAIL", "cuDeviceGetCount:1:12345", 12345,
			"cuDeviceGetCount: an unknown error (12345): the driver has no "
			"text for it"},
	};
	struct gpu gpu;

	ck_assert_int_lt(_i, (int)(sizeof(rows) / sizeof(rows[0])));
	gpu_begin(&gpu, "norm_rms");
	gpu_set(&gpu, rows[_i].variable, rows[_i].value);
	ck_assert_int_eq(available(&gpu), KP_UNAVAILABLE);
	ck_assert_int_eq(gpu.subject.error.status, KP_UNAVAILABLE);
	ck_assert_int_eq(gpu.subject.error.native_code, rows[_i].native);
	has_text(&gpu, rows[_i].text);
	gpu_close(&gpu);
}
END_TEST

START_TEST(probe_for_a_processor_is_unavailable)
{
	const struct kp_device cpu = {KP_SIZED(struct kp_device), .type = KP_DEVICE_CPU};
	struct gpu gpu;

	gpu_begin(&gpu, kernels[_i]);
	ck_assert_int_eq(
		gpu.subject.kernel->available(&cpu, &gpu.subject.error), KP_UNAVAILABLE);
	has_text(&gpu, "a CUDA device is needed");
	gpu_close(&gpu);
}
END_TEST

START_TEST(load_without_a_context_is_refused)
{
	struct gpu gpu;
	int (*init)(unsigned);

	gpu_begin(&gpu, kernels[_i]);
	init = gpu_function(&gpu, "cuInit");
	ck_assert_int_eq(init(0), 0);
	ck_assert_int_eq(gpu_load(&gpu), KP_INVALID);
	has_text(&gpu, "no CUDA context is current");
	ck_assert_ptr_null(gpu.subject.device_state);
	gpu_close(&gpu);
}
END_TEST

START_TEST(load_on_another_arch_is_unsupported)
{
	static const char *const archs[] = {"8.0", "8.6", "8.9"};

	for (size_t i = 0; i < sizeof(archs) / sizeof(archs[0]); i++) {
		struct gpu gpu;

		setenv("KP_FAKE_CUDA_ARCH", archs[i], 1);
		ck_assert(!gpu_open(&gpu, kernels[_i]));
		ck_assert_int_eq(gpu.subject.error.status, KP_UNSUPPORTED);
		ck_assert_int_eq(gpu.subject.error.native_code, 209);
		has_text(&gpu, "loading the kernels: CUDA_ERROR_NO_BINARY_FOR_GPU (209)");
		gpu_close(&gpu);
		unsetenv("KP_FAKE_CUDA_ARCH");
	}
}
END_TEST

START_TEST(load_on_a_later_arch_takes_the_text_form)
{
	static const char *const archs[] = {"9.0", "10.0", "12.0"};
	struct gpu gpu;

	setenv("KP_FAKE_CUDA_ARCH", archs[_i], 1);
	ck_assert_msg(gpu_open(&gpu, "gemm_mm_mma"), "%s", gpu.subject.error.text);
	gpu_close(&gpu);
}
END_TEST

/* Each function that load calls fails in its turn, at each of its calls. */
START_TEST(failed_load_leaves_nothing)
{
	static const struct {
		const char *function;
		int code, status;
	} rows[] = {
		{"cuCtxGetCurrent", 3, KP_RUNTIME},
		{"cuCtxGetDevice", 201, KP_INVALID},
		{"cuDeviceGetAttribute", 1, KP_INVALID},
		{"cuDeviceGetAttribute", 719, KP_DEVICE_LOST},
		{"cuModuleLoadData", 2, KP_NO_MEMORY},
		{"cuModuleLoadData", 200, KP_UNSUPPORTED},
		{"cuModuleLoadData", 209, KP_UNSUPPORTED},
		{"cuModuleLoadData", 222, KP_UNSUPPORTED},
		{"cuModuleLoadData", 700, KP_DEVICE_LOST},
		{"cuModuleGetFunction", 500, KP_RUNTIME},
		{"cuModuleGetFunction", 2, KP_NO_MEMORY},
		{"cuFuncSetAttribute", 1, KP_INVALID},
	};
	unsigned failures = 0;

	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++)
		for (int at = 1; at < 40; at++) {
			struct gpu gpu;
			char fail[96];

			snprintf(fail, sizeof(fail), "%s:%d:%d", rows[r].function, at,
				rows[r].code);
			setenv("KP_FAKE_CUDA_FAIL", fail, 1);
			bool loaded = gpu_open(&gpu, kernels[_i]);

			if (!loaded) {
				failures++;
				ck_assert_int_eq(
					gpu.subject.error.status, rows[r].status);
				ck_assert_int_eq(
					gpu.subject.error.native_code, rows[r].code);
				ck_assert_ptr_null(gpu.subject.device_state);
			}
			unsetenv("KP_FAKE_CUDA_FAIL");
			/* A lost device frees nothing; the others must leave nothing. */
			if (rows[r].status == KP_DEVICE_LOST)
				gpu_set(&gpu, "KP_FAKE_CUDA_FAIL", NULL);
			gpu_close(&gpu);
			if (loaded)
				break;
		}
	ck_assert_uint_ge(failures, 4);
}
END_TEST

/* A call of each kernel, small and aligned. */
static void make_arguments(
	const char *kernel, struct guarded roles[6], struct arguments *arguments)
{
	static const struct {
		const char *kernel, *ranks;
		int64_t extents[6][4];
	} all[] = {
		{"activation_silu_mul", "222", {{4, 8}, {4, 8}, {4, 8}}},
		{"attention_decode", "344213",
			{{1, 2, 8}, {20, 16, 1, 8}, {20, 16, 1, 8}, {1, 16}, {1},
				{1, 2, 8}}},
		{"elementwise_square", "11", {{64}, {64}}},
		{"gemm_mm", "222", {{16, 8}, {8, 24}, {16, 24}}},
		{"norm_rms", "212", {{4, 8}, {8}, {4, 8}}},
		{"norm_softmax", "22", {{4, 8}, {4, 8}}},
	};

	memset(arguments, 0, sizeof(*arguments));
	for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++) {
		if (strncmp(kernel, all[k].kernel, strlen(all[k].kernel)) != 0)
			continue;
		for (uint32_t i = 0; all[k].ranks[i]; i++) {
			bool index =
				strcmp(all[k].ranks, "344213") == 0 && (i == 3 || i == 4);

			guarded_init(&roles[i], index ? KP_CODE_INT : KP_CODE_BFLOAT,
				GUARDED_ROWS, all[k].ranks[i] - '0', all[k].extents[i]);
			for (int64_t e = 0; e < roles[i].count; e++)
				if (index)
					guarded_set_int(
						&roles[i], e, i == 4 ? 200 : (int32_t)e);
				else
					guarded_set(&roles[i], e, 1);
			arguments->roles[i] = &roles[i];
			arguments->n_roles = i + 1;
		}
	}
	ck_assert_uint_gt(arguments->n_roles, 0);
}

static void drop_arguments(struct guarded roles[6], const struct arguments *arguments)
{
	for (uint32_t i = 0; i < arguments->n_roles; i++)
		guarded_finish(&roles[i]);
}

START_TEST(failed_launch_is_told)
{
	static const struct {
		int code, status;
	} rows[] = {{1, KP_INVALID}, {2, KP_NO_MEMORY}, {201, KP_INVALID},
		{400, KP_INVALID}, {700, KP_DEVICE_LOST}, {701, KP_RUNTIME},
		{714, KP_DEVICE_LOST}, {715, KP_DEVICE_LOST}, {716, KP_DEVICE_LOST},
		{719, KP_DEVICE_LOST}, {214, KP_DEVICE_LOST}, {999, KP_RUNTIME}};
	struct guarded roles[6];
	struct arguments arguments;

	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++)
		for (int at = 1; at <= (strcmp(kernels[_i], "attention_decode") ? 1 : 2);
			at++) {
			struct gpu gpu;
			char fail[64];

			if (strcmp(kernels[_i], "gemm_mm_cublaslt") == 0)
				continue;
			make_arguments(kernels[_i], roles, &arguments);
			snprintf(fail, sizeof(fail), "cuLaunchKernel:%d:%d", at,
				rows[r].code);
			setenv("KP_FAKE_CUDA_FAIL", fail, 1);
			ck_assert(gpu_open(&gpu, kernels[_i]));
			ck_assert_int_eq(
				gpu_run(&gpu, &arguments, GPU_ALIGNED), rows[r].status);
			ck_assert_int_eq(gpu.subject.error.status, rows[r].status);
			ck_assert_int_eq(gpu.subject.error.native_code, rows[r].code);
			has_text(&gpu, "cuLaunchKernel: ");
			gpu_set(&gpu, "KP_FAKE_CUDA_FAIL", NULL);
			drop_arguments(roles, &arguments);
			gpu_close(&gpu);
		}
}
END_TEST

/* gpu_run ends the test when run calls anything but what enqueues. */
START_TEST(recorded_calls_are_replayed)
{
	struct guarded roles[6];
	struct arguments arguments;
	struct gpu gpu;

	make_arguments(kernels[_i], roles, &arguments);
	ck_assert_msg(gpu_open(&gpu, kernels[_i]), "%s", gpu.subject.error.text);
	ck_assert_int_eq(gpu_run(&gpu, &arguments, GPU_ALIGNED | GPU_CAPTURED), KP_OK);
	ck_assert_uint_ge(gpu.launches, 1);
	ck_assert(!guarded_untouched(&roles[arguments.n_roles - 1]));
	ck_assert(guarded_intact(&roles[arguments.n_roles - 1]));
	drop_arguments(roles, &arguments);
	gpu_close(&gpu);
}
END_TEST

/* What a test above would not see: threads in another order, results to the last bit. */
START_TEST(threads_in_another_order_give_the_same_bits)
{
	struct guarded roles[2][6];
	struct arguments arguments[2];

	for (int turn = 0; turn < 2; turn++) {
		struct gpu gpu;

		if (turn == 1)
			setenv("KP_FAKE_CUDA_ORDER", "reverse", 1);
		make_arguments(kernels[_i], roles[turn], &arguments[turn]);
		for (int64_t e = 0; e < roles[turn][0].count; e++)
			guarded_set(&roles[turn][0], e, (double)(e * 37 % 101) / 50 - 1);
		ck_assert(gpu_open(&gpu, kernels[_i]));
		ck_assert_int_eq(gpu_run(&gpu, &arguments[turn], GPU_ALIGNED), KP_OK);
		gpu_close(&gpu);
	}
	const struct guarded *out = &roles[0][arguments[0].n_roles - 1];

	for (int64_t e = 0; e < out->count; e++)
		ck_assert(guarded_get(out, e) ==
			  guarded_get(&roles[1][arguments[1].n_roles - 1], e));
	drop_arguments(roles[0], &arguments[0]);
	drop_arguments(roles[1], &arguments[1]);
}
END_TEST

START_TEST(run_says_that_load_was_not_called)
{
	struct guarded roles[6];
	struct arguments arguments;
	struct gpu gpu;
	void *device_state;

	make_arguments(kernels[_i], roles, &arguments);
	ck_assert(gpu_open(&gpu, kernels[_i]));
	device_state = gpu.subject.device_state;
	gpu.subject.device_state = NULL;
	ck_assert_int_eq(gpu_run(&gpu, &arguments, GPU_ALIGNED), KP_INVALID);
	has_text(&gpu, "load was not called");
	gpu.subject.device_state = device_state;
	drop_arguments(roles, &arguments);
	gpu_close(&gpu);
}
END_TEST

/* The numbers of a call that was refused by name. */
START_TEST(k01_role_that_does_not_fit_is_named)
{
	struct guarded roles[6];
	struct arguments arguments;
	struct gpu gpu;

	make_arguments("gemm_mm_tiled", roles, &arguments);
	ck_assert(gpu_open(&gpu, "gemm_mm_tiled"));
	if (_i == 0) {
		roles[1].shape[0] = 9;
		ck_assert_int_eq(gpu_run(&gpu, &arguments, GPU_ALIGNED), KP_INVALID);
		has_text(&gpu, "b: dim k is 9, not 8");
	} else if (_i == 1) {
		roles[2].tensor.dtype = (struct kp_dtype){KP_CODE_INT, 16, 1};
		ck_assert_int_eq(gpu_run(&gpu, &arguments, GPU_ALIGNED), KP_UNSUPPORTED);
		has_text(&gpu, "c: only f32 or bf16 is supported");
	} else {
		arguments.roles[0] = NULL;
		ck_assert_int_eq(gpu_run(&gpu, &arguments, GPU_ALIGNED), KP_INVALID);
		has_text(&gpu, "a: missing");
	}
	ck_assert_uint_eq(gpu.launches, 0);
	drop_arguments(roles, &arguments);
	gpu_close(&gpu);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cuda_driver");
	TCase *tcase = tcase_create("driver");

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, probe_finds_a_device_and_makes_no_context, 0, KERNELS);
	tcase_add_loop_test(tcase, probe_says_what_is_missing, 0, 8);
	tcase_add_loop_test(tcase, probe_for_a_processor_is_unavailable, 0, KERNELS);
	tcase_add_loop_test(tcase, load_without_a_context_is_refused, 0, KERNELS);
	tcase_add_loop_test(tcase, load_on_another_arch_is_unsupported, OWN, KERNELS);
	tcase_add_loop_test(tcase, load_on_a_later_arch_takes_the_text_form, 0, 3);
	tcase_add_loop_test(tcase, failed_load_leaves_nothing, 0, KERNELS);
	tcase_add_loop_test(tcase, failed_launch_is_told, 0, KERNELS);
	tcase_add_loop_test(tcase, recorded_calls_are_replayed, 0, KERNELS);
	tcase_add_loop_test(
		tcase, threads_in_another_order_give_the_same_bits, 0, KERNELS);
	tcase_add_loop_test(tcase, run_says_that_load_was_not_called, 0, KERNELS);
	tcase_add_loop_test(tcase, k01_role_that_does_not_fit_is_named, 0, 3);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
