/* SPDX-License-Identifier: MIT */
/* attention/decode of the reference against numbers made here. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/guarded.h"
#include "tests/support/subject.h"
#include "tests/support/suite.h"

/* The tolerance of lib/families/attention.decode.json for f32. */
static const double tolerance = 1e-5;

enum { BATCH = 3 };

struct shape {
	int64_t h, hkv, d, page, max_pages;
	int32_t lens[BATCH];
};

static const struct shape shapes[] = {
	{1, 1, 1, 1, 1, {1, 1, 1}},
	{6, 2, 33, 5, 6, {1, 29, 30}},	/* groups of 3, ragged */
	{7, 7, 17, 3, 7, {21, 5, 4}},	/* no groups, odd extents */
	{9, 1, 8, 16, 4, {64, 16, 17}}, /* one cache head, whole pages and one more */
	{4, 2, 8, 4, 2, {0, 8, 0}},	/* sequences of length 0 */
	{4, 2, 16, 8, 2, {0, 0, 0}},
};
enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

struct attention {
	struct shape shape;
	int64_t pages;
	struct guarded q, k, v, table, lens, out;
	double *expected;
	double scale;
	int64_t window;
};

static void attention_init(
	struct attention *t, const struct shape *shape, enum guarded_layout layout)
{
	const struct shape s = *shape;

	t->shape = s;
	t->pages = BATCH * s.max_pages + 2;
	t->scale = 0;
	t->window = 0;
	guarded_init(&t->q, KP_CODE_FLOAT, layout, 3, (int64_t[]){BATCH, s.h, s.d});
	guarded_init(&t->k, KP_CODE_FLOAT, (layout + 1) % GUARDED_LAYOUTS, 4,
		(int64_t[]){t->pages, s.page, s.hkv, s.d});
	guarded_init(&t->v, KP_CODE_FLOAT, (layout + 2) % GUARDED_LAYOUTS, 4,
		(int64_t[]){t->pages, s.page, s.hkv, s.d});
	guarded_init(&t->table, KP_CODE_INT, layout, 2, (int64_t[]){BATCH, s.max_pages});
	guarded_init(&t->lens, KP_CODE_INT, layout, 1, (int64_t[]){BATCH});
	guarded_init(&t->out, KP_CODE_FLOAT, layout, 3, (int64_t[]){BATCH, s.h, s.d});
	guarded_fill(&t->q, 8);
	guarded_fill(&t->k, 9);
	guarded_fill(&t->v, 10);
	/* Pages are dealt from the last; entries after the end would lead astray. */
	for (int64_t i = 0; i < BATCH * s.max_pages; i++) {
		bool used = i % s.max_pages * s.page < s.lens[i / s.max_pages];

		guarded_set_int(&t->table, i, used ? (int32_t)(t->pages - 1 - i) : -1);
	}
	for (int i = 0; i < BATCH; i++)
		guarded_set_int(&t->lens, i, s.lens[i]);
	t->expected = calloc((size_t)(BATCH * s.h * s.d), sizeof(double));
	ck_assert_ptr_nonnull(t->expected);
}

static void attention_finish(struct attention *t)
{
	guarded_finish(&t->q);
	guarded_finish(&t->k);
	guarded_finish(&t->v);
	guarded_finish(&t->table);
	guarded_finish(&t->lens);
	guarded_finish(&t->out);
	free(t->expected);
}

/* Element e of the key or value of a token. */
static double cached(const struct attention *t, const struct guarded *cache,
	int64_t sequence, int64_t token, int64_t head, int64_t e)
{
	const struct shape *s = &t->shape;
	int64_t page = t->pages - 1 - (sequence * s->max_pages + token / s->page);

	return guarded_get(cache,
		((page * s->page + token % s->page) * s->hkv + head / (s->h / s->hkv)) *
				s->d +
			e);
}

/* By the definition, without taking the greatest score away: scores are small. */
static void expect_head(struct attention *t, int64_t sequence, int64_t head)
{
	const struct shape *s = &t->shape;
	int64_t row = (sequence * s->h + head) * s->d, length = s->lens[sequence];
	int64_t first = t->window && t->window < length ? length - t->window : 0;
	double scale = t->scale ? t->scale : pow((double)s->d, -0.5), total = 0;

	for (int64_t token = first; token < length; token++) {
		double score = 0, weight;

		for (int64_t e = 0; e < s->d; e++)
			score += guarded_get(&t->q, row + e) *
				 cached(t, &t->k, sequence, token, head, e);
		weight = exp(score * scale);
		total += weight;
		for (int64_t e = 0; e < s->d; e++)
			t->expected[row + e] +=
				weight * cached(t, &t->v, sequence, token, head, e);
	}
	for (int64_t e = 0; e < s->d && total > 0; e++)
		t->expected[row + e] /= total;
}

static struct arguments attention_arguments(struct attention *t)
{
	struct arguments arguments = {
		.roles = {&t->q, &t->k, &t->v, &t->table, &t->lens, &t->out},
		.n_roles = 6,
		.attributes = {{.f = t->scale}, {.i = t->window}},
		.n_attributes = 2};

	return arguments;
}

static void judge(struct subject *subject, struct attention *t)
{
	struct arguments arguments = attention_arguments(t);

	for (int64_t sequence = 0; sequence < BATCH; sequence++)
		for (int64_t head = 0; head < t->shape.h; head++)
			expect_head(t, sequence, head);
	ck_assert_msg(
		subject_run(subject, &arguments) == KP_OK, "%s", subject->error.text);
	ck_assert(subject->workspace_intact);
	ck_assert(guarded_intact(&t->out));
	ck_assert_msg(guarded_distance(&t->out, t->expected) <= tolerance, "off by %g",
		guarded_distance(&t->out, t->expected));
}

static void judge_shape(const struct shape *shape, enum guarded_layout layout,
	double scale, int64_t window)
{
	struct subject subject;
	struct attention t;

	ck_assert(subject_open(&subject, "reference", "attention_decode"));
	attention_init(&t, shape, layout);
	t.scale = scale;
	t.window = window;
	judge(&subject, &t);
	attention_finish(&t);
	subject_close(&subject);
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

START_TEST(k02_attention_of_length_0_is_zero)
{
	struct shape shape = shapes[1];

	memset(shape.lens, 0, sizeof(shape.lens));
	for (int i = 0; i < BATCH; i++) {
		judge_shape(&shape, GUARDED_ROWS, 0, 0);
		judge_shape(&shape, GUARDED_SPREAD, 0, 4);
		shape.lens[i] = 3;
	}
}
END_TEST

/* An extent of 0 in every dim that an output has, and a cache without a page. */
START_TEST(k02_attention_of_nothing_writes_nothing)
{
	struct subject subject;

	ck_assert(subject_open(&subject, "reference", "attention_decode"));
	for (int dim = 0; dim < 3; dim++) {
		struct attention t;
		struct arguments arguments;

		attention_init(&t, &shapes[1], GUARDED_ROWS);
		arguments = attention_arguments(&t);
		t.q.shape[dim] = t.out.shape[dim] = 0;
		if (dim == 0)
			t.table.shape[0] = t.lens.shape[0] = 0;
		if (dim == 1)
			t.k.shape[2] = t.v.shape[2] = 0;
		if (dim == 2)
			t.k.shape[3] = t.v.shape[3] = 0;
		ck_assert_int_eq(subject_run(&subject, &arguments), KP_OK);
		ck_assert(guarded_untouched(&t.out));
		attention_finish(&t);
	}
	subject_close(&subject);
}
END_TEST

/* Spoils one thing and expects these words; nothing may have been written. */
static void judge_refusal(void (*spoil)(struct attention *t), const char *words)
{
	struct subject subject;
	struct attention t;
	struct arguments arguments;

	ck_assert(subject_open(&subject, "reference", "attention_decode"));
	attention_init(&t, &shapes[1], GUARDED_ROWS);
	spoil(&t);
	arguments = attention_arguments(&t);
	ck_assert_int_eq(subject_run(&subject, &arguments), KP_INVALID);
	ck_assert_msg(
		strstr(subject.error.text, words) != NULL, "%s", subject.error.text);
	ck_assert(guarded_untouched(&t.out));
	attention_finish(&t);
	subject_close(&subject);
}

static void name_a_page_that_is_none(struct attention *t)
{
	guarded_set_int(&t->table, 0, (int32_t)t->pages);
}

static void name_a_negative_page(struct attention *t)
{
	guarded_set_int(&t->table, 0, -5);
}

static void exceed_the_pages(struct attention *t)
{
	guarded_set_int(&t->lens, 0, (int32_t)(t->shape.page * t->shape.max_pages) + 1);
}

static void make_a_length_negative(struct attention *t)
{
	guarded_set_int(&t->lens, 0, -1);
}

static void leave_a_head_over(struct attention *t)
{
	t->q.shape[1] = t->out.shape[1] = 5;
}

START_TEST(what_leads_out_of_the_cache_is_refused)
{
	judge_refusal(name_a_page_that_is_none, "page_table: page 20 of sequence 0");
	judge_refusal(name_a_negative_page, "page_table: page -5 of sequence 0");
	judge_refusal(exceed_the_pages, "lens: sequence 0 has 31 tokens");
	judge_refusal(make_a_length_negative, "lens: sequence 0 has -1 tokens");
	judge_refusal(leave_a_head_over, "5 heads are no multiple of 2");
}
END_TEST

START_TEST(workspace_that_is_too_small_is_refused)
{
	struct subject subject;
	struct attention t;
	struct arguments arguments;

	ck_assert(subject_open(&subject, "reference", "attention_decode"));
	attention_init(&t, &shapes[1], GUARDED_ROWS);
	arguments = attention_arguments(&t);
	arguments.withheld = 1;
	ck_assert_int_eq(subject_run(&subject, &arguments), KP_INVALID);
	ck_assert_ptr_nonnull(strstr(subject.error.text, "workspace"));
	ck_assert(guarded_untouched(&t.out));
	attention_finish(&t);
	subject_close(&subject);
}
END_TEST

START_TEST(need_never_falls_as_a_dim_grows)
{
	static const struct shape growing[] = {{2, 1, 4, 2, 2, {0}}, {4, 1, 4, 2, 2, {0}},
		{4, 2, 4, 2, 2, {0}}, {4, 2, 9, 2, 2, {0}}, {4, 2, 9, 5, 2, {0}},
		{4, 2, 9, 5, 8, {0}}};
	struct subject subject;
	uint64_t before = 0;

	ck_assert(subject_open(&subject, "reference", "attention_decode"));
	for (size_t i = 0; i < sizeof(growing) / sizeof(growing[0]); i++) {
		struct attention t;
		struct arguments arguments;

		attention_init(&t, &growing[i], GUARDED_ROWS);
		arguments = attention_arguments(&t);
		ck_assert_uint_ge(subject_need(&subject, &arguments), before);
		before = subject_need(&subject, &arguments);
		attention_finish(&t);
	}
	ck_assert_uint_gt(before, 0);
	subject_close(&subject);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plugin_attention");
	TCase *tcase = tcase_create("attention_decode");

	tcase_add_loop_test(tcase, grouped_heads_and_ragged_lengths_are_right, 0, SHAPES);
	tcase_add_loop_test(tcase, k03_strided_attention_is_right, 0, SHAPES);
	tcase_add_loop_test(tcase, scale_is_taken_from_the_call, 0, SHAPES);
	tcase_add_loop_test(tcase, window_counts_the_last_tokens_only, 0, SHAPES);
	tcase_add_test(tcase, k02_attention_of_length_0_is_zero);
	tcase_add_test(tcase, k02_attention_of_nothing_writes_nothing);
	tcase_add_test(tcase, what_leads_out_of_the_cache_is_refused);
	tcase_add_test(tcase, workspace_that_is_too_small_is_refused);
	tcase_add_test(tcase, need_never_falls_as_a_dim_grows);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
