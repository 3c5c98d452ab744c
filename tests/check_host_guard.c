/* SPDX-License-Identifier: MIT */
/* The numeric guard of sites: what it finds, and what it must leave alone. */
#include "tests/support/guarding.h"
#include "tests/support/sites.h"
#include "tests/support/suite.h"

#include <math.h>

enum { LARGE = 192 };

static struct heard heard;

static void setup(void)
{
	plugind_begin(&plugind);
}

static void teardown(void)
{
	plugind_end(&plugind);
}

/* ---- kernels that are wrong ------------------------------------------------------
 */

/* What the kernel below does wrong. */
static enum fault { NONE, LAST, ONE_ROW, LARGE_ONLY, NOT_A_NUMBER, A_LITTLE, MUCH } fault;

static void spoil(const struct kp_tensor *c)
{
	float *out = c->data;
	int64_t m = c->shape[0], n = c->shape[1];
	int64_t last = (m - 1) * c->strides[0] + (n - 1) * c->strides[1];

	if (fault == LAST || (fault == LARGE_ONLY && m >= LARGE))
		out[last] += 0.5f;
	if (fault == ONE_ROW)
		for (int64_t j = 0; j < n; j++)
			out[m / 3 * c->strides[0] + j * c->strides[1]] = 0;
	if (fault == NOT_A_NUMBER)
		out[last] = NAN;
	for (int64_t i = 0; i < m * n; i++) {
		float *at = &out[i / n * c->strides[0] + i % n * c->strides[1]];
		*at *= fault == A_LITTLE ? 1 + 3e-7f : fault == MUCH ? 1 + 1e-3f : 1;
	}
}

static int multiply(const struct kp_call *call)
{
	const struct kp_tensor *a = call->tensors[0], *b = call->tensors[1],
			       *c = call->tensors[2];

	for (int64_t i = 0; i < a->shape[0]; i++)
		for (int64_t j = 0; j < b->shape[1]; j++) {
			double sum = 0;
			for (int64_t p = 0; p < a->shape[1]; p++)
				sum += (double)((float *)a->data)[i * a->strides[0] +
								  p * a->strides[1]] *
				       ((float *)b->data)[p * b->strides[0] +
							  j * b->strides[1]];
			((float *)c->data)[i * c->strides[0] + j * c->strides[1]] =
				(float)sum;
		}
	spoil(c);
	return KP_OK;
}

static const struct kp_kernel multiplying = {KP_SIZED(struct kp_kernel), .run = multiply};
static const char note[] =
	"{\"name\":\"multiplying\",\"operation\":\"gemm/mm\",\"priority\":19,"
	"\"signatures\":[\"a=f32,b=f32,c=f32\"],\"flags\":[\"reentrant\",\"capturable\"]"
	"}";

static struct kp_site_options every(uint32_t calls)
{
	return (struct kp_site_options){.operation = "gemm/mm",
		.label = "ffn.up",
		.override_with = "local/multiplying",
		.guard_every = calls};
}

static struct kp_handle *open_wrong(enum fault wrong)
{
	struct kp_error error = fresh();
	struct kp_handle *handle = open_heard(&heard);

	fault = wrong;
	must(kp_local_add(handle, note, &multiplying, &error));
	return handle;
}

static void call_times(struct kp_site *site, int64_t edge, int times)
{
	struct product product;

	product_init(&product, KP_CODE_FLOAT, edge);
	for (int i = 0; i < times; i++)
		ck_assert_int_eq(kp_run(site, &product.call), KP_OK);
	product_finish(&product);
}

/* How many calls it takes until something is found; 0: none of so many. */
static int calls_to_find(struct kp_site *site, int64_t edge, int most)
{
	struct product product;
	int calls = 0;

	product_init(&product, KP_CODE_FLOAT, edge);
	while (heard.errors == 0 && calls < most) {
		ck_assert_int_eq(kp_run(site, &product.call), KP_OK);
		calls++;
	}
	product_finish(&product);
	return heard.errors ? calls : 0;
}

START_TEST(a_wrong_result_is_found)
{
	static const enum fault wrong[] = {LAST, ONE_ROW, NOT_A_NUMBER, MUCH};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct kp_handle *handle = open_wrong(wrong[i]);
		struct kp_site *site = site_of(handle, every(1));
		/* Small enough to be computed again as a whole. */
		ck_assert_int_eq(calls_to_find(site, EDGE, 3), 1);
		ck_assert_msg(
			strstr(heard.last, "local/multiplying is wrong at ffn.up: c["),
			"%s", heard.last);
		kp_close(handle);
	}
}
END_TEST

START_TEST(a_slice_that_is_wrong_is_found_in_time)
{
	struct kp_handle *handle = open_wrong(ONE_ROW);
	struct kp_site *site = site_of(handle, every(1));
	char place[32];

	snprintf(place, sizeof(place), "c[%d, ", 256 / 3);
	/* One row of 256; a call looks at some dozens. */
	ck_assert_int_gt(calls_to_find(site, 256, 400), 0);
	ck_assert_msg(strstr(heard.last, place) != NULL, "%s", heard.last);
	kp_close(handle);
}
END_TEST

START_TEST(what_is_wrong_for_some_shapes_is_found_there_alone)
{
	struct kp_handle *handle = open_wrong(LARGE_ONLY);
	struct kp_site *site = site_of(handle, every(1));

	ck_assert_int_eq(calls_to_find(site, EDGE, 20), 0);
	/* The end of each dim is always among the slices. */
	ck_assert_int_eq(calls_to_find(site, LARGE, 1), 1);
	ck_assert_msg(strstr(heard.last, "c[191, 191]") != NULL, "%s", heard.last);
	kp_close(handle);
}
END_TEST

START_TEST(a_result_within_the_tolerance_is_right)
{
	struct kp_handle *handle = open_wrong(A_LITTLE);
	struct kp_site *site = site_of(handle, every(1));

	call_times(site, EDGE, 20);
	call_times(site, 200, 3);
	ck_assert_int_eq(heard.errors, 0);
	ck_assert_int_eq(compared_at(site), 23);
	kp_close(handle);
}
END_TEST

START_TEST(the_same_fault_is_told_once_a_minute)
{
	struct kp_handle *handle = open_wrong(LAST);
	struct kp_site *site = site_of(handle, every(1));
	struct kp_site *other = site_of(handle, every(1));

	call_times(site, EDGE, 50);
	ck_assert_int_eq(heard.errors, 1);
	call_times(other, EDGE, 50);
	ck_assert_int_eq(heard.errors, 2);
	kp_close(handle);
}
END_TEST

/* ---- what is left alone ---------------------------------------------------------- */

START_TEST(the_result_is_the_kernels_whatever_is_found)
{
	struct kp_handle *handle = open_wrong(LAST);
	struct kp_site *sites[] = {site_of(handle, every(0)), site_of(handle, every(1))};
	float results[2][EDGE * EDGE];
	struct product product;

	product_init(&product, KP_CODE_FLOAT, EDGE);
	for (int s = 0; s < 2; s++) {
		ck_assert_int_eq(kp_run(sites[s], &product.call), KP_OK);
		ck_assert(guarded_intact(&product.a) && guarded_intact(&product.b) &&
			  guarded_intact(&product.c));
		for (int64_t i = 0; i < product.c.count; i++)
			results[s][i] = guarded_get(&product.c, i);
	}
	ck_assert_int_eq(heard.errors, 1);
	ck_assert_mem_eq(results[0], results[1], sizeof(results[0]));
	product_finish(&product);
	kp_close(handle);
}
END_TEST

START_TEST(a_captured_site_is_never_guarded)
{
	struct kp_handle *handle = open_wrong(LAST);
	struct kp_site_options options = every(1);

	options.flags = KP_SITE_CAPTURED;
	call_times(site_of(handle, options), EDGE, 20);
	ck_assert_int_eq(heard.errors, 0);
	kp_close(handle);
}
END_TEST

/* a b is near 0 though its terms are not: only part of the digits is meant. */
START_TEST(what_cancels_out_is_not_wrong)
{
	static const float tiny[] = {1e-3f, 1e-6f, 0};
	const int64_t row[] = {1, 64}, column[] = {64, 1}, one[] = {1, 1};
	struct kp_handle *handle = open_heard(&heard);

	for (size_t t = 0; t < 3; t++) {
		struct kp_site_options options = {
			.operation = "gemm/mm", .guard_every = 1};
		struct kp_site *site = site_of(handle, options);
		struct kp_error error = fresh();
		struct guarded a, b, c;
		guarded_init(&a, KP_CODE_FLOAT, GUARDED_ROWS, 2, row);
		guarded_init(&b, KP_CODE_FLOAT, GUARDED_ROWS, 2, column);
		guarded_init(&c, KP_CODE_FLOAT, GUARDED_ROWS, 2, one);
		guarded_fill(&a, t + 1);
		for (int64_t i = 0; i < 64; i++)
			guarded_set(&b, i,
				i % 2 ? -guarded_get(&a, i - 1) : guarded_get(&a, i + 1));
		guarded_set(&b, 63, guarded_get(&b, 63) + tiny[t]);
		const struct kp_tensor *list[] = {&a.tensor, &b.tensor, &c.tensor};
		struct kp_call call = {.n_tensors = 3, .tensors = list, .error = &error};
		for (int i = 0; i < 10; i++)
			must(kp_run(site, &call));
		ck_assert_int_eq(compared_at(site), 10);
		guarded_finish(&a);
		guarded_finish(&b);
		guarded_finish(&c);
	}
	ck_assert_msg(heard.errors == 0, "%s", heard.last);
	kp_close(handle);
}
END_TEST

START_TEST(inputs_that_are_no_numbers_are_nobodys_fault)
{
	static const float odd[] = {NAN, INFINITY, -INFINITY};
	struct kp_handle *handle = open_heard(&heard);
	struct kp_site_options options = {.operation = "gemm/mm", .guard_every = 1};
	struct kp_site *site = site_of(handle, options);
	struct product product;

	product_init(&product, KP_CODE_FLOAT, EDGE);
	for (size_t i = 0; i < 3; i++) {
		guarded_set(&product.a, 5, odd[i]);
		ck_assert_int_eq(kp_run(site, &product.call), KP_OK);
	}
	ck_assert_int_eq(compared_at(site), 3);
	ck_assert_msg(heard.errors == 0, "%s", heard.last);
	product_finish(&product);
	kp_close(handle);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("host_guard");
	TCase *tcase = tcase_create("guard");
	tcase_set_timeout(tcase, 100);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_wrong_result_is_found);
	tcase_add_test(tcase, a_slice_that_is_wrong_is_found_in_time);
	tcase_add_test(tcase, what_is_wrong_for_some_shapes_is_found_there_alone);
	tcase_add_test(tcase, a_result_within_the_tolerance_is_right);
	tcase_add_test(tcase, the_same_fault_is_told_once_a_minute);
	tcase_add_test(tcase, the_result_is_the_kernels_whatever_is_found);
	tcase_add_test(tcase, a_captured_site_is_never_guarded);
	tcase_add_test(tcase, what_cancels_out_is_not_wrong);
	tcase_add_test(tcase, inputs_that_are_no_numbers_are_nobodys_fault);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
