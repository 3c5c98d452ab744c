/* SPDX-License-Identifier: MIT */
/* What an operator has turned off runs in no application, whoever asks for it, and how.
 */
#include "tests/support/sites.h"
#include "tests/support/suite.h"

#include <jansson.h>

static const char MM[] = "reference/gemm_mm";
static const struct kp_site_options mm = {.operation = "gemm/mm", .label = "ffn.up"};
static const int64_t dims[] = {EDGE, EDGE, EDGE};

/* Each asks for MM at a site of a handle of its own. */
struct asked {
	struct kp_handle *handle;
	struct kp_site *site;
};

static void setup(void)
{
	plugind_begin(&plugind);
}

static void teardown(void)
{
	unsetenv("KPLUG_OVERRIDE_GEMM_MM");
	plugind_end(&plugind);
}

static void by_argument(struct asked *asked)
{
	struct kp_site_options options = mm;

	options.override_with = MM;
	asked->handle = open_as("argument", 0);
	asked->site = site_of(asked->handle, options);
}

static void by_solution(struct asked *asked)
{
	struct kp_site_options options = mm;

	options.override_with = "reference";
	options.flags = KP_SITE_CHECKED;
	asked->handle = open_as("solution", 0);
	asked->site = site_of(asked->handle, options);
}

static void by_scope(struct asked *asked)
{
	struct kp_error error = fresh();
	uint64_t scope;

	asked->handle = open_as("scope", 0);
	asked->site = site_of(asked->handle, mm);
	must(kp_scope_begin(asked->handle, "gemm/mm", MM, 0, &scope, &error));
}

static void by_scope_of_the_thread(struct asked *asked)
{
	struct kp_error error = fresh();
	uint64_t scope;

	asked->handle = open_as("thread", 0);
	asked->site = site_of(asked->handle, mm);
	must(kp_scope_begin(asked->handle, "gemm/mm", MM, 1, &scope, &error));
}

static void by_environment(struct asked *asked)
{
	setenv("KPLUG_OVERRIDE_GEMM_MM", MM, 1);
	asked->handle = open_as("environment", 0);
	asked->site = site_of(asked->handle, mm);
}

static void by_pin(struct asked *asked)
{
	json_decref(plugind_ask(&plugind, "Pin",
		json_pack("{s:s, s:s}", "operation", "gemm/mm", "choice", MM)));
	asked->handle = open_as("pin", 0);
	asked->site = site_of(asked->handle, mm);
}

static void by_argument_at_steps(struct asked *asked)
{
	struct kp_site_options options = mm;

	options.override_with = MM;
	asked->handle = open_as("steps", KP_ADOPT_AT_STEP);
	asked->site = site_of(asked->handle, options);
}

static const struct {
	void (*ask)(struct asked *asked);
	bool falls_back; /* what an operator pinned may be passed over */
	bool at_step;
} ways[] = {
	{by_argument, false, false},
	{by_solution, false, false},
	{by_scope, false, false},
	{by_scope_of_the_thread, false, false},
	{by_environment, false, false},
	{by_pin, true, false},
	{by_argument_at_steps, false, true},
};

static const struct {
	const char *name, *solution;
} disabled[] = {{"reference", NULL}, {MM, NULL}, {"gemm/mm", "reference"}};

static void decide(const char *method, const char *name, const char *solution)
{
	json_decref(plugind_ask(&plugind, method,
		json_pack("{s:s, s:s*}", "name", name, "solution", solution)));
}

static void step(const struct asked *asked)
{
	struct kp_error error = fresh();
	uint32_t changed;

	must(kp_step(asked->handle, &changed, &error));
}

/* It does not run, and where something was asked for, nothing else does. */
static void must_not_run(const struct asked *asked, bool falls_back)
{
	const char *kernel = kp_site_kernel(asked->site, dims);
	struct product product;

	product_init(&product, KP_CODE_FLOAT, EDGE);
	if (falls_back) {
		ck_assert_ptr_nonnull(kernel);
		ck_assert_str_ne(kernel, MM);
		ck_assert(product_run(asked->site, &product));
	} else {
		ck_assert_ptr_null(kernel);
		ck_assert_int_ne(kp_run(asked->site, &product.call), KP_OK);
		/* By the bit for it, or by the view that comes a moment later. */
		ck_assert_msg(strstr(product.error.text, "turned_off") ||
				      strstr(product.error.text, "disabled"),
			"%s", product.error.text);
	}
	product_finish(&product);
}

START_TEST(t48_no_override_brings_back_what_is_disabled)
{
	struct asked asked;
	struct product product;

	ways[_i].ask(&asked);
	for (size_t i = 0; i < sizeof(disabled) / sizeof(disabled[0]); i++) {
		product_init(&product, KP_CODE_FLOAT, EDGE);
		runs(asked.site, MM);
		ck_assert(product_run(asked.site, &product));
		product_finish(&product);
		decide("Disable", disabled[i].name, disabled[i].solution);
		if (ways[_i].at_step)
			step(&asked);
		must_not_run(&asked, ways[_i].falls_back);
		decide("Enable", disabled[i].name, disabled[i].solution);
		if (ways[_i].at_step)
			step(&asked);
	}
	runs(asked.site, MM);
	kp_close(asked.handle);
}
END_TEST

START_TEST(t48_who_asks_only_then_does_not_get_it_either)
{
	struct asked asked;

	decide("Disable", MM, NULL);
	ways[_i].ask(&asked);
	must_not_run(&asked, ways[_i].falls_back);
	kp_close(asked.handle);
}
END_TEST

int main(void)
{
	const int n = (int)(sizeof(ways) / sizeof(ways[0]));
	Suite *suite = suite_create("host_disabled");
	TCase *tcase = tcase_create("disabled");

	tcase_set_timeout(tcase, 100);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, t48_no_override_brings_back_what_is_disabled, 0, n);
	tcase_add_loop_test(tcase, t48_who_asks_only_then_does_not_get_it_either, 0, n);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
