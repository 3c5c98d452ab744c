/* SPDX-License-Identifier: MIT */
/* Sites: what they resolve to, what their calls give, and how they follow decisions. */
#include "tests/support/sites.h"
#include "tests/support/suite.h"

#include <jansson.h>

static void setup(void)
{
	plugind_begin(&plugind);
}

static void teardown(void)
{
	plugind_end(&plugind);
}

static const struct kp_site_options mm = {.operation = "gemm/mm", .label = "ffn.up"};

START_TEST(a_site_runs_what_plugind_selects)
{
	struct kp_handle *handle = open_as("one", 0);
	struct kp_site *site = site_of(handle, mm);
	struct product product;
	json_t *asked = json_pack("{s:{s:s, s:{s:i, s:i, s:i}}}", "request", "operation",
		"gemm/mm", "shape", "m", EDGE, "n", EDGE, "k", EDGE);
	json_t *reply = plugind_ask(&plugind, "Select", asked);

	product_init(&product, KP_CODE_FLOAT, EDGE);
	runs(site, json_string_value(json_object_get(reply, "selected")));
	ck_assert(product_run(site, &product));
	json_decref(reply);
	product_finish(&product);
	kp_site_free(site);
	kp_close(handle);
}
END_TEST

START_TEST(a_disabled_kernel_is_not_called_again)
{
	struct kp_handle *handle = open_as("one", 0);
	struct kp_site *site = site_of(handle, mm);
	struct product product;

	product_init(&product, KP_CODE_FLOAT, EDGE);
	ck_assert(product_run(site, &product));
	const int64_t dims[] = {EDGE, EDGE, EDGE};
	char first[128];
	snprintf(first, sizeof(first), "%s", kp_site_kernel(site, dims));
	*strchr(first, '/') = '\0';
	plugind_decide(&plugind, "Disable", first);
	ck_assert(product_run(site, &product));
	const char *second = kp_site_kernel(site, dims);
	ck_assert_ptr_nonnull(second);
	ck_assert(strncmp(second, first, strlen(first)) != 0);
	plugind_decide(&plugind, "Enable", first);
	ck_assert(product_run(site, &product));
	ck_assert(strncmp(kp_site_kernel(site, dims), first, strlen(first)) == 0);
	product_finish(&product);
	kp_close(handle);
}
END_TEST

START_TEST(a_call_of_bf16_gives_the_right_product)
{
	struct kp_handle *handle = open_as("one", 0);
	struct kp_site_options options = mm;
	struct product product;

	options.signature = "a=bf16,b=bf16,c=bf16";
	struct kp_site *site = site_of(handle, options);
	product_init(&product, KP_CODE_BFLOAT, EDGE);
	ck_assert(product_run(site, &product));
	product_finish(&product);
	kp_close(handle);
}
END_TEST

START_TEST(warming_resolves_every_rung)
{
	struct kp_handle *handle = open_as("one", 0);
	struct kp_site_options options = mm;
	struct kp_range ranges[] = {{"m", 1, 64}, {"n", 64, 64}, {"k", 64, 64}};
	struct kp_warmth warmth = {.size = sizeof(warmth)};
	struct kp_error error = fresh();

	options.ranges = ranges;
	options.n_ranges = 3;
	struct kp_site *site = site_of(handle, options);
	must(kp_warm(&site, 1, &warmth, &error));
	ck_assert_uint_ge(warmth.n_rungs, 1);
	ck_assert_uint_eq(warmth.n_unsupported, 0);
	kp_close(handle);
}
END_TEST

START_TEST(why_has_every_kernel_of_the_operation)
{
	struct kp_handle *handle = open_as("one", 0);
	struct kp_site *site = site_of(handle, mm);
	struct kp_error error = fresh();
	char *text = kp_site_why(site, NULL, &error);

	ck_assert_msg(text != NULL, "%s", error.text);
	json_t *why = json_loads(text, 0, NULL);
	ck_assert_uint_ge(json_array_size(json_object_get(why, "candidates")), 3);
	json_decref(why);
	kp_free(text);
	kp_close(handle);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("host_site");
	TCase *tcase = tcase_create("site");
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_site_runs_what_plugind_selects);
	tcase_add_test(tcase, a_disabled_kernel_is_not_called_again);
	tcase_add_test(tcase, a_call_of_bf16_gives_the_right_product);
	tcase_add_test(tcase, warming_resolves_every_rung);
	tcase_add_test(tcase, why_has_every_kernel_of_the_operation);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
