/* SPDX-License-Identifier: MIT */
/*
 * The kernels of x86 that go over rows: numbers at the edge of what a float holds, and
 * results that do not depend on threads or on other rows.
 */
#include <check.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/guarded.h"
#include "tests/support/subject.h"
#include "tests/support/suite.h"

enum { TYPES = 2, MOST = 64, VARIANTS = 2 };

static const uint8_t types[TYPES] = {KP_CODE_FLOAT, KP_CODE_BFLOAT};
static const char *const variants[VARIANTS] = {"", "_avx512"};

static bool open_variant(struct subject *subject, const char *kernel, int variant)
{
	char name[64];

	(void)snprintf(name, sizeof(name), "%s%s", kernel, variants[variant]);
	return subject_open(subject, "x86", name);
}

/* One call on rows of `n` numbers: the inputs in order, then the output. */
struct call {
	struct guarded in[2], out;
	struct arguments arguments;
};

static void call_init(
	struct call *call, int type, int inputs, int64_t rows, int64_t n, double eps)
{
	memset(call, 0, sizeof(*call));
	for (int i = 0; i < inputs; i++) {
		guarded_init(
			&call->in[i], types[type], GUARDED_ROWS, 2, (int64_t[]){rows, n});
		guarded_fill(&call->in[i], 31 + (uint64_t)i);
		call->arguments.roles[i] = &call->in[i];
	}
	guarded_init(&call->out, types[type], GUARDED_ROWS, 2, (int64_t[]){rows, n});
	call->arguments.roles[inputs] = &call->out;
	call->arguments.n_roles = (uint32_t)inputs + 1;
	if (eps >= 0) { /* norm/rms: its second role is absent */
		call->arguments.roles[2] = &call->out;
		call->arguments.roles[1] = NULL;
		call->arguments.n_roles = 3;
		call->arguments.attributes[0].f = eps;
		call->arguments.n_attributes = 1;
	}
}

static void call_finish(struct call *call)
{
	for (int i = 0; i < 2; i++)
		if (call->in[i].memory)
			guarded_finish(&call->in[i]);
	guarded_finish(&call->out);
}

/*
 * Within float arithmetic, or half a unit of bf16 and the eighth of it that guessed
 * inverses are off by; what is smaller may become 0.
 */
static void judge_value(const char *what, float found, double expected, int type)
{
	double share = types[type] == KP_CODE_BFLOAT ? 0x1p-8 + 5e-4 : 1e-6;

	if (isnan(expected))
		ck_assert_msg(isnan(found), "%s: %g, not NaN", what, (double)found);
	else if (isinf(expected))
		ck_assert_msg((double)found == expected, "%s: %g", what, (double)found);
	else
		ck_assert_msg(fabs(found - expected) <= share * fabs(expected) + 2e-36,
			"%s: %.9g, not %.9g", what, (double)found, expected);
}

static const double gates[] = {0, -0.0, 1, -1, 0.001, 5, -5, 20, -20, -50, -80, -87, -88,
	-89, -100, -1000, 88, 89, 1000, 3e38, -3e38, 1e-40, -1e-40, INFINITY, -INFINITY,
	NAN};
enum { GATES = sizeof(gates) / sizeof(gates[0]) };

/* The formula of the family, whose -infinity / infinity is NaN. */
START_TEST(silu_mul_is_right_for_every_kind_of_gate)
{
	for (int i = 0; i < TYPES * VARIANTS; i++) {
		struct subject subject;
		struct call call;

		if (open_variant(&subject, "activation_silu_mul", i / TYPES)) {
			call_init(&call, i % TYPES, 2, 3, GATES, -1);
			for (int64_t j = 0; j < call.in[0].count; j++) {
				guarded_set(&call.in[0], j, gates[j % GATES]);
				guarded_set(&call.in[1], j, j < GATES ? 1 : -2);
			}
			ck_assert_int_eq(subject_run(&subject, &call.arguments), KP_OK);
			for (int64_t j = 0; j < call.in[0].count; j++) {
				double x = guarded_get(&call.in[0], j);

				judge_value("silu", guarded_get(&call.out, j),
					(float)(x / (1 + exp(-x)) * (j < GATES ? 1 : -2)),
					i % TYPES);
			}
			call_finish(&call);
		}
		subject_close(&subject);
	}
}
END_TEST

struct row {
	const char *what;
	double x[4];
	double expected[4];
};

static const struct row softmax_rows[] = {
	{"masked throughout", {-INFINITY, -INFINITY, -INFINITY, -INFINITY}, {0, 0, 0, 0}},
	{"masked but one", {-INFINITY, 5, -INFINITY, -INFINITY}, {0, 1, 0, 0}},
	{"huge", {3e38, 3e38, -3e38, -INFINITY}, {0.5, 0.5, 0, 0}},
	{"hugely negative", {-3e38, -3e38, -3e38, -3e38}, {0.25, 0.25, 0.25, 0.25}},
	{"small", {1e-40, -1e-40, 0, -0.0}, {0.25, 0.25, 0.25, 0.25}},
	{"far apart", {0, -104, -50, -1000}, {1, 0, 1.92874984796392e-22, 0}},
	{"infinite", {INFINITY, 0, 1, 2}, {NAN, NAN, NAN, NAN}},
	{"NaN first", {NAN, 0, 1, 2}, {NAN, NAN, NAN, NAN}},
	{"NaN last", {0, 1, 2, NAN}, {NAN, NAN, NAN, NAN}},
	{"NaN and masked", {-INFINITY, NAN, -INFINITY, -INFINITY}, {NAN, NAN, NAN, NAN}},
};
enum { SOFTMAX_ROWS = sizeof(softmax_rows) / sizeof(softmax_rows[0]) };

/* The four numbers alone, and at the places `step` apart of a row that is masked else. */
static void judge_softmax(
	struct subject *subject, int type, const struct row *row, int64_t n, int64_t step)
{
	struct call call;

	call_init(&call, type, 1, 1, n, -1);
	for (int64_t i = 0; i < n; i++)
		guarded_set(&call.in[0], i,
			i % step == 0 && i / step < 4 ? row->x[i / step] : -INFINITY);
	ck_assert_int_eq(subject_run(subject, &call.arguments), KP_OK);
	for (int64_t i = 0; i < 4; i++)
		judge_value(row->what, guarded_get(&call.out, i * step), row->expected[i],
			type);
	call_finish(&call);
}

START_TEST(softmax_is_right_for_every_kind_of_row)
{
	for (int i = 0; i < TYPES * VARIANTS; i++) {
		struct subject subject;

		if (open_variant(&subject, "norm_softmax", i / TYPES)) {
			judge_softmax(&subject, i % TYPES, &softmax_rows[_i], 4, 1);
			judge_softmax(&subject, i % TYPES, &softmax_rows[_i], 100, 33);
			judge_softmax(
				&subject, i % TYPES, &softmax_rows[_i], 13000, 4321);
		}
		subject_close(&subject);
	}
}
END_TEST

static const struct row rms_rows[] = {
	{"huge", {3e38, -3e38, 3e38, 3e38}, {1, -1, 1, 1}},
	{"beyond squares of floats", {1e20, 1e20, -1e20, 1e20}, {1, 1, -1, 1}},
	{"small", {1e-30, 1e-30, 1e-30, -1e-30}, {1, 1, 1, -1}},
	{"denormal", {1e-39, 1e-39, -1e-39, 1e-39}, {1, 1, -1, 1}},
	{"signs of 0", {1, -1, 0, -0.0}, {M_SQRT2, -M_SQRT2, 0, -0.0}},
	{"infinite", {INFINITY, 1, -1, 2}, {NAN, 0, 0, 0}},
	{"NaN", {1, NAN, -1, 2}, {NAN, NAN, NAN, NAN}},
};
enum { RMS_ROWS = sizeof(rms_rows) / sizeof(rms_rows[0]) };

/* With eps 0, so that nothing but x counts; the four numbers over and over. */
START_TEST(rms_is_right_for_every_kind_of_row)
{
	const struct row *row = &rms_rows[_i];

	for (int i = 0; i < TYPES * VARIANTS; i++) {
		struct subject subject;

		if (open_variant(&subject, "norm_rms", i / TYPES)) {
			for (int64_t n = 4; n <= 516; n += 128) {
				struct call call;

				call_init(&call, i % TYPES, 1, 2, n, 0);
				for (int64_t j = 0; j < 2 * n; j++)
					guarded_set(&call.in[0], j, row->x[j % 4]);
				ck_assert_int_eq(
					subject_run(&subject, &call.arguments), KP_OK);
				for (int64_t j = 0; j < 2 * n; j++)
					judge_value(row->what, guarded_get(&call.out, j),
						row->expected[j % 4], i % TYPES);
				call_finish(&call);
			}
		}
		subject_close(&subject);
	}
}
END_TEST

START_TEST(square_of_every_bf16_is_rounded_to_nearest_even)
{
	const int64_t n = 1 << 16;
	struct subject subject;
	struct guarded x, y, ours;
	struct arguments arguments = {.roles = {&x, &y}, .n_roles = 2};

	guarded_init(&x, KP_CODE_BFLOAT, GUARDED_ROWS, 1, &n);
	guarded_init(&y, KP_CODE_BFLOAT, GUARDED_ROWS, 1, &n);
	guarded_init(&ours, KP_CODE_BFLOAT, GUARDED_ROWS, 1, &n);
	for (int64_t i = 0; i < n; i++)
		memcpy(guarded_at(&x, i), &(uint16_t){(uint16_t)i}, 2);
	if (subject_open(&subject, "x86", "elementwise_square")) {
		ck_assert_int_eq(subject_run(&subject, &arguments), KP_OK);
		for (int64_t i = 0; i < n; i++) {
			double value = guarded_get(&x, i);

			guarded_set(&ours, i, value * value);
			if (isnan(value))
				ck_assert(isnan(guarded_get(&y, i)));
			else
				ck_assert_msg(memcmp(guarded_at(&y, i),
						      guarded_at(&ours, i), 2) == 0,
					"%x", (unsigned)i);
		}
	}
	subject_close(&subject);
	guarded_finish(&x);
	guarded_finish(&y);
	guarded_finish(&ours);
}
END_TEST

/* ---- threads and other rows ---- */

/* A host whose threads take the tasks from the last to the first. */
static int backwards(
	void *context, uint64_t n, int (*task)(void *arg, uint64_t i), void *arg)
{
	*(uint64_t *)context += n;
	while (n > 0)
		if (task(arg, --n) != KP_OK)
			return KP_RUNTIME;
	return KP_OK;
}

struct subject_of_rows {
	const char *kernel;
	int inputs;
	double eps;
};
static const struct subject_of_rows row_kernels[] = {
	{"norm_rms", 1, 1e-6}, {"norm_softmax", 1, -1}, {"activation_silu_mul", 2, -1}};

/* The same bits by one thread, by tasks in another order, and for one row alone. */
static void judge_same(
	struct subject *subject, const struct subject_of_rows *what, int type, int64_t n)
{
	enum { ROWS = 64 };
	uint64_t tasks = 0;
	struct kp_host host = {
		KP_SIZED(struct kp_host), .context = &tasks, .parallel_for = backwards};
	struct call call, shared, alone;

	call_init(&call, type, what->inputs, ROWS, n, what->eps);
	call_init(&shared, type, what->inputs, ROWS, n, what->eps);
	call_init(&alone, type, what->inputs, 1, n, what->eps);
	for (int i = 0; i < what->inputs; i++)
		memcpy(alone.in[i].tensor.data, guarded_at(&call.in[i], 17 * n),
			(size_t)n * call.in[i].bytes);
	ck_assert_int_eq(subject_run(subject, &call.arguments), KP_OK);
	subject->host = &host;
	ck_assert_int_eq(subject_run(subject, &shared.arguments), KP_OK);
	subject->host = NULL;
	ck_assert_int_eq(subject_run(subject, &alone.arguments), KP_OK);
	ck_assert_uint_gt(tasks, 1);
	ck_assert(memcmp(call.out.tensor.data, shared.out.tensor.data,
			  (size_t)(ROWS * n) * call.out.bytes) == 0);
	ck_assert(memcmp(guarded_at(&call.out, 17 * n), alone.out.tensor.data,
			  (size_t)n * call.out.bytes) == 0);
	call_finish(&call);
	call_finish(&shared);
	call_finish(&alone);
}

START_TEST(results_depend_on_no_thread_and_on_no_other_row)
{
	for (int i = 0; i < TYPES * VARIANTS; i++) {
		struct subject subject;

		if (open_variant(&subject, row_kernels[_i].kernel, i / TYPES)) {
			judge_same(&subject, &row_kernels[_i], i % TYPES, 2048);
			judge_same(&subject, &row_kernels[_i], i % TYPES, 3001);
			judge_same(&subject, &row_kernels[_i], i % TYPES, 9007);
		}
		subject_close(&subject);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("x86_values");
	TCase *tcase = tcase_create("values");

	tcase_add_test(tcase, silu_mul_is_right_for_every_kind_of_gate);
	tcase_add_loop_test(
		tcase, softmax_is_right_for_every_kind_of_row, 0, SOFTMAX_ROWS);
	tcase_add_loop_test(tcase, rms_is_right_for_every_kind_of_row, 0, RMS_ROWS);
	tcase_add_test(tcase, square_of_every_bf16_is_rounded_to_nearest_even);
	tcase_add_loop_test(tcase, results_depend_on_no_thread_and_on_no_other_row, 0, 3);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
