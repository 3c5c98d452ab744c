/* SPDX-License-Identifier: MIT */
/*
 * Every kernel of the cuda plugin against the reference: the kernels' own source runs
 * on the CPU below the plugin's host half. No GPU and no nvcc is needed.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/gpu.h"
#include "tests/support/suite.h"

/* The tolerances of the families for f32 and bf16. */
static double tolerance(const struct guarded *out)
{
	return out->bytes == 2 ? 1e-2 : 1e-5;
}

enum { MOST = 6 };

/* An operation: which role is written, its roles' ranks and dims as letters. */
struct operation {
	const char *reference;
	int out;
	const char *dims[MOST];
	const char *indexes; /* roles of i32, as digits */
};

static const struct operation square = {"elementwise_square", 1, {"n", "n"}, ""};
static const struct operation silu = {"activation_silu_mul", 2, {"rn", "rn", "rn"}, ""};
static const struct operation rms = {"norm_rms", 2, {"rn", "n", "rn"}, ""};
static const struct operation softmax = {"norm_softmax", 1, {"rn", "rn"}, ""};
static const struct operation mm = {"gemm_mm", 2, {"mk", "kn", "mn"}, ""};

struct scene {
	const struct operation *operation;
	struct guarded roles[MOST], expected;
	struct arguments arguments;
	uint32_t absent; /* bits of roles that are not given */
};

static int64_t extent_of(const char *names, const int64_t *extents, char dim)
{
	return extents[strchr(names, dim) - names];
}

/* layouts[i] is of role i. */
static void scene_init(struct scene *scene, const struct operation *operation,
	uint8_t code, const char *names, const int64_t *extents, const int *layouts)
{
	memset(scene, 0, sizeof(*scene));
	scene->operation = operation;
	for (uint32_t i = 0; i < MOST && operation->dims[i]; i++) {
		int64_t shape[GUARDED_RANK] = {0};
		int rank = (int)strlen(operation->dims[i]);

		for (int d = 0; d < rank; d++)
			shape[d] = extent_of(names, extents, operation->dims[i][d]);
		guarded_init(&scene->roles[i], code, layouts[i], rank, shape);
		if ((int)i != operation->out)
			guarded_fill(&scene->roles[i], i + 1);
		else
			guarded_init(&scene->expected, code, GUARDED_ROWS, rank, shape);
		scene->arguments.roles[i] = &scene->roles[i];
		scene->arguments.n_roles = i + 1;
	}
}

static void scene_finish(struct scene *scene)
{
	for (int i = 0; i < MOST; i++)
		if (scene->operation->dims[i])
			guarded_finish(&scene->roles[i]);
	guarded_finish(&scene->expected);
}

/* What the reference makes of the same arguments. */
static void expect(struct scene *scene)
{
	struct arguments arguments = scene->arguments;
	struct subject subject;

	arguments.roles[scene->operation->out] = &scene->expected;
	ck_assert(subject_open(&subject, "reference", scene->operation->reference));
	ck_assert_int_eq(subject_run(&subject, &arguments), KP_OK);
	subject_close(&subject);
}

static void compare(struct scene *scene, const char *what, unsigned way)
{
	const struct guarded *out = &scene->roles[scene->operation->out];
	double *expected = calloc((size_t)out->count + 1, sizeof(double));

	ck_assert_ptr_nonnull(expected);
	for (int64_t i = 0; i < out->count; i++)
		expected[i] = guarded_get(&scene->expected, i);
	double distance = guarded_distance(out, expected);

	ck_assert_msg(
		distance <= tolerance(out), "%s, way %u: off by %g", what, way, distance);
	ck_assert_msg(
		guarded_intact(out), "%s, way %u: wrote between its elements", what, way);
	free(expected);
}

static void judge(struct gpu *gpu, struct scene *scene, const char *what, unsigned way)
{
	int status = gpu_run(gpu, &scene->arguments, way);

	ck_assert_msg(status == KP_OK, "%s, way %u: status %d: %s", what, way, status,
		gpu->subject.error.text);
	compare(scene, what, way);
}

static void open_or_fail(struct gpu *gpu, const char *kernel)
{
	ck_assert_msg(gpu_open(gpu, kernel), "%s", gpu->subject.error.text);
}

/* Each shape in both types, aligned and not, with rows and with every layout. */
static void sweep(const char *kernel, const struct operation *operation,
	const char *names, const int64_t (*shapes)[3], int count, bool all_layouts)
{
	static const uint8_t codes[] = {KP_CODE_FLOAT, KP_CODE_BFLOAT};
	struct gpu gpu;

	open_or_fail(&gpu, kernel);
	for (int s = 0; s < count; s++)
		for (int i = 0; i < 4; i++)
			for (int l = 0; l < (all_layouts ? GUARDED_LAYOUTS : 1); l++) {
				int layouts[MOST] = {l, (l + 1) % GUARDED_LAYOUTS,
					(l + 2) % GUARDED_LAYOUTS};
				struct scene scene;
				char what[128];

				if (l == 0)
					memset(layouts, 0, sizeof(layouts));
				snprintf(what, sizeof(what),
					"%s shape %d type %d layout %d", kernel, s, i / 2,
					l);
				scene_init(&scene, operation, codes[i / 2], names,
					shapes[s], layouts);
				expect(&scene);
				judge(&gpu, &scene, what,
					i % 2 ? GPU_ALIGNED : GPU_PLAIN);
				scene_finish(&scene);
			}
	gpu_close(&gpu);
}

#define SWEEP(kernel, operation, names, shapes, all)                                     \
	sweep(kernel, operation, names, shapes, sizeof(shapes) / sizeof(shapes[0]), all)

START_TEST(squares_are_right)
{
	static const int64_t shapes[][3] = {
		{1}, {2}, {7}, {33}, {1001}, {4096}, {16384 + 5}, {100003}, {0}};

	SWEEP("elementwise_square", &square, "n", shapes, true);
}
END_TEST

START_TEST(gates_are_right)
{
	static const int64_t shapes[][3] = {{1, 1}, {3, 7}, {5, 257}, {33, 31}, {4, 4096},
		{1, 14336}, {2, 16392}, {0, 8}, {4, 0}};

	SWEEP("activation_silu_mul", &silu, "rn", shapes, true);
}
END_TEST

/* By a warp (short rows), by a block, and longer than a block's registers hold. */
START_TEST(norms_are_right)
{
	static const int64_t shapes[][3] = {{1, 1}, {3, 7}, {5, 33}, {2, 1001}, {17, 64},
		{9, 256}, {3, 512}, {4, 4096}, {2, 8200}, {1, 40000}, {0, 16}, {4, 0}};

	SWEEP("norm_rms", &rms, "rn", shapes, true);
}
END_TEST

START_TEST(softmaxes_are_right)
{
	static const int64_t shapes[][3] = {{1, 1}, {5, 1}, {3, 7}, {2, 1025}, {31, 33},
		{65, 128}, {3, 2048}, {1, 32768}, {1, 40001}, {0, 8}, {4, 0}};

	SWEEP("norm_softmax", &softmax, "rn", shapes, true);
}
END_TEST

START_TEST(k02_products_by_tiles_are_right)
{
	static const int64_t shapes[][3] = {{1, 1, 1}, {1, 7, 3}, {5, 1, 17}, {7, 17, 33},
		{129, 31, 257}, {13, 47, 1}, {3, 5, 0}, {0, 5, 3}, {3, 0, 5}, {0, 0, 0},
		{65, 70, 16}, {64, 128, 31}};

	SWEEP("gemm_mm_tiled", &mm, "mnk", shapes, true);
}
END_TEST

/* More than a tile for each of the 132 processors: the large tiles are taken. */
START_TEST(large_products_by_tiles_are_right)
{
	static const int64_t shapes[][3] = {{128 * 11 + 3, 128 * 12 + 5, 19}};

	SWEEP("gemm_mm_tiled", &mm, "mnk", shapes, false);
}
END_TEST

/* Lines must start at 16 bytes: 8 elements. */
static const int64_t mma_shapes[][3] = {{1, 8, 8}, {64, 64, 32}, {72, 40, 24}, {8, 16, 8},
	{136, 72, 264}, {24, 200, 96}, {16, 8, 0}, {0, 8, 8}, {200, 128, 160}};

static void judge_mma(const int64_t *shape)
{
	struct gpu gpu;

	open_or_fail(&gpu, "gemm_mm_mma");
	for (int i = 0; i < 8; i++) {
		const int layouts[MOST] = {i & 1 ? GUARDED_COLUMNS : GUARDED_ROWS,
			i & 2 ? GUARDED_COLUMNS : GUARDED_ROWS,
			i & 4 ? GUARDED_PADDED : GUARDED_ROWS};
		struct scene scene;
		char what[128];

		/* A single row or column of a lies along both. */
		snprintf(what, sizeof(what), "%dx%dx%d layouts %d", (int)shape[0],
			(int)shape[1], (int)shape[2], i);
		if (layouts[0] == GUARDED_COLUMNS && shape[0] % 8)
			continue;
		scene_init(&scene, &mm, KP_CODE_BFLOAT, "mnk", shape, layouts);
		expect(&scene);
		judge(&gpu, &scene, what, GPU_ALIGNED);
		scene_finish(&scene);
	}
	gpu_close(&gpu);
}

START_TEST(products_by_matrix_instructions_are_right)
{
	judge_mma(mma_shapes[_i]);
}
END_TEST

START_TEST(large_products_by_matrix_instructions_are_right)
{
	const int64_t shape[] = {128 * 11 + 8, 128 * 12 + 16, 72};

	judge_mma(shape);
}
END_TEST

/* A step that tiles of 16 bytes cannot follow is refused in words. */
START_TEST(k03_matrix_instructions_refuse_what_is_not_aligned)
{
	static const struct {
		int layouts[MOST];
		unsigned way;
		const char *role;
	} rows[] = {
		{{GUARDED_ROWS, GUARDED_ROWS, GUARDED_ROWS}, GPU_PLAIN, "a: "},
		{{GUARDED_PADDED, GUARDED_ROWS, GUARDED_ROWS}, GPU_ALIGNED, "a: "},
		{{GUARDED_ROWS, GUARDED_SPREAD, GUARDED_ROWS}, GPU_ALIGNED, "b: "},
		{{GUARDED_ROWS, GUARDED_REVERSED, GUARDED_ROWS}, GPU_ALIGNED, "b: "},
	};
	const int64_t shape[] = {16, 16, 16};
	struct scene scene;
	struct gpu gpu;

	open_or_fail(&gpu, "gemm_mm_mma");
	scene_init(&scene, &mm, KP_CODE_BFLOAT, "mnk", shape, rows[_i].layouts);
	ck_assert_int_eq(gpu_run(&gpu, &scene.arguments, rows[_i].way), KP_UNSUPPORTED);
	ck_assert_int_eq(strncmp(gpu.subject.error.text, rows[_i].role, 3), 0);
	ck_assert_ptr_nonnull(strstr(gpu.subject.error.text, "16 bytes"));
	ck_assert_uint_eq(gpu.launches, 0);
	ck_assert(guarded_untouched(&scene.roles[2]));
	scene_finish(&scene);
	gpu_close(&gpu);
}
END_TEST

START_TEST(results_in_place_are_right)
{
	static const struct {
		const char *kernel;
		const struct operation *operation;
		int64_t extents[3];
	} rows[] = {{"elementwise_square", &square, {0, 1003}},
		{"activation_silu_mul", &silu, {5, 264}}, {"norm_rms", &rms, {3, 520}},
		{"norm_softmax", &softmax, {4, 36000}}};
	const int layouts[MOST] = {0};

	for (unsigned way = 0; way <= GPU_ALIGNED; way++) {
		struct scene scene;
		struct gpu gpu;
		int out = rows[_i].operation->out;

		open_or_fail(&gpu, rows[_i].kernel);
		scene_init(&scene, rows[_i].operation, KP_CODE_FLOAT, "rn",
			rows[_i].extents, layouts);
		expect(&scene);
		guarded_finish(&scene.roles[out]);
		guarded_init(&scene.roles[out], KP_CODE_FLOAT, GUARDED_ROWS,
			scene.expected.tensor.ndim, scene.expected.shape);
		guarded_fill(&scene.roles[out], 1);
		scene.arguments.roles[0] = &scene.roles[out];
		judge(&gpu, &scene, rows[_i].kernel, way);
		scene_finish(&scene);
		gpu_close(&gpu);
	}
}
END_TEST

START_TEST(k01_norm_without_weight_is_right)
{
	const int64_t extents[] = {5, 1032};
	const int layouts[MOST] = {0};

	for (unsigned way = 0; way <= GPU_ALIGNED; way++) {
		struct scene scene;
		struct gpu gpu;

		open_or_fail(&gpu, "norm_rms");
		scene_init(&scene, &rms, KP_CODE_BFLOAT, "rn", extents, layouts);
		scene.arguments.roles[1] = NULL;
		expect(&scene);
		judge(&gpu, &scene, "without weight", way);
		scene_finish(&scene);
		gpu_close(&gpu);
	}
}
END_TEST

/* -inf throughout is 0; an infinity or a number that is none spoils its own row only. */
START_TEST(softmax_of_odd_rows_is_as_the_reference_says)
{
	const int64_t extents[] = {6, 40};
	const int layouts[MOST] = {0};

	for (unsigned way = 0; way <= GPU_ALIGNED; way++) {
		struct scene scene;
		struct gpu gpu;

		open_or_fail(&gpu, "norm_softmax");
		scene_init(&scene, &softmax, KP_CODE_FLOAT, "rn", extents, layouts);
		for (int i = 0; i < 40; i++) {
			guarded_set(&scene.roles[0], 40 + i, -HUGE_VAL);
			guarded_set(&scene.roles[0], 120 + i, i == 7 ? NAN : -HUGE_VAL);
		}
		guarded_set(&scene.roles[0], 3, -HUGE_VAL);
		guarded_set(&scene.roles[0], 80 + 39, NAN);
		guarded_set(&scene.roles[0], 160 + 5, HUGE_VAL);
		expect(&scene);
		ck_assert_int_eq(gpu_run(&gpu, &scene.arguments, way), KP_OK);
		for (int i = 0; i < 240; i++) {
			float wanted = guarded_get(&scene.expected, i);
			float got = guarded_get(&scene.roles[1], i);

			ck_assert_msg(
				isnan(wanted) ? isnan(got) : fabsf(got - wanted) < 1e-6f,
				"element %d: %g, not %g", i, (double)got, (double)wanted);
		}
		scene_finish(&scene);
		gpu_close(&gpu);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cuda_kernels");
	TCase *tcase = tcase_create("kernels");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, squares_are_right);
	tcase_add_test(tcase, gates_are_right);
	tcase_add_test(tcase, norms_are_right);
	tcase_add_test(tcase, softmaxes_are_right);
	tcase_add_test(tcase, k02_products_by_tiles_are_right);
	tcase_add_test(tcase, large_products_by_tiles_are_right);
	tcase_add_loop_test(tcase, products_by_matrix_instructions_are_right, 0,
		sizeof(mma_shapes) / sizeof(mma_shapes[0]));
	tcase_add_test(tcase, large_products_by_matrix_instructions_are_right);
	tcase_add_loop_test(
		tcase, k03_matrix_instructions_refuse_what_is_not_aligned, 0, 4);
	tcase_add_loop_test(tcase, results_in_place_are_right, 0, 4);
	tcase_add_test(tcase, k01_norm_without_weight_is_right);
	tcase_add_test(tcase, softmax_of_odd_rows_is_as_the_reference_says);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
