/* SPDX-License-Identifier: MIT */
/* The guard that an operator asks for, and what keeps it from comparing. */
#include "tests/support/guarding.h"
#include "tests/support/suite.h"

static struct heard heard;
static struct kp_handle *handle;
static struct product product;

/* Right but for its first element. */
static int run(const struct kp_call *call)
{
	const struct kp_tensor *c = call->tensors[2];
	double *expected = product.expected;

	for (int64_t i = 0; i < c->shape[0] * c->shape[1]; i++)
		((float *)c->data)[i] = (float)expected[i] + (i == 0);
	return KP_OK;
}

static int refuse(const struct kp_call *call)
{
	(void)call;
	return KP_UNSUPPORTED;
}

static int need(const struct kp_call *call, struct kp_need *out)
{
	(void)call;
	out->workspace_bytes = 100000;
	out->workspace_align = 4096;
	return KP_OK;
}

static int run_with_workspace(const struct kp_call *call)
{
	memset(call->workspace, 0x7f, 100000);
	return run(call);
}

static int prepared(const struct kp_call *call, uint32_t role, struct kp_prepared *out)
{
	(void)call;
	out->bytes = role == 1 ? EDGE * EDGE * 4 : 0;
	return KP_OK;
}

static int prepare(const struct kp_call *call, uint32_t role, void *out)
{
	(void)call;
	(void)role;
	memset(out, 0, EDGE * EDGE * 4);
	return KP_OK;
}

static const struct kp_kernel wrong = {KP_SIZED(struct kp_kernel), .run = run};
static const struct kp_kernel refusing = {KP_SIZED(struct kp_kernel), .run = refuse};
static const struct kp_kernel working = {
	KP_SIZED(struct kp_kernel), .run = run_with_workspace, .need = need};
static const struct kp_kernel preparing = {
	KP_SIZED(struct kp_kernel), .run = run, .prepared = prepared, .prepare = prepare};

static void add(const char *name, const struct kp_kernel *kernel, int priority)
{
	struct kp_error error = fresh();
	char note[512];

	snprintf(note, sizeof(note),
		"{\"name\":\"%s\",\"operation\":\"gemm/mm\",\"priority\":%d,"
		"\"signatures\":[\"a=f32,b=f32,c=f32\"],\"flags\":[\"reentrant\"]}",
		name, priority);
	must(kp_local_add(handle, note, kernel, &error));
}

static void setup(void)
{
	plugind_begin(&plugind);
	handle = open_heard(&heard);
	product_init(&product, KP_CODE_FLOAT, EDGE);
}

static void teardown(void)
{
	product_finish(&product);
	kp_close(handle);
	plugind_end(&plugind);
}

static struct kp_site *site_with(uint32_t flags, uint32_t every)
{
	return site_of(handle, (struct kp_site_options){.operation = "gemm/mm",
				       .label = "ffn.up",
				       .flags = flags,
				       .guard_every = every});
}

/* 0: off. */
static void guard(int every)
{
	json_decref(plugind_ask(&plugind, "Guard",
		json_pack("{s:s, s:o*}", "operation", "gemm/mm", "every",
			every ? json_integer(every) : NULL)));
}

/* Calls so often; how many of them were found wrong, as sites of their own tell. */
static int call_times(struct kp_site *site, int times)
{
	int before = compared_at(site);

	for (int i = 0; i < times; i++)
		ck_assert_int_eq(kp_run(site, &product.call), KP_OK);
	return compared_at(site) - before;
}

START_TEST(an_operators_guard_reaches_sites_that_run)
{
	/* One that is called inline, and one that is not. */
	static const uint32_t flags[] = {KP_SITE_CHECKED, 0};

	add("wrong", &wrong, 19);
	for (size_t i = 0; i < 2; i++) {
		struct kp_site *site = site_with(flags[i], 0);
		int errors = heard.errors;
		ck_assert_int_eq(call_times(site, 20), 0);
		ck_assert_int_eq(heard.errors, errors);
		guard(1);
		ck_assert_int_eq(call_times(site, 20), 20);
		ck_assert_int_eq(heard.errors, errors + 1);
		ck_assert_msg(
			strstr(heard.last, "c[0, 0] is ") != NULL, "%s", heard.last);
		guard(5);
		ck_assert_int_eq(call_times(site, 5 * 7), 7);
		guard(0);
		for (int n = 0; n < 20; n++)
			ck_assert_int_eq(kp_run(site, &product.call), KP_OK);
		json_t *why = why_of(site);
		ck_assert(json_is_null(json_object_get(why, "guard")));
		json_decref(why);
	}
}
END_TEST

START_TEST(a_sites_own_guard_goes_first)
{
	struct kp_site *often = site_with(0, 2), *never = site_with(0, 1000000);

	add("wrong", &wrong, 19);
	ck_assert_int_eq(call_times(often, 40), 20);
	guard(1);
	ck_assert_int_eq(call_times(often, 40), 20);
	ck_assert_int_le(call_times(never, 40), 1);
	guard(0);
	ck_assert_int_eq(call_times(often, 40), 20);
}
END_TEST

START_TEST(with_steps_a_guard_holds_from_the_next_one)
{
	struct kp_error error = fresh();
	struct kp_options options = {.size = (uint32_t)sizeof(options),
		.flags = KP_ADOPT_AT_STEP,
		.socket = plugind.socket};
	struct kp_handle *stepping = NULL;
	uint32_t changed;

	must(kp_open(&options, &stepping, &error));
	struct kp_site *site =
		site_of(stepping, (struct kp_site_options){.operation = "gemm/mm"});
	ck_assert_int_eq(call_times(site, 5), 0);
	guard(1);
	ck_assert_int_eq(call_times(site, 5), 0);
	must(kp_step(stepping, &changed, &error));
	ck_assert_int_eq(call_times(site, 5), 5);
	kp_close(stepping);
}
END_TEST

START_TEST(without_a_reference_nothing_is_compared_and_that_is_said)
{
	static const char *const names[] = {"reference", "reference/gemm_mm"};

	add("wrong", &wrong, 19);
	struct kp_site *site = site_with(0, 1);
	for (size_t i = 0; i < 2; i++) {
		int warnings = heard.warnings;
		plugind_decide(&plugind, "Disable", names[i]);
		ck_assert_int_eq(call_times(site, 10), 0);
		ck_assert_int_ge(heard.warnings, i == 0 ? warnings + 1 : warnings);
		json_t *why = why_of(site);
		const json_t *guarding = json_object_get(why, "guarding");
		ck_assert(json_is_null(json_object_get(guarding, "reference")));
		ck_assert_ptr_nonnull(
			strstr(json_string_value(json_object_get(guarding, "problem")),
				"reference/gemm_mm"));
		json_decref(why);
		plugind_decide(&plugind, "Enable", names[i]);
		ck_assert_int_eq(call_times(site, 10), 10);
	}
}
END_TEST

START_TEST(a_weight_of_the_kernels_own_layout_is_not_compared)
{
	struct kp_error error = fresh();
	struct kp_weight *weight = NULL;

	add("preparing", &preparing, 19);
	struct kp_site *site = site_with(0, 1);
	must(kp_weight_new(site, "b", &product.b.tensor, &weight, &error));
	product.list[1] = kp_weight_tensor(weight);
	ck_assert_int_eq(call_times(site, 10), 0);
	ck_assert_int_eq(heard.errors, 0);
	ck_assert_int_eq(heard.warnings, 1);
	ck_assert_msg(strstr(heard.last, "b is laid out") != NULL, "%s", heard.last);
	product.list[1] = &product.b.tensor;
	ck_assert_int_eq(call_times(site, 10), 10);
	kp_weight_free(weight);
}
END_TEST

START_TEST(a_kernel_with_workspace_and_one_that_refuses)
{
	add("working", &working, 18);
	struct kp_site *site = site_with(0, 1);
	ck_assert_int_eq(call_times(site, 10), 10);
	ck_assert_int_eq(heard.errors, 1);
	ck_assert_ptr_null(product.call.workspace);
	add("refusing", &refusing, 19);
	for (int i = 0; i < 10; i++)
		ck_assert_int_eq(kp_run(site, &product.call), KP_UNSUPPORTED);
	ck_assert_int_eq(compared_at(site), 10);
	ck_assert_int_eq(heard.errors, 1);
}
END_TEST

START_TEST(the_reference_is_not_held_against_itself)
{
	struct kp_site *site =
		site_of(handle, (struct kp_site_options){.operation = "gemm/mm",
					.override_with = "reference/gemm_mm",
					.guard_every = 1});

	ck_assert_int_eq(call_times(site, 10), 0);
	ck_assert_int_eq(heard.warnings + heard.errors, 0);
}
END_TEST

/* ---- a kernel that is made of others ---------------------------------------------- */

static struct kp_site *inner;
static struct product part;

static int compose(const struct kp_call *call)
{
	int status = kp_run(inner, &part.call);

	return status == KP_OK ? run(call) : status;
}
static const struct kp_kernel composed = {KP_SIZED(struct kp_kernel), .run = compose};

START_TEST(calls_within_a_guarded_call_are_guarded_by_themselves)
{
	product_init(&part, KP_CODE_FLOAT, EDGE);
	inner = site_of(handle, (struct kp_site_options){.operation = "gemm/mm",
					.override_with = "local/working",
					.guard_every = 3});
	add("working", &working, 1);
	add("composed", &composed, 19);
	struct kp_site *outer = site_with(0, 1);
	ck_assert_int_eq(call_times(outer, 30), 30);
	ck_assert_int_eq(compared_at(inner), 10);
	ck_assert_int_eq(heard.errors, 2);
	product_finish(&part);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("host_guard_live");
	TCase *tcase = tcase_create("live");
	tcase_set_timeout(tcase, 100);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, an_operators_guard_reaches_sites_that_run);
	tcase_add_test(tcase, a_sites_own_guard_goes_first);
	tcase_add_test(tcase, with_steps_a_guard_holds_from_the_next_one);
	tcase_add_test(tcase, without_a_reference_nothing_is_compared_and_that_is_said);
	tcase_add_test(tcase, a_weight_of_the_kernels_own_layout_is_not_compared);
	tcase_add_test(tcase, a_kernel_with_workspace_and_one_that_refuses);
	tcase_add_test(tcase, the_reference_is_not_held_against_itself);
	tcase_add_test(tcase, calls_within_a_guarded_call_are_guarded_by_themselves);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
