/* SPDX-License-Identifier: MIT */
/* attention/decode of the cuda plugin against the reference, on the fake driver. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/gpu.h"
#include "tests/support/suite.h"

enum { BATCH_MOST = 5, ROLES = 6, OUT = 5, TABLE = 3, LENS = 4 };

struct shape {
	int64_t b, h, cache_heads, d, page, max_pages;
	int32_t lens[BATCH_MOST];
	int64_t window;
};

/* Widths of 2, 4 and 8 elements a lane; groups of 1 to 9; one part and several. */
static const struct shape shapes[] = {
	{1, 1, 1, 1, 1, 1, {1}, 0},
	{3, 6, 2, 33, 5, 6, {5, 29, 30}, 0},
	{5, 7, 7, 17, 3, 7, {21, 5, 4, 1, 0}, 0},
	{2, 9, 1, 64, 16, 4, {64, 17}, 0},
	{4, 4, 2, 8, 4, 2, {0, 8, 0, 1}, 0},
	{3, 4, 2, 16, 8, 2, {0, 0, 0}, 0},
	{2, 8, 2, 128, 16, 32, {500, 131}, 0},
	{1, 16, 4, 128, 32, 16, {512}, 0},
	{2, 8, 1, 128, 16, 9, {140, 33}, 0},
	{2, 2, 1, 256, 16, 10, {160, 1}, 0},
	{1, 5, 1, 256, 7, 40, {277}, 0},
	{2, 3, 3, 200, 16, 10, {150, 31}, 0},
	{1, 4, 1, 96, 16, 40, {640}, 0},
	{3, 4, 2, 64, 16, 20, {320, 7, 100}, 30},
	{2, 2, 2, 32, 8, 64, {512, 3}, 257},
	{2, 2, 1, 128, 16, 1, {16, 5}, 1},
};
enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

struct scene {
	const struct shape *shape;
	struct guarded roles[ROLES], expected;
	struct arguments arguments;
};

/* Pages are dealt from the last; entries after the end would lead astray. */
static void deal(struct scene *scene, int64_t pages)
{
	const struct shape *s = scene->shape;

	for (int64_t i = 0; i < s->b * s->max_pages; i++) {
		bool used = i % s->max_pages * s->page < s->lens[i / s->max_pages];

		guarded_set_int(&scene->roles[TABLE], i,
			used ? (int32_t)(pages - 1 - i) : INT32_MIN + 5);
	}
	for (int64_t i = 0; i < s->b; i++)
		guarded_set_int(&scene->roles[LENS], i, s->lens[i]);
}

static void scene_init(struct scene *scene, const struct shape *s, uint8_t code,
	enum guarded_layout layout)
{
	const int64_t pages = s->b * s->max_pages + 2;
	const int64_t extents[ROLES][GUARDED_RANK] = {{s->b, s->h, s->d},
		{pages, s->page, s->cache_heads, s->d},
		{pages, s->page, s->cache_heads, s->d}, {s->b, s->max_pages}, {s->b},
		{s->b, s->h, s->d}};
	const int ranks[ROLES] = {3, 4, 4, 2, 1, 3};

	memset(scene, 0, sizeof(*scene));
	scene->shape = s;
	for (int i = 0; i < ROLES; i++) {
		bool index = i == TABLE || i == LENS;

		guarded_init(&scene->roles[i], index ? KP_CODE_INT : code,
			layout == GUARDED_ROWS
				? layout
				: (enum guarded_layout)((layout + i) % GUARDED_LAYOUTS),
			ranks[i], extents[i]);
		if (!index && i != OUT)
			guarded_fill(&scene->roles[i], (uint64_t)i + 8);
		scene->arguments.roles[i] = &scene->roles[i];
	}
	guarded_init(&scene->expected, code, GUARDED_ROWS, ranks[OUT], extents[OUT]);
	scene->arguments.n_roles = ROLES;
	scene->arguments.n_attributes = 2;
	scene->arguments.attributes[1].i = s->window;
	deal(scene, pages);
}

static void scene_finish(struct scene *scene)
{
	for (int i = 0; i < ROLES; i++)
		guarded_finish(&scene->roles[i]);
	guarded_finish(&scene->expected);
}

static void expect(struct scene *scene)
{
	struct arguments arguments = scene->arguments;
	struct subject subject;

	arguments.roles[OUT] = &scene->expected;
	ck_assert(subject_open(&subject, "reference", "attention_decode"));
	ck_assert_int_eq(subject_run(&subject, &arguments), KP_OK);
	subject_close(&subject);
}

static void compare(struct scene *scene, const char *what)
{
	const struct guarded *out = &scene->roles[OUT];
	double *expected = calloc((size_t)out->count, sizeof(double));

	ck_assert_ptr_nonnull(expected);
	for (int64_t i = 0; i < out->count; i++)
		expected[i] = guarded_get(&scene->expected, i);
	double distance = guarded_distance(out, expected);

	ck_assert_msg(distance <= (out->bytes == 2 ? 2e-2 : 1e-5), "%s: off by %g", what,
		distance);
	ck_assert(guarded_intact(out));
	free(expected);
}

static void judge(const struct shape *shape, uint8_t code, enum guarded_layout layout,
	unsigned way, double scale)
{
	struct scene scene;
	struct gpu gpu;
	char what[128];

	snprintf(what, sizeof(what), "type %d layout %d way %u", code, layout, way);
	ck_assert_msg(gpu_open(&gpu, "attention_decode"), "%s", gpu.subject.error.text);
	scene_init(&scene, shape, code, layout);
	scene.arguments.attributes[0].f = scale;
	expect(&scene);
	int status = gpu_run(&gpu, &scene.arguments, way);

	ck_assert_msg(status == KP_OK, "%s: %d %s", what, status, gpu.subject.error.text);
	compare(&scene, what);
	scene_finish(&scene);
	gpu_close(&gpu);
}

START_TEST(f32_is_right)
{
	judge(&shapes[_i], KP_CODE_FLOAT, GUARDED_ROWS, GPU_ALIGNED, 0);
	judge(&shapes[_i], KP_CODE_FLOAT, GUARDED_ROWS, GPU_PLAIN, 0);
}
END_TEST

START_TEST(bf16_is_right)
{
	judge(&shapes[_i], KP_CODE_BFLOAT, GUARDED_ROWS, GPU_ALIGNED, 0);
	judge(&shapes[_i], KP_CODE_BFLOAT, GUARDED_ROWS, GPU_PLAIN, 0);
}
END_TEST

START_TEST(k03_any_strides_are_right)
{
	for (int layout = 1; layout < GUARDED_LAYOUTS; layout++)
		judge(&shapes[_i], KP_CODE_FLOAT, layout, GPU_ALIGNED, 0);
}
END_TEST

START_TEST(scale_is_what_the_call_says)
{
	judge(&shapes[_i], KP_CODE_FLOAT, GUARDED_ROWS, GPU_ALIGNED, 0.375);
	judge(&shapes[_i], KP_CODE_FLOAT, GUARDED_ROWS, GPU_ALIGNED, 3);
}
END_TEST

START_TEST(capture_replays_both_launches)
{
	judge(&shapes[_i], KP_CODE_BFLOAT, GUARDED_ROWS, GPU_ALIGNED | GPU_CAPTURED, 0);
}
END_TEST

/* Long tables of few sequences are split, and joined by a second launch. */
START_TEST(few_sequences_are_split)
{
	static const struct {
		int shape;
		unsigned launches;
	} rows[] = {{0, 1}, {4, 1}, {6, 2}, {7, 2}};
	struct scene scene;
	struct gpu gpu;

	ck_assert(gpu_open(&gpu, "attention_decode"));
	scene_init(&scene, &shapes[rows[_i].shape], KP_CODE_FLOAT, GUARDED_ROWS);
	ck_assert_int_eq(gpu_run(&gpu, &scene.arguments, GPU_ALIGNED), KP_OK);
	ck_assert_uint_eq(gpu.launches, rows[_i].launches);
	scene_finish(&scene);
	gpu_close(&gpu);
}
END_TEST

/* The host cannot read the table, and the device must not follow it out of the cache. */
START_TEST(page_that_is_none_spoils_its_own_sequence_only)
{
	static const int32_t wrong[] = {-1, INT32_MIN, 1000000, INT32_MAX};
	const struct shape *s = &shapes[6];
	struct scene scene;
	struct gpu gpu;

	ck_assert(gpu_open(&gpu, "attention_decode"));
	scene_init(&scene, s, KP_CODE_FLOAT, GUARDED_ROWS);
	expect(&scene);
	guarded_set_int(&scene.roles[TABLE], 2, wrong[_i]);
	ck_assert_int_eq(gpu_run(&gpu, &scene.arguments, GPU_ALIGNED), KP_OK);
	for (int64_t i = 0; i < s->b * s->h * s->d; i++) {
		float got = guarded_get(&scene.roles[OUT], i);

		if (i < s->h * s->d)
			ck_assert(isnan(got));
		else
			ck_assert_float_eq_tol(
				got, guarded_get(&scene.expected, i), 1e-4f);
	}
	scene_finish(&scene);
	gpu_close(&gpu);
}
END_TEST

START_TEST(length_beyond_the_table_is_cut_at_its_end)
{
	static const int32_t lens[] = {31, 1000, INT32_MAX};
	const struct shape *s = &shapes[1];
	struct scene scene;
	struct gpu gpu;

	ck_assert(gpu_open(&gpu, "attention_decode"));
	scene_init(&scene, s, KP_CODE_FLOAT, GUARDED_ROWS);
	expect(&scene);
	guarded_set_int(&scene.roles[LENS], 2, lens[_i]);
	ck_assert_int_eq(gpu_run(&gpu, &scene.arguments, GPU_ALIGNED), KP_OK);
	compare(&scene, "a length beyond the table");
	scene_finish(&scene);
	gpu_close(&gpu);
}
END_TEST

START_TEST(small_workspace_is_refused)
{
	struct scene scene;
	struct gpu gpu;

	ck_assert(gpu_open(&gpu, "attention_decode"));
	scene_init(&scene, &shapes[7], KP_CODE_FLOAT, GUARDED_ROWS);
	scene.arguments.withheld = 1;
	ck_assert_int_eq(gpu_run(&gpu, &scene.arguments, GPU_ALIGNED), KP_INVALID);
	ck_assert_ptr_nonnull(strstr(gpu.subject.error.text, "workspace"));
	ck_assert_uint_eq(gpu.launches, 0);
	scene_finish(&scene);
	gpu_close(&gpu);
}
END_TEST

START_TEST(heads_that_are_too_wide_or_uneven_are_refused)
{
	static const struct {
		struct shape shape;
		int status;
		const char *text;
	} rows[] = {
		{{1, 1, 1, 257, 4, 2, {3}, 0}, KP_UNSUPPORTED, "at most 256"},
		{{1, 3, 2, 8, 4, 2, {3}, 0}, KP_INVALID, "no multiple of 2 cache heads"},
	};
	struct scene scene;
	struct gpu gpu;
	struct kp_need need = {.size = sizeof(need)};
	const struct kp_tensor *tensors[ROLES];

	ck_assert(gpu_open(&gpu, "attention_decode"));
	scene_init(&scene, &rows[_i].shape, KP_CODE_FLOAT, GUARDED_ROWS);
	for (int i = 0; i < ROLES; i++)
		tensors[i] = &scene.roles[i].tensor;
	const struct kp_call call = {KP_SIZED(struct kp_call), .n_tensors = ROLES,
		.tensors = tensors, .device_state = gpu.subject.device_state,
		.error = &gpu.subject.error};

	ck_assert_int_eq(gpu.subject.kernel->need(&call, &need), rows[_i].status);
	ck_assert_int_eq(gpu.subject.kernel->run(&call), rows[_i].status);
	ck_assert_ptr_nonnull(strstr(gpu.subject.error.text, rows[_i].text));
	scene_finish(&scene);
	gpu_close(&gpu);
}
END_TEST

/* What was asked for is enough for every smaller shape: over a grid of them. */
START_TEST(k07_need_never_falls_as_a_dim_grows)
{
	static const int64_t steps[] = {0, 1, 2, 3, 5, 8, 17, 64, 200, 1025};
	enum { STEPS = sizeof(steps) / sizeof(steps[0]) };
	struct gpu gpu;

	ck_assert(gpu_open(&gpu, "attention_decode"));
	for (int dim = 0; dim < 5; dim++) {
		uint64_t before = 0;

		for (int i = 0; i < STEPS; i++) {
			int64_t at[] = {3, 4, 32, 16, 40};

			at[dim] = dim == 1   ? steps[i] * 4
				  : dim == 2 ? steps[i] % 257
					     : steps[i];
			int64_t q[] = {at[0], at[1], at[2]}, k[] = {9, at[3], 4, at[2]};
			int64_t table[] = {at[0], at[4]}, ones[] = {1, 1, 1, 1};
			struct kp_dtype f32 = {KP_CODE_FLOAT, 32, 1},
					i32 = {KP_CODE_INT, 32, 1};
			const struct kp_tensor roles[ROLES] = {
				{.ndim = 3, .dtype = f32, .shape = q, .strides = ones},
				{.ndim = 4, .dtype = f32, .shape = k, .strides = ones},
				{.ndim = 4, .dtype = f32, .shape = k, .strides = ones},
				{.ndim = 2,
					.dtype = i32,
					.shape = table,
					.strides = ones},
				{.ndim = 1,
					.dtype = i32,
					.shape = table,
					.strides = ones},
				{.ndim = 3, .dtype = f32, .shape = q, .strides = ones}};
			const struct kp_tensor *tensors[ROLES];
			struct kp_need need = {.size = sizeof(need)};

			for (int r = 0; r < ROLES; r++)
				tensors[r] = &roles[r];
			const struct kp_call call = {KP_SIZED(struct kp_call),
				.n_tensors = ROLES, .tensors = tensors,
				.error = &gpu.subject.error};

			if (dim == 2 && i == STEPS - 1)
				continue;
			ck_assert_int_eq(gpu.subject.kernel->need(&call, &need), KP_OK);
			ck_assert_uint_ge(need.workspace_bytes, before);
			before = need.workspace_bytes;
		}
	}
	gpu_close(&gpu);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cuda_attention");
	TCase *tcase = tcase_create("attention_decode");

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, f32_is_right, 0, SHAPES);
	tcase_add_loop_test(tcase, bf16_is_right, 0, SHAPES);
	tcase_add_loop_test(tcase, k03_any_strides_are_right, 0, SHAPES);
	tcase_add_loop_test(tcase, scale_is_what_the_call_says, 5, 9);
	tcase_add_loop_test(tcase, capture_replays_both_launches, 5, 8);
	tcase_add_loop_test(tcase, few_sequences_are_split, 0, 4);
	tcase_add_loop_test(tcase, page_that_is_none_spoils_its_own_sequence_only, 0, 4);
	tcase_add_loop_test(tcase, length_beyond_the_table_is_cut_at_its_end, 0, 3);
	tcase_add_test(tcase, small_workspace_is_refused);
	tcase_add_loop_test(tcase, heads_that_are_too_wide_or_uneven_are_refused, 0, 2);
	tcase_add_test(tcase, k07_need_never_falls_as_a_dim_grows);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
