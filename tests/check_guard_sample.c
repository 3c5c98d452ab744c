/* SPDX-License-Identifier: MIT */
/* Which calls of a site are compared, and which part of them. */
#include "tests/support/families.h"
#include "tests/support/suite.h"

#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/family/family.h"
#include "lib/family/tensor.h"
#include "lib/host/guard.h"
#include "lib/host/sample.h"

enum { THREADS = 8, CALLS = 7 * 3000 };

/* ---- which calls ----------------------------------------------------------------- */

struct caller {
	struct kp_guard *guard;
	unsigned due;
	pthread_t thread;
};

static void *call(void *context)
{
	struct caller *caller = context;

	for (int i = 0; i < CALLS; i++)
		caller->due += kp_guard_is_due(caller->guard);
	return NULL;
}

START_TEST(of_calls_in_many_threads_exactly_one_in_n_is_due)
{
	static const uint32_t every[] = {1, 2, 7, 1000};
	struct caller callers[THREADS];

	for (size_t e = 0; e < sizeof(every) / sizeof(every[0]); e++) {
		struct kp_guard guard = {.every = every[e], .seed = 12345 + e};
		unsigned due = 0;
		for (size_t i = 0; i < THREADS; i++) {
			callers[i] = (struct caller){&guard, 0, 0};
			ck_assert_int_eq(pthread_create(&callers[i].thread, NULL, call,
						 &callers[i]),
				0);
		}
		for (size_t i = 0; i < THREADS; i++) {
			ck_assert_int_eq(pthread_join(callers[i].thread, NULL), 0);
			due += callers[i].due;
		}
		ck_assert_uint_eq(due, THREADS * CALLS / every[e]);
	}
}
END_TEST

START_TEST(what_a_program_repeats_does_not_hide)
{
	/* 32 layers share a site: all are looked at sooner or later. */
	struct kp_guard guard = {.every = 32, .seed = 7};
	bool seen[32] = {false};
	int count = 0;

	for (int i = 0; i < 32 * 400; i++)
		if (kp_guard_is_due(&guard) && !seen[i % 32]) {
			seen[i % 32] = true;
			count++;
		}
	ck_assert_int_eq(count, 32);
}
END_TEST

START_TEST(without_a_guard_none_is_due)
{
	struct kp_guard guard = {.every = 0};

	for (int i = 0; i < 1000; i++)
		ck_assert(!kp_guard_is_due(&guard));
	ck_assert(!kp_guard_is_on(&guard));
}
END_TEST

/* ---- which part ------------------------------------------------------------------ */

static struct kp_families families;

static void setup(void)
{
	families_read(&families);
}

static void teardown(void)
{
	kp_families_finish(&families);
}

/* A call of a family's default signature; element i of each tensor is i. */
struct part {
	const struct kp_family *family;
	struct kp_signature signature;
	struct kp_check check;
	struct kp_layout layouts[KP_FAMILY_ROLES];
	struct kp_tensor tensors[KP_FAMILY_ROLES];
	const struct kp_tensor *list[KP_FAMILY_ROLES];
	int64_t dims[KP_FAMILY_DIMS];
	struct kp_sample sample;
};

static void part_init(struct part *part, const char *operation, const char *shape_text)
{
	static const struct kp_device cpu = {
		KP_SIZED(struct kp_device), .type = KP_DEVICE_CPU};
	json_t *json = json_loads(shape_text, 0, NULL);
	struct kp_shape shape;
	struct kp_diag diag;

	memset(part, 0, sizeof(*part));
	part->family = kp_families_find(&families, operation);
	ck_assert_int_eq(kp_shape_from_json(json, part->family, &shape, &diag), 0);
	ck_assert_int_eq(
		kp_signature_parse(part->family->signature, &part->signature, &diag), 0);
	kp_check_init(&part->check, part->family, &part->signature, &cpu);
	for (size_t i = 0; i < part->family->n_roles; i++) {
		const struct kp_role *role = &part->family->roles[i];
		struct kp_format format;
		ck_assert(kp_family_format(role, &part->signature, &format));
		ck_assert_int_eq(kp_layout_of_role(
					 role, &shape, &format, &part->layouts[i], &diag),
			0);
		part->tensors[i] = kp_layout_tensor(
			&part->layouts[i], calloc(1, part->layouts[i].bytes + 1));
		part->list[i] = &part->tensors[i];
		for (size_t e = 0; e < part->layouts[i].elements; e++)
			if (format.element == KP_F32)
				((float *)part->tensors[i].data)[e] = (float)e;
	}
	kp_check_dims(&part->check, part->list, part->family->n_roles, part->dims);
	json_decref(json);
}

static void part_finish(struct part *part)
{
	kp_sample_finish(&part->sample);
	for (size_t i = 0; i < part->family->n_roles; i++)
		free(part->tensors[i].data);
}

static int part_take(struct part *part, uint64_t seed, struct kp_diag *diag)
{
	return kp_sample_take(&part->sample, &part->check, part->list,
		part->family->n_roles, part->dims, seed, diag);
}

START_TEST(a_small_call_is_computed_again_as_a_whole)
{
	struct part part;
	struct kp_diag diag;

	part_init(&part, "gemm/mm", "{\"m\": 40, \"n\": 30, \"k\": 50}");
	ck_assert_int_eq(part_take(&part, 1, &diag), 0);
	ck_assert_uint_eq(kp_tensor_count(&part.sample.results[2].tensor), 40 * 30);
	/* Nothing of the inputs need be copied. */
	ck_assert_ptr_eq(part.sample.list[0], part.list[0]);
	ck_assert_ptr_eq(part.sample.list[1], part.list[1]);
	part_finish(&part);
}
END_TEST

START_TEST(a_large_call_costs_no_more_than_a_bounded_part)
{
	static const struct {
		const char *operation, *shape;
	} rows[] = {
		{"gemm/mm", "{\"m\": 700, \"n\": 700, \"k\": 100}"},
		{"norm/softmax", "{\"rows\": 1000, \"n\": 512}"},
		{"elementwise/square", "{\"n\": 500000}"},
		{"activation/silu_mul", "{\"rows\": 30, \"n\": 20000}"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct part part;
		struct kp_diag diag;
		part_init(&part, rows[i].operation, rows[i].shape);
		ck_assert_int_eq(part_take(&part, i, &diag), 0);
		size_t last = part.family->n_roles - 1;
		size_t copied = kp_tensor_count(&part.sample.results[last].tensor);
		ck_assert_uint_gt(copied, 0);
		ck_assert_uint_le(copied, (1 << 20) / KP_SLICES_COPY);
		part_finish(&part);
	}
}
END_TEST

START_TEST(slices_are_copied_from_where_they_are)
{
	struct part part;
	struct kp_diag diag;
	int64_t place[KP_FAMILY_RANK];

	part_init(&part, "gemm/mm", "{\"m\": 700, \"n\": 900, \"k\": 300}");
	ck_assert_int_eq(part_take(&part, 99, &diag), 0);
	kp_sample_results(&part.sample, part.list, 3);
	const struct kp_sample_tensor *c = &part.sample.results[2];
	size_t count = kp_tensor_count(&c->tensor);
	ck_assert_uint_lt(count, 700 * 900);
	for (size_t i = 0; i < count; i++) {
		kp_sample_place(&part.sample, 2, i, place);
		ck_assert_float_eq(
			((float *)c->tensor.data)[i], (float)(place[0] * 900 + place[1]));
	}
	/* The end is among them. */
	ck_assert_int_eq(place[0], 699);
	ck_assert_int_eq(place[1], 899);
	/* a has the rows of c, and all of k. */
	const struct kp_tensor *a = part.sample.list[0];
	ck_assert_int_eq(a->shape[0], c->tensor.shape[0]);
	ck_assert_int_eq(a->shape[1], 300);
	kp_sample_place(&part.sample, 2, 0, place);
	ck_assert_float_eq(((float *)a->data)[7], (float)(place[0] * 300 + 7));
	part_finish(&part);
}
END_TEST

START_TEST(a_seed_chooses_alike_and_another_one_otherwise)
{
	struct part parts[3];
	struct kp_diag diag;
	static const uint64_t seeds[] = {5, 5, 6};

	for (int i = 0; i < 3; i++) {
		part_init(&parts[i], "gemm/mm", "{\"m\": 999, \"n\": 999, \"k\": 99}");
		ck_assert_int_eq(part_take(&parts[i], seeds[i], &diag), 0);
	}
	size_t count = (size_t)parts[0].sample.slices.extents[0];
	ck_assert_mem_eq(parts[0].sample.slices.of[0], parts[1].sample.slices.of[0],
		count * sizeof(int64_t));
	ck_assert_mem_ne(parts[0].sample.slices.of[0], parts[2].sample.slices.of[0],
		count * sizeof(int64_t));
	for (int i = 0; i < 3; i++)
		part_finish(&parts[i]);
}
END_TEST

START_TEST(an_input_that_is_overwritten_is_copied_before)
{
	struct part part;
	struct kp_diag diag;

	part_init(&part, "elementwise/square", "{\"n\": 100}");
	void *own = part.tensors[1].data;
	part.tensors[1].data = part.tensors[0].data;
	ck_assert_int_eq(part_take(&part, 1, &diag), 0);
	memset(part.tensors[0].data, 0xff, 400);
	ck_assert_ptr_ne(part.sample.list[0], part.list[0]);
	for (int i = 0; i < 100; i++)
		ck_assert_float_eq(((float *)part.sample.list[0]->data)[i], (float)i);
	part.tensors[1].data = own;
	part_finish(&part);
}
END_TEST

START_TEST(what_cannot_be_divided_is_refused_where_it_is_too_large)
{
	struct part part;
	struct kp_diag diag;

	/* One sequence of more tokens than anybody waits for. */
	part_init(&part, "attention/decode",
		"{\"b\": 1, \"h\": 64, \"hkv\": 1, \"d\": 64, \"pages\": 16, "
		"\"page\": 4096, \"max_pages\": 16, \"tokens\": 65536}");
	*(int32_t *)part.tensors[4].data = 65536;
	ck_assert_int_eq(part_take(&part, 1, &diag), -1);
	ck_assert_str_eq(diag.code, "too_large");
	kp_sample_finish(&part.sample);
	/* With less in the cache it costs less. */
	*(int32_t *)part.tensors[4].data = 300;
	ck_assert_int_eq(part_take(&part, 1, &diag), 0);
	part_finish(&part);
}
END_TEST

START_TEST(a_call_without_elements_has_nothing_to_compare)
{
	struct part part;
	struct kp_diag diag;

	part_init(&part, "gemm/mm", "{\"m\": 0, \"n\": 5, \"k\": 3}");
	ck_assert_int_eq(part_take(&part, 1, &diag), 0);
	ck_assert(kp_sample_is_empty(&part.sample));
	part_finish(&part);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("guard_sample");
	TCase *due = tcase_create("due");
	TCase *parts = tcase_create("parts");

	tcase_add_test(due, of_calls_in_many_threads_exactly_one_in_n_is_due);
	tcase_add_test(due, what_a_program_repeats_does_not_hide);
	tcase_add_test(due, without_a_guard_none_is_due);
	tcase_set_timeout(parts, 60);
	tcase_add_checked_fixture(parts, setup, teardown);
	tcase_add_test(parts, a_small_call_is_computed_again_as_a_whole);
	tcase_add_test(parts, a_large_call_costs_no_more_than_a_bounded_part);
	tcase_add_test(parts, slices_are_copied_from_where_they_are);
	tcase_add_test(parts, a_seed_chooses_alike_and_another_one_otherwise);
	tcase_add_test(parts, an_input_that_is_overwritten_is_copied_before);
	tcase_add_test(parts, what_cannot_be_divided_is_refused_where_it_is_too_large);
	tcase_add_test(parts, a_call_without_elements_has_nothing_to_compare);
	suite_add_tcase(suite, due);
	suite_add_tcase(suite, parts);
	return suite_run(suite);
}
