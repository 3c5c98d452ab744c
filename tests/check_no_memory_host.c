/* SPDX-License-Identifier: MIT */
/*
 * An application whose memory is refused at each allocation that libkplug makes, once and
 * then for good: it is told KP_NO_MEMORY or gets the right result, keeps nothing, and all
 * works afterwards.
 */
#include "tests/scarce/scarce.h"
#include "tests/support/sites.h"
#include "tests/support/suite.h"

enum { ALLOCATIONS_MOST = 100000 };

static const struct kp_site_options mm = {.operation = "gemm/mm", .label = "ffn.up"};
static const int64_t dims[] = {EDGE, EDGE, EDGE};
static struct kp_handle *open_before;
static struct kp_site *site_before;
static struct product product;
static bool is_wrong; /* a result; to claim it takes memory */

/* enum kp_status; what it makes it frees. */
typedef int scenario_fn(struct kp_error *error);

static int open_another(struct kp_handle **handle, struct kp_error *error)
{
	const struct kp_options options = {.size = (uint32_t)sizeof(options),
		.flags = KP_NO_DAEMON,
		.socket = plugind.socket,
		.name = "scarce"};

	return kp_open(&options, handle, error);
}

static int open_and_close(struct kp_error *error)
{
	struct kp_handle *handle = NULL;
	int status = open_another(&handle, error);

	if (status == KP_OK)
		kp_close(handle);
	return status;
}

/* The kernel's result, where it ran. */
static int run(struct kp_site *site, struct kp_error *error)
{
	product.error = fresh();
	int status = kp_run(site, &product.call);

	product_release(&product);
	*error = product.error;
	is_wrong |=
		status == KP_OK && guarded_distance(&product.c, product.expected) >= 1e-5;
	return status;
}

static int resolve_and_call(struct kp_error *error)
{
	struct kp_site_options options = mm;
	struct kp_site *site = NULL;

	options.size = (uint32_t)sizeof(options);
	int status = kp_site_new(open_before, &options, &site, error);
	if (status != KP_OK)
		return status;
	status = run(site, error);
	kp_site_free(site);
	return status;
}

static int name_the_kernel(struct kp_error *error)
{
	(void)error;
	return kp_site_kernel(site_before, dims) ? KP_OK : KP_NO_MEMORY;
}

static int say_why(struct kp_error *error)
{
	char *text = kp_site_why(site_before, dims, error);
	int status = text ? KP_OK : error->status;

	kp_free(text);
	return status;
}

static const char request[] = "{\"operation\": \"gemm/mm\"}";

static int decide(struct kp_error *error)
{
	char *reply = NULL;
	int status = kp_decide(open_before, request, &reply, error);

	if (status == KP_OK)
		kp_free(reply);
	return status;
}

static int explain(struct kp_error *error)
{
	char *reply = NULL;
	int status = kp_why(open_before, request, &reply, error);

	if (status == KP_OK)
		kp_free(reply);
	return status;
}

static int describe(struct kp_error *error)
{
	char *family = NULL;
	int status = kp_describe(open_before, "gemm/mm", &family, error);

	if (status == KP_OK)
		kp_free(family);
	return status;
}

static int digest(struct kp_error *error)
{
	char text[65];

	return kp_fingerprint(open_before, NULL, text, error);
}

static int override(struct kp_error *error)
{
	uint64_t scope = 0;
	int status =
		kp_scope_begin(open_before, "gemm/mm", "reference", 1, &scope, error);

	if (status != KP_OK)
		return status;
	status = run(site_before, error);
	(void)kp_scope_end(open_before, scope);
	return status;
}

static int hold(struct kp_error *error)
{
	uint64_t id = 0;
	int status = kp_hold(site_before, "a graph", &id, error);

	if (status == KP_OK)
		(void)kp_release(open_before, id);
	return status;
}

static int twice(const struct kp_call *call)
{
	(void)call;
	return KP_OK;
}

static int add_own(struct kp_error *error)
{
	static const struct kp_kernel own = {KP_SIZED(struct kp_kernel), .run = twice};
	static const char note[] =
		"{\"name\":\"own\",\"operation\":\"gemm/mm\",\"priority\":1,"
		"\"signatures\":[\"a=f32,b=f32,c=f32\"],\"flags\":[\"reentrant\"]}";
	struct kp_handle *handle = NULL;
	int status = open_another(&handle, error);

	if (status != KP_OK)
		return status;
	status = kp_local_add(handle, note, &own, error);
	if (status == KP_OK)
		status = kp_local_remove(handle, "own", error);
	/* What was removed is kept for who is in it until this. */
	kp_close(handle);
	return status;
}

static const struct {
	const char *name;
	scenario_fn *run;
} scenarios[] = {
	{"open and close", open_and_close},
	{"a site and a call", resolve_and_call},
	{"the kernel of a site", name_the_kernel},
	{"why a site runs it", say_why},
	{"a decision", decide},
	{"why in general", explain},
	{"a family", describe},
	{"a fingerprint", digest},
	{"a scope", override},
	{"a hold", hold},
	{"a kernel of its own", add_own},
};
enum { SCENARIOS = sizeof(scenarios) / sizeof(scenarios[0]) };

static int refuse(int which, size_t at, bool for_good, size_t *seen)
{
	struct kp_error error = fresh();
	long left;

	scarce_begin(at, for_good);
	int status = scenarios[which].run(&error);
	*seen = scarce_end(&left);
	ck_assert_msg(!is_wrong, "%s, allocation %zu: its result is wrong",
		scenarios[which].name, at);
	ck_assert_msg(left == 0, "%s, allocation %zu: %ld are left",
		scenarios[which].name, at, left);
	ck_assert_msg(status == KP_OK || status == KP_NO_MEMORY,
		"%s, allocation %zu: %d: %s", scenarios[which].name, at, status,
		error.text);
	return status;
}

static void refuse_each(int which, bool for_good)
{
	size_t all, seen;

	/* What libc and this process keep for good, they have after the first time. */
	struct kp_error error = fresh();
	must(scenarios[which].run(&error));
	must(refuse(which, 0, false, &all));
	ck_assert_uint_lt(all, ALLOCATIONS_MOST);
	for (size_t at = 1; at <= all; at++)
		(void)refuse(which, at, for_good, &seen);
	must(refuse(which, 0, false, &seen));
}

static void setup(void)
{
	plugind_begin(&plugind);
	open_before = open_as("before", KP_NO_DAEMON);
	site_before = site_of(open_before, mm);
	product_init(&product, KP_CODE_FLOAT, EDGE);
	ck_assert(product_run(site_before, &product));
	product_release(&product);
}

static void teardown(void)
{
	product_finish(&product);
	kp_site_free(site_before);
	kp_close(open_before);
	plugind_end(&plugind);
}

START_TEST(an_allocation_that_fails_costs_the_application_that_answer_alone)
{
	refuse_each(_i, false);
	refuse_each(_i, true);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("no_memory_host");
	TCase *tcase = tcase_create("no_memory_host");

	tcase_set_timeout(tcase, 100);
	tcase_add_checked_fixture(tcase, setup, teardown);
	if (scarce_works()) {
		tcase_add_loop_test(tcase,
			an_allocation_that_fails_costs_the_application_that_answer_alone,
			0, SCENARIOS);
	} else {
		suite_skip("exhausted memory in libkplug",
			"a sanitizer has a heap of its own");
	}
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
