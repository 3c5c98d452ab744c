/* SPDX-License-Identifier: MIT */
/* attention/decode of x86, each of its kernels, against numbers made here. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/guarded.h"
#include "tests/support/oracle.h"
#include "tests/support/subject.h"
#include "tests/support/suite.h"

enum { BATCH = 3, ROLES = 6, TYPES = 2 };
enum { Q, K, V, TABLE, LENS, OUT };

static const char *const kernels[] = {"attention_decode"};
enum { KERNELS = sizeof(kernels) / sizeof(kernels[0]) };

static const uint8_t types[TYPES] = {KP_CODE_FLOAT, KP_CODE_BFLOAT};
/* Sums are floats; a result of bf16 is rounded once. */
static const double tolerances[TYPES] = {2e-6, 0x1p-8};

struct shape {
	int64_t h, hkv, d, page, max_pages;
	int32_t lens[BATCH];
};

static const struct shape shapes[] = {
	{1, 1, 1, 1, 1, {1, 1, 1}},
	{6, 2, 33, 5, 6, {1, 29, 30}},	    /* groups of 3, ragged */
	{7, 7, 17, 3, 7, {21, 5, 4}},	    /* no groups, odd extents */
	{9, 1, 64, 16, 4, {64, 16, 17}},    /* one cache head, whole pages and one more */
	{4, 2, 8, 4, 2, {0, 8, 0}},	    /* sequences of length 0 */
	{8, 2, 128, 16, 12, {192, 0, 100}}, /* several blocks, groups of a whole tile */
	{10, 2, 40, 7, 20, {129, 33, 31}},  /* groups of 5, around a block */
	{4, 2, 16, 8, 2, {0, 0, 0}},
};
enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

struct attention {
	struct shape shape;
	int64_t pages;
	struct guarded roles[ROLES];
	struct arguments arguments;
	double tolerance;
};

/* Pages are dealt from the last; entries after the end would lead astray. */
static void fill_table(struct attention *t)
{
	const struct shape *s = &t->shape;

	for (int64_t i = 0; i < BATCH * s->max_pages; i++) {
		bool used = i % s->max_pages * s->page < s->lens[i / s->max_pages];

		guarded_set_int(&t->roles[TABLE], i,
			used ? (int32_t)(t->pages - 1 - i) : INT32_MIN + 7);
	}
	for (int i = 0; i < BATCH; i++)
		guarded_set_int(&t->roles[LENS], i, s->lens[i]);
}

static void attention_init(struct attention *t, const struct shape *shape, int type,
	enum guarded_layout layout)
{
	const struct shape s = *shape;
	uint8_t code = types[type];
	enum guarded_layout second = (layout + 1) % GUARDED_LAYOUTS;

	*t = (struct attention){.shape = s, .pages = BATCH * s.max_pages + 2};
	t->tolerance = tolerances[type];
	guarded_init(&t->roles[Q], code, layout, 3, (int64_t[]){BATCH, s.h, s.d});
	guarded_init(
		&t->roles[K], code, second, 4, (int64_t[]){t->pages, s.page, s.hkv, s.d});
	guarded_init(
		&t->roles[V], code, layout, 4, (int64_t[]){t->pages, s.page, s.hkv, s.d});
	guarded_init(&t->roles[TABLE], KP_CODE_INT, layout, 2,
		(int64_t[]){BATCH, s.max_pages});
	guarded_init(&t->roles[LENS], KP_CODE_INT, layout, 1, (int64_t[]){BATCH});
	guarded_init(&t->roles[OUT], code, second, 3, (int64_t[]){BATCH, s.h, s.d});
	for (int i = Q; i <= V; i++)
		guarded_fill(&t->roles[i], 20 + (uint64_t)i);
	fill_table(t);
	for (int i = 0; i < ROLES; i++)
		t->arguments.roles[i] = &t->roles[i];
	t->arguments.n_roles = ROLES;
	t->arguments.n_attributes = 2;
}

static void attention_finish(struct attention *t)
{
	for (int i = 0; i < ROLES; i++)
		guarded_finish(&t->roles[i]);
}

static void judge(struct subject *subject, struct attention *t)
{
	const struct kp_tensor *tensors[ROLES];
	double *expected;

	for (int i = 0; i < ROLES; i++)
		tensors[i] = &t->roles[i].tensor;
	expected = oracle_compute(
		"attention/decode", tensors, ROLES, t->arguments.attributes);
	ck_assert_msg(
		subject_run(subject, &t->arguments) == KP_OK, "%s", subject->error.text);
	ck_assert(subject->workspace_intact);
	ck_assert(guarded_intact(&t->roles[OUT]));
	ck_assert_msg(guarded_distance(&t->roles[OUT], expected) <= t->tolerance,
		"off by %g", guarded_distance(&t->roles[OUT], expected));
	free(expected);
}

/* Every kernel, both types. */
static void judge_shape(const struct shape *shape, enum guarded_layout layout,
	double scale, int64_t window)
{
	for (int i = 0; i < KERNELS * TYPES; i++) {
		struct subject subject;
		struct attention t;

		if (subject_open(&subject, "x86", kernels[i / TYPES])) {
			attention_init(&t, shape, i % TYPES, layout);
			t.arguments.attributes[0].f = scale;
			t.arguments.attributes[1].i = window;
			judge(&subject, &t);
			attention_finish(&t);
		}
		subject_close(&subject);
	}
}

START_TEST(grouped_heads_and_ragged_lengths_are_right)
{
	judge_shape(&shapes[_i], GUARDED_ROWS, 0, 0);
}
END_TEST

START_TEST(k03_strided_attention_is_right)
{
	for (int layout = 0; layout < GUARDED_LAYOUTS; layout++)
		judge_shape(&shapes[_i], layout, 0, 0);
}
END_TEST

START_TEST(scale_is_taken_from_the_call)
{
	judge_shape(&shapes[_i], GUARDED_ROWS, 0.01, 0);
	judge_shape(&shapes[_i], GUARDED_ROWS, -0.5, 0);
	judge_shape(&shapes[_i], GUARDED_ROWS, 2, 0);
}
END_TEST

START_TEST(window_counts_the_last_tokens_only)
{
	judge_shape(&shapes[_i], GUARDED_ROWS, 0, 1);
	judge_shape(&shapes[_i], GUARDED_ROWS, 0, 6);
	judge_shape(&shapes[_i], GUARDED_ROWS, 0, 1000);
}
END_TEST

/* Spoils one thing and expects these words; nothing may have been written. */
static void judge_refusal(void (*spoil)(struct attention *t), const char *words)
{
	for (int kernel = 0; kernel < KERNELS; kernel++) {
		struct subject subject;
		struct attention t;

		if (subject_open(&subject, "x86", kernels[kernel])) {
			attention_init(&t, &shapes[1], 0, GUARDED_ROWS);
			spoil(&t);
			ck_assert_int_eq(subject_run(&subject, &t.arguments), KP_INVALID);
			ck_assert_msg(strstr(subject.error.text, words) != NULL, "%s",
				subject.error.text);
			ck_assert(guarded_untouched(&t.roles[OUT]));
			attention_finish(&t);
		}
		subject_close(&subject);
	}
}

static void name_a_page_that_is_none(struct attention *t)
{
	guarded_set_int(&t->roles[TABLE], 6, (int32_t)t->pages);
}

static void name_a_negative_page(struct attention *t)
{
	guarded_set_int(&t->roles[TABLE], 17, -5);
}

static void exceed_the_pages(struct attention *t)
{
	guarded_set_int(&t->roles[LENS], 2, 31);
}

static void make_a_length_negative(struct attention *t)
{
	guarded_set_int(&t->roles[LENS], 1, -1);
}

static void leave_a_head_over(struct attention *t)
{
	t->roles[Q].shape[1] = t->roles[OUT].shape[1] = 5;
}

static void withhold_workspace(struct attention *t)
{
	t->arguments.withheld = 1;
}

START_TEST(what_leads_out_of_the_cache_is_refused)
{
	judge_refusal(name_a_page_that_is_none, "page_table: page 20 of sequence 1");
	judge_refusal(name_a_negative_page, "page_table: page -5 of sequence 2");
	judge_refusal(exceed_the_pages, "lens: sequence 2 has 31 tokens");
	judge_refusal(make_a_length_negative, "lens: sequence 1 has -1 tokens");
	judge_refusal(leave_a_head_over, "5 heads are no multiple of 2");
	judge_refusal(withhold_workspace, "the workspace has");
}
END_TEST

START_TEST(need_never_falls_as_a_dim_grows)
{
	static const struct shape growing[] = {{2, 1, 4, 2, 2, {0}}, {4, 1, 4, 2, 2, {0}},
		{4, 2, 4, 2, 2, {0}}, {4, 2, 9, 2, 2, {0}}, {4, 2, 33, 5, 2, {0}},
		{6, 2, 64, 5, 8, {0}}};
	struct subject subject;
	uint64_t before = 0;

	if (subject_open(&subject, "x86", kernels[_i])) {
		for (size_t i = 0; i < sizeof(growing) / sizeof(growing[0]); i++) {
			struct attention t;

			attention_init(&t, &growing[i], 0, GUARDED_ROWS);
			ck_assert_uint_ge(subject_need(&subject, &t.arguments), before);
			before = subject_need(&subject, &t.arguments);
			ck_assert_uint_gt(before, 0);
			attention_finish(&t);
		}
	}
	subject_close(&subject);
}
END_TEST

static int backwards(
	void *context, uint64_t n, int (*task)(void *arg, uint64_t i), void *arg)
{
	*(uint64_t *)context += n;
	while (n > 0)
		if (task(arg, --n) != KP_OK)
			return KP_RUNTIME;
	return KP_OK;
}

/* Tasks in another order, and each with only some of the cache heads. */
START_TEST(results_do_not_depend_on_threads)
{
	static const struct shape large = {16, 8, 64, 16, 20, {320, 7, 301}};
	uint64_t tasks = 0;
	struct kp_host host = {
		KP_SIZED(struct kp_host), .context = &tasks, .parallel_for = backwards};

	for (int type = 0; type < TYPES; type++) {
		struct subject subject;
		struct attention alone, shared;

		if (subject_open(&subject, "x86", kernels[0])) {
			attention_init(&alone, &large, type, GUARDED_ROWS);
			attention_init(&shared, &large, type, GUARDED_ROWS);
			judge(&subject, &alone);
			subject.host = &host;
			judge(&subject, &shared);
			ck_assert_uint_gt(tasks, 2);
			for (int64_t i = 0; i < alone.roles[OUT].count; i++)
				ck_assert(memcmp(guarded_at(&alone.roles[OUT], i),
						  guarded_at(&shared.roles[OUT], i),
						  alone.roles[OUT].bytes) == 0);
			attention_finish(&alone);
			attention_finish(&shared);
		}
		subject_close(&subject);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("x86_attention");
	TCase *tcase = tcase_create("attention_decode");

	tcase_add_loop_test(tcase, grouped_heads_and_ragged_lengths_are_right, 0, SHAPES);
	tcase_add_loop_test(tcase, k03_strided_attention_is_right, 0, SHAPES);
	tcase_add_loop_test(tcase, scale_is_taken_from_the_call, 0, SHAPES);
	tcase_add_loop_test(tcase, window_counts_the_last_tokens_only, 0, SHAPES);
	tcase_add_test(tcase, results_do_not_depend_on_threads);
	tcase_add_test(tcase, what_leads_out_of_the_cache_is_refused);
	tcase_add_loop_test(tcase, need_never_falls_as_a_dim_grows, 0, KERNELS);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
