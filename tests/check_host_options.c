/* SPDX-License-Identifier: MIT */
/* What is said of a site: taken, refused with the nearest name, and obeyed in calls. */
#include "tests/support/sites.h"
#include "tests/support/suite.h"

#include <jansson.h>

static struct kp_handle *handle;

static void setup(void)
{
	plugind_begin(&plugind);
	handle = open_as("one", 0);
}

static void teardown(void)
{
	kp_close(handle);
	plugind_end(&plugind);
}

/* A site of these options is refused, with this in the text. */
static void refused(struct kp_site_options options, const char *part)
{
	struct kp_error error = fresh();
	struct kp_site *site = NULL;

	options.size = (uint32_t)sizeof(options);
	ck_assert_int_eq(kp_site_new(handle, &options, &site, &error), KP_INVALID);
	ck_assert_msg(strstr(error.text, part) != NULL, "%s", error.text);
	ck_assert_ptr_null(site);
}

START_TEST(what_is_wrong_is_named_and_the_nearest_offered)
{
	const struct kp_range ranges[] = {{"mm", 1, 2}, {"m", 3, 2}, {"m", -1, 2}};
	const struct kp_named values[] = {{.name = "epss", .kind = 'f', .value.f = 1e-5},
		{.name = "eps", .kind = 's', .value.s = "small"},
		{.name = "eps", .kind = 'x'}};

	refused((struct kp_site_options){.operation = NULL}, "operation is NULL");
	refused((struct kp_site_options){.operation = "gemm/nm"}, "gemm/mm");
	refused((struct kp_site_options){.operation = "gemm/mm",
			.signature = "a=f32,b=f32,d=f32"},
		"d");
	refused((struct kp_site_options){.operation = "gemm/mm",
			.signature = "a=f33,b=f32,c=f32"},
		"f32");
	refused((struct kp_site_options){.operation = "gemm/mm", .device = 7}, "7");
	refused((struct kp_site_options){.operation = "gemm/mm", .flags = 1 << 9},
		"flag");
	for (int i = 0; i < 3; i++) {
		static const char *const parts[] = {
			"it has m, n, k", "[3, 2]", "[-1, 2]"};
		refused((struct kp_site_options){.operation = "gemm/mm",
				.ranges = &ranges[i],
				.n_ranges = 1},
			i ? parts[i] : "mm");
	}
	for (int i = 0; i < 3; i++) {
		static const char *const parts[] = {"eps", "eps", "kind"};
		refused((struct kp_site_options){.operation = "norm/rms",
				.values = &values[i],
				.n_values = 1},
			parts[i]);
	}
}
END_TEST

START_TEST(nothing_eligible_is_unsupported_and_why_says_why)
{
	struct kp_site_options options = {.operation = "gemm/mm",
		.solution = "reference",
		.label = "there",
		.flags = KP_SITE_CAPTURED};
	struct kp_site *site = site_of(handle, options);
	struct kp_error error = fresh();
	struct product product;

	product_init(&product, KP_CODE_FLOAT, EDGE);
	ck_assert_int_eq(kp_run(site, &product.call), KP_UNSUPPORTED);
	ck_assert_msg(
		strstr(product.error.text, "there") != NULL, "%s", product.error.text);
	char *why = kp_site_why(site, NULL, &error);
	ck_assert_ptr_nonnull(strstr(why, "not_capturable"));
	kp_free(why);
	ck_assert_ptr_null(kp_site_kernel(site, NULL));
	product_finish(&product);
}
END_TEST

START_TEST(wrong_arguments_are_refused_before_a_kernel_sees_them)
{
	struct kp_site *site =
		site_of(handle, (struct kp_site_options){.operation = "gemm/mm"});
	struct product product;

	product_init(&product, KP_CODE_FLOAT, EDGE);
	product.a.shape[1]++;
	ck_assert_int_eq(kp_run(site, &product.call), KP_INVALID);
	ck_assert_msg(strstr(product.error.text, "b: dim 0 (k)") != NULL, "%s",
		product.error.text);
	product.a.shape[1]--;
	product.call.n_tensors = 2;
	ck_assert_int_eq(kp_run(site, &product.call), KP_INVALID);
	product.call.n_tensors = 3;
	ck_assert(product_run(site, &product));
	product_finish(&product);
}
END_TEST

START_TEST(dense_calls_take_pointers_and_dims)
{
	struct kp_site *site =
		site_of(handle, (struct kp_site_options){.operation = "gemm/mm"});
	float a[6] = {1, 2, 3, 4, 5, 6}, b[3] = {1, 10, 100}, c[2] = {0, 0};
	void *data[] = {a, b, c};
	const int64_t dims[] = {2, 1, 3}, wrong[] = {2, -1, 3};
	struct kp_error error = fresh();

	must(kp_run_dense(site, data, dims, NULL, &error));
	ck_assert(c[0] == 321 && c[1] == 654);
	ck_assert_int_eq(kp_run_dense(site, data, wrong, NULL, &error), KP_INVALID);
	data[1] = NULL;
	ck_assert_int_eq(kp_run_dense(site, data, dims, NULL, &error), KP_INVALID);
}
END_TEST

/* ---- other families ------------------------------------------------------------------
 */

START_TEST(an_attribute_of_the_site_reaches_the_kernel)
{
	const int64_t rows[] = {3, 40}, line[] = {40};
	static const double eps[] = {1e-6, 0.5, 3.0};

	for (int i = 0; i < 3; i++) {
		const struct kp_named value = {
			.name = "eps", .kind = 'f', .value.f = eps[i]};
		struct kp_site *site =
			site_of(handle, (struct kp_site_options){.operation = "norm/rms",
						.values = &value,
						.n_values = i ? 1 : 0});
		struct guarded x, weight, y;
		guarded_init(&x, KP_CODE_FLOAT, GUARDED_PADDED, 2, rows);
		guarded_init(&weight, KP_CODE_FLOAT, GUARDED_ROWS, 1, line);
		guarded_init(&y, KP_CODE_FLOAT, GUARDED_ROWS, 2, rows);
		guarded_fill(&x, 5);
		guarded_fill(&weight, 6);
		const struct kp_tensor *list[] = {&x.tensor, &weight.tensor, &y.tensor};
		const union kp_value attribute = {.f = eps[i]};
		double *expected = oracle_compute("norm/rms", list, 3, &attribute);
		struct kp_error error = fresh();
		struct kp_call call = {.n_tensors = 3, .tensors = list, .error = &error};
		must(kp_run(site, &call));
		ck_assert(guarded_distance(&y, expected) < 1e-5);
		free(expected);
		guarded_finish(&x);
		guarded_finish(&weight);
		guarded_finish(&y);
	}
}
END_TEST

enum { B = 3, H = 4, HKV = 2, D = 16, PAGES = 12, PAGE = 4, MAX_PAGES = 3 };

START_TEST(attention_over_pages_gives_the_right_result)
{
	const int64_t q[] = {B, H, D}, cache[] = {PAGES, PAGE, HKV, D},
		      pages[] = {B, MAX_PAGES}, line[] = {B};
	static const int32_t lens[B] = {5, 12, 0};

	for (int64_t window = 0; window < 3; window += 2) {
		const struct kp_named value = {
			.name = "window", .kind = 'i', .value.i = window};
		struct kp_site *site = site_of(
			handle, (struct kp_site_options){.operation = "attention/decode",
					.values = &value,
					.n_values = 1});
		struct guarded t[6];
		guarded_init(&t[0], KP_CODE_FLOAT, GUARDED_ROWS, 3, q);
		guarded_init(&t[1], KP_CODE_FLOAT, GUARDED_ROWS, 4, cache);
		guarded_init(&t[2], KP_CODE_FLOAT, GUARDED_ROWS, 4, cache);
		guarded_init(&t[3], KP_CODE_INT, GUARDED_ROWS, 2, pages);
		guarded_init(&t[4], KP_CODE_INT, GUARDED_ROWS, 1, line);
		guarded_init(&t[5], KP_CODE_FLOAT, GUARDED_ROWS, 3, q);
		for (uint64_t i = 0; i < 3; i++)
			guarded_fill(&t[i], i + 1);
		for (int64_t i = 0; i < (int64_t)B * MAX_PAGES; i++)
			guarded_set_int(&t[3], i, (int32_t)((i * 5) % PAGES));
		for (int64_t i = 0; i < B; i++)
			guarded_set_int(&t[4], i, lens[i]);
		const struct kp_tensor *list[6];
		for (int i = 0; i < 6; i++)
			list[i] = &t[i].tensor;
		const union kp_value attributes[] = {{.f = 0}, {.i = window}};
		double *expected =
			oracle_compute("attention/decode", list, 6, attributes);
		struct kp_error error = fresh();
		struct kp_call call = {.n_tensors = 6, .tensors = list, .error = &error};
		must(kp_run(site, &call));
		ck_assert(guarded_distance(&t[5], expected) < 1e-5);
		free(expected);
		for (int i = 0; i < 6; i++)
			guarded_finish(&t[i]);
	}
}
END_TEST

/* ---- stable -------------------------------------------------------------------------
 */

static int never(const struct kp_call *call)
{
	(void)call;
	return KP_RUNTIME;
}

START_TEST(a_stable_site_has_one_kernel_for_its_whole_range)
{
	static const struct kp_kernel kernel = {KP_SIZED(struct kp_kernel), .run = never};
	static const char note[] =
		"{\"name\":\"some\",\"operation\":\"gemm/mm\",\"priority\":19,"
		"\"signatures\":[\"a=f32,b=f32,c=f32\"],\"flags\":[\"reentrant\"],"
		"\"traits\":{\"m\":{\"min\":16,\"multiple_of\":8}}}";
	const struct kp_range wide = {"m", 1, 100}, narrow = {"m", 16, 16};
	struct kp_site_options options = {.operation = "gemm/mm", .n_ranges = 1};
	const int64_t dims[] = {16, EDGE, EDGE};
	struct kp_error error = fresh();

	must(kp_local_add(handle, note, &kernel, &error));
	options.ranges = &wide;
	ck_assert_str_eq(kp_site_kernel(site_of(handle, options), dims), "local/some");
	options.flags = KP_SITE_STABLE;
	struct kp_site *stable = site_of(handle, options);
	const char *name = kp_site_kernel(stable, dims);
	ck_assert_ptr_nonnull(name);
	ck_assert_str_ne(name, "local/some");
	char *why = kp_site_why(stable, dims, &error);
	ck_assert_ptr_nonnull(strstr(why, "not_stable"));
	kp_free(why);
	options.ranges = &narrow;
	ck_assert_str_eq(kp_site_kernel(site_of(handle, options), dims), "local/some");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("host_options");
	TCase *tcase = tcase_create("options");
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, what_is_wrong_is_named_and_the_nearest_offered);
	tcase_add_test(tcase, nothing_eligible_is_unsupported_and_why_says_why);
	tcase_add_test(tcase, wrong_arguments_are_refused_before_a_kernel_sees_them);
	tcase_add_test(tcase, dense_calls_take_pointers_and_dims);
	tcase_add_test(tcase, an_attribute_of_the_site_reaches_the_kernel);
	tcase_add_test(tcase, attention_over_pages_gives_the_right_result);
	tcase_add_test(tcase, a_stable_site_has_one_kernel_for_its_whole_range);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
