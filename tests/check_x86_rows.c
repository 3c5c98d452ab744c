/* SPDX-License-Identifier: MIT */
/*
 * The kernels of x86 that go over rows, each of them: against numbers made here, in both
 * types, whatever the layout.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/guarded.h"
#include "tests/support/oracle.h"
#include "tests/support/subject.h"
#include "tests/support/suite.h"

enum { MOST_ROLES = 3, KERNELS = 8, TYPES = 2 };

/* An operation: the dims of its roles, and which input the output may be. */
struct kind {
	const char *prefix, *operation;
	const char *dims[MOST_ROLES];
	double scales[MOST_ROLES];
	union kp_value attribute;
};

static const struct kind kinds[] = {
	{"norm_rms", "norm/rms", {"rn", "n", "rn"}, {3, 1}, {.f = 1e-6}},
	{"norm_softmax", "norm/softmax", {"rn", "rn"}, {6}, {.f = 0}},
	{"activation_silu_mul", "activation/silu_mul", {"rn", "rn", "rn"}, {9, 2},
		{.f = 0}},
	{"elementwise_square", "elementwise/square", {"n", "n"}, {2}, {.f = 0}},
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static const uint8_t types[TYPES] = {KP_CODE_FLOAT, KP_CODE_BFLOAT};

/* Lengths around one register, several, and a chunk; the families' own among them. */
static const int64_t shapes[][2] = {{1, 1}, {3, 7}, {5, 8}, {2, 15}, {2, 16}, {4, 17},
	{5, 31}, {3, 32}, {5, 33}, {1, 63}, {17, 64}, {2, 129}, {33, 31}, {2, 1001},
	{2, 1025}, {3, 4095}, {2, 4096}, {2, 4097}, {1, 8192}, {1, 9001}, {64, 512}};
enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

struct trial {
	const struct kind *kind;
	struct guarded roles[MOST_ROLES];
	struct arguments arguments;
	uint32_t n_roles;
};

static bool is_first(const struct kind *kind, uint32_t role)
{
	return strcmp(kind->dims[role], kind->dims[0]) == 0;
}

/* Layouts are of the inputs and of the output; role 1 gets one between them. */
static void trial_init(struct trial *t, const struct kind *kind, uint8_t type,
	const int64_t *shape, enum guarded_layout in, enum guarded_layout out)
{
	memset(t, 0, sizeof(*t));
	t->kind = kind;
	while (t->n_roles < MOST_ROLES && kind->dims[t->n_roles])
		t->n_roles++;
	for (uint32_t i = 0; i < t->n_roles; i++) {
		const char *dims = kind->dims[i];
		enum guarded_layout layout = i == 0 ? in : (in + out) % GUARDED_LAYOUTS;

		guarded_init(&t->roles[i], type, i + 1 == t->n_roles ? out : layout,
			(int)strlen(dims), dims[0] == 'n' ? shape + 1 : shape);
		if (i + 1 < t->n_roles)
			guarded_fill(&t->roles[i], 11 + i);
		for (int64_t j = 0; i + 1 < t->n_roles && j < t->roles[i].count; j++)
			guarded_set(&t->roles[i], j,
				guarded_get(&t->roles[i], j) * kind->scales[i]);
		t->arguments.roles[i] = &t->roles[i];
	}
	t->arguments.n_roles = t->n_roles;
	t->arguments.attributes[0] = kind->attribute;
	t->arguments.n_attributes = kind->attribute.f > 0;
}

static void trial_finish(struct trial *t)
{
	for (uint32_t i = 0; i < t->n_roles; i++)
		guarded_finish(&t->roles[i]);
}

static double *expect(const struct trial *t)
{
	const struct kp_tensor *tensors[MOST_ROLES] = {NULL};

	for (uint32_t i = 0; i < t->n_roles; i++)
		tensors[i] =
			t->arguments.roles[i] ? &t->arguments.roles[i]->tensor : NULL;
	return oracle_compute(
		t->kind->operation, tensors, t->n_roles, t->arguments.attributes);
}

/* What is off by more than float arithmetic, and half a unit of bf16, explain. */
static void judge_elements(
	const struct subject *subject, const struct guarded *out, const double *expected)
{
	double share = out->bytes == 2 ? 0x1p-8 + 1e-4 : 2e-6;

	for (int64_t i = 0; i < out->count; i++)
		ck_assert_msg(fabs(guarded_get(out, i) - expected[i]) <=
				      share * fabs(expected[i]) + 1e-37,
			"%s: element %d is %.9g, not %.9g", subject->plugin, (int)i,
			(double)guarded_get(out, i), expected[i]);
}

static void judge(struct subject *subject, struct trial *t)
{
	const struct guarded *out = t->arguments.roles[t->n_roles - 1];
	double *expected = expect(t);

	ck_assert_ptr_nonnull(expected);
	ck_assert_msg(subject_run(subject, &t->arguments) == KP_OK, "%s: %s",
		subject->plugin, subject->error.text);
	ck_assert(guarded_intact(out));
	judge_elements(subject, out, expected);
	free(expected);
}

/*
 * Opens the kernel of x86 with this number among those of a kind; its name stands for
 * the plugin's in messages. False where there is none, or it cannot run here.
 */
static bool open_kernel(struct subject *subject, const struct kind *kind, int number)
{
	size_t length = strlen(kind->prefix);
	struct subject first;
	bool available = false;

	memset(subject, 0, sizeof(*subject));
	(void)subject_open(&first, "x86", kind->prefix);
	for (uint32_t i = 0; i < first.code->n_entries; i++) {
		const char *name = first.code->entries[i]->name;

		if (strncmp(name, kind->prefix, length) != 0 || number-- > 0)
			continue;
		available = subject_open(subject, "x86", name);
		subject->plugin = name;
		break;
	}
	/* Not before: the name is in the library, which may come back somewhere else. */
	subject_close(&first);
	return available;
}

/* Calls `body` with each kernel of a kind and each type. */
static void each(const struct kind *kind,
	void (*body)(struct subject *subject, const struct kind *kind, uint8_t type))
{
	for (int number = 0; number < KERNELS; number++) {
		struct subject subject;

		if (open_kernel(&subject, kind, number))
			for (int type = 0; type < TYPES; type++)
				body(&subject, kind, types[type]);
		subject_close(&subject);
	}
}

static void all_shapes(struct subject *subject, const struct kind *kind, uint8_t type)
{
	for (int i = 0; i < SHAPES; i++) {
		struct trial t;

		trial_init(&t, kind, type, shapes[i], GUARDED_ROWS, GUARDED_ROWS);
		judge(subject, &t);
		trial_finish(&t);
	}
}

START_TEST(rows_of_every_length_are_right)
{
	each(&kinds[_i], all_shapes);
}
END_TEST

static void all_layouts(struct subject *subject, const struct kind *kind, uint8_t type)
{
	for (int in = 0; in < GUARDED_LAYOUTS; in++) {
		for (int out = 0; out < GUARDED_LAYOUTS; out++) {
			struct trial t;

			trial_init(&t, kind, type, (int64_t[]){5, 67}, in, out);
			judge(subject, &t);
			trial_finish(&t);
		}
	}
}

START_TEST(k03_rows_of_every_layout_are_right)
{
	each(&kinds[_i], all_layouts);
}
END_TEST

static void in_place(struct subject *subject, const struct kind *kind, uint8_t type)
{
	for (int layout = 0; layout < GUARDED_LAYOUTS; layout++) {
		struct trial t;
		double *expected;

		trial_init(&t, kind, type, (int64_t[]){4, 77}, layout, GUARDED_ROWS);
		expected = expect(&t);
		t.arguments.roles[t.n_roles - 1] = &t.roles[0];
		ck_assert(is_first(kind, t.n_roles - 1));
		ck_assert_int_eq(subject_run(subject, &t.arguments), KP_OK);
		ck_assert(guarded_intact(&t.roles[0]));
		judge_elements(subject, &t.roles[0], expected);
		free(expected);
		trial_finish(&t);
	}
}

START_TEST(the_output_may_be_the_first_input)
{
	each(&kinds[_i], in_place);
}
END_TEST

static void of_nothing(struct subject *subject, const struct kind *kind, uint8_t type)
{
	static const int64_t empty[][2] = {{0, 8}, {4, 0}, {0, 0}};

	for (int i = 0; i < 3; i++) {
		struct trial t;
		const struct guarded *out;

		trial_init(&t, kind, type, empty[i], i, GUARDED_ROWS);
		out = &t.roles[t.n_roles - 1];
		ck_assert_int_eq(subject_run(subject, &t.arguments), KP_OK);
		ck_assert(out->count > 0 || guarded_untouched(out));
		trial_finish(&t);
	}
}

START_TEST(k02_rows_of_nothing_write_nothing)
{
	each(&kinds[_i], of_nothing);
}
END_TEST

/* Each row starts at another distance from a cache line, so does each tensor. */
static void shifted(struct subject *subject, const struct kind *kind, uint8_t type)
{
	for (int64_t shift = 0; shift < 40; shift += 3) {
		struct trial t;
		struct guarded *x, *out;

		trial_init(
			&t, kind, type, (int64_t[]){3, 131}, GUARDED_ROWS, GUARDED_ROWS);
		x = &t.roles[0];
		out = &t.roles[t.n_roles - 1];
		x->shape[x->tensor.ndim - 1] -= shift;
		out->shape[out->tensor.ndim - 1] -= shift;
		x->tensor.data = guarded_at(x, shift);
		x->count = out->count =
			x->tensor.ndim > 1 ? 3 * (131 - shift) : 131 - shift;
		for (uint32_t i = 1; i + 1 < t.n_roles; i++) {
			t.roles[i].shape[t.roles[i].tensor.ndim - 1] -= shift;
			t.roles[i].count = t.roles[i].tensor.ndim > 1 ? 3 * (131 - shift)
								      : 131 - shift;
		}
		judge(subject, &t);
		trial_finish(&t);
	}
}

START_TEST(k03_parts_of_rows_are_right_wherever_they_start)
{
	each(&kinds[_i], shifted);
}
END_TEST

static void without_weight(struct subject *subject, const struct kind *kind, uint8_t type)
{
	if (strcmp(kind->operation, "norm/rms") != 0)
		return;
	for (int i = 0; i < SHAPES; i++) {
		struct trial t;

		trial_init(&t, kind, type, shapes[i], i % GUARDED_LAYOUTS, GUARDED_ROWS);
		t.arguments.roles[1] = NULL;
		t.arguments.attributes[0].f = 0.5;
		judge(subject, &t);
		trial_finish(&t);
	}
}

START_TEST(k01_rms_without_a_weight_is_right_and_takes_eps)
{
	each(&kinds[_i], without_weight);
}
END_TEST

/* Types that no signature of the kernel has: refused in words, nothing written. */
static void of_two_types(struct subject *subject, const struct kind *kind, uint8_t type)
{
	struct trial t;

	trial_init(&t, kind, type, (int64_t[]){2, 40}, GUARDED_ROWS, GUARDED_ROWS);
	guarded_finish(&t.roles[t.n_roles - 1]);
	guarded_init(&t.roles[t.n_roles - 1],
		type == KP_CODE_FLOAT ? KP_CODE_BFLOAT : KP_CODE_FLOAT, GUARDED_ROWS,
		(int)strlen(kind->dims[t.n_roles - 1]),
		(int64_t[]){kind->dims[0][0] == 'n' ? 40 : 2, 40});
	ck_assert_int_eq(subject_run(subject, &t.arguments), KP_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(subject->error.text, "all f32 or all bf16"));
	ck_assert(guarded_untouched(&t.roles[t.n_roles - 1]));
	trial_finish(&t);
}

START_TEST(tensors_of_two_types_are_refused)
{
	each(&kinds[_i], of_two_types);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("x86_rows");
	TCase *tcase = tcase_create("rows");

	tcase_add_loop_test(tcase, rows_of_every_length_are_right, 0, KINDS);
	tcase_add_loop_test(tcase, k03_rows_of_every_layout_are_right, 0, KINDS);
	tcase_add_loop_test(tcase, the_output_may_be_the_first_input, 0, KINDS);
	tcase_add_loop_test(tcase, k02_rows_of_nothing_write_nothing, 0, KINDS);
	tcase_add_loop_test(
		tcase, k03_parts_of_rows_are_right_wherever_they_start, 0, KINDS);
	tcase_add_loop_test(
		tcase, k01_rms_without_a_weight_is_right_and_takes_eps, 0, KINDS);
	tcase_add_loop_test(tcase, tensors_of_two_types_are_refused, 0, KINDS);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
