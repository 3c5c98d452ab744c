/* SPDX-License-Identifier: MIT */
/* Sites over a long life, steps, holds, forks, and a device that is lost. */
#include "tests/support/sites.h"
#include "tests/support/suite.h"

#include <jansson.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/clock.h"

static const struct kp_site_options mm = {.operation = "gemm/mm", .label = "ffn.up"};
static const int64_t dims[] = {EDGE, EDGE, EDGE};

static void setup(void)
{
	plugind_begin(&plugind);
}

static void teardown(void)
{
	plugind_end(&plugind);
}

/* ---- memory -------------------------------------------------------------------------
 */

static long resident_kib(void)
{
	FILE *file = fopen("/proc/self/smaps_rollup", "r");
	char line[256];
	long kib = 0;

	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "Private_Dirty: %ld", &kib) == 1)
			break;
	fclose(file);
	return kib;
}

static void cycle(struct kp_site *site, struct product *product, int times)
{
	char plugin[128];

	snprintf(plugin, sizeof(plugin), "%s", plugin_of(site));
	for (int i = 0; i < times; i++) {
		plugind_decide(&plugind, "Disable", plugin);
		ck_assert(product_run(site, product));
		ck_assert_str_ne(plugin_of(site), plugin);
		plugind_decide(&plugind, "Enable", plugin);
		ck_assert(product_run(site, product));
	}
}

START_TEST(t47_an_applications_memory_is_flat_over_cycles)
{
	int times = getenv("KPLUG_LONG") ? 1000 : 100;
	struct kp_handle *handle = open_as("flat", 0);
	struct kp_site *site = site_of(handle, mm);
	struct product product;

	product_init(&product, KP_CODE_FLOAT, EDGE);
	cycle(site, &product, 20);
	long before = resident_kib();
	cycle(site, &product, times);
	/* That sanitizer keeps what was freed. */
#ifndef __SANITIZE_ADDRESS__
	ck_assert_int_le(resident_kib() - before, 512);
#else
	(void)before;
#endif
	product_finish(&product);
	kp_close(handle);
}
END_TEST

START_TEST(t45_what_was_called_stays_mapped_after_everything_is_closed)
{
	struct product product;
	char maps[1 << 16], plugin[128];

	product_init(&product, KP_CODE_FLOAT, EDGE);
	for (int i = 0; i < 3; i++) {
		struct kp_handle *handle = open_as("again", 0);
		struct kp_site *site = site_of(handle, mm);
		ck_assert(product_run(site, &product));
		snprintf(plugin, sizeof(plugin), "%s", plugin_of(site));
		plugind_decide(&plugind, "Disable", plugin);
		ck_assert(product_run(site, &product));
		ck_assert_str_ne(plugin_of(site), plugin);
		plugind_decide(&plugind, "Enable", plugin);
		kp_close(handle);
		product_release(&product);
	}
	FILE *file = fopen("/proc/self/maps", "r");
	ck_assert_ptr_nonnull(file);
	maps[fread(maps, 1, sizeof(maps) - 1, file)] = '\0';
	fclose(file);
	ck_assert_ptr_nonnull(strstr(maps, "/store/"));
	product_finish(&product);
}
END_TEST

/* ---- plugind comes and goes ---------------------------------------------------------
 */

static bool is_attached(void *context)
{
	return kp_is_attached(context);
}

static bool is_alone(void *context)
{
	return !kp_is_attached(context);
}

START_TEST(sites_work_without_plugind_and_follow_the_next_one)
{
	struct kp_handle *handle = open_as("lasting", 0);
	struct kp_site *site = site_of(handle, mm);
	struct product product;
	char plugin[128];

	product_init(&product, KP_CODE_FLOAT, EDGE);
	ck_assert(product_run(site, &product));
	snprintf(plugin, sizeof(plugin), "%s", plugin_of(site));
	plugind_kill(&plugind, SIGKILL);
	plugind_await(is_alone, handle, "the end of plugind");
	ck_assert(product_run(site, &product));
	plugind_start(&plugind);
	plugind_await(is_attached, handle, "the next plugind");
	plugind_decide(&plugind, "Disable", plugin);
	ck_assert(product_run(site, &product));
	ck_assert_str_ne(plugin_of(site), plugin);
	product_finish(&product);
	kp_close(handle);
}
END_TEST

/* ---- steps --------------------------------------------------------------------------
 */

START_TEST(with_steps_a_change_is_adopted_by_all_sites_at_the_next_one)
{
	struct kp_handle *handle = open_as("steps", KP_ADOPT_AT_STEP);
	struct kp_site *sites[] = {site_of(handle, mm), site_of(handle, mm)};
	struct kp_error error = fresh();
	struct product product;
	uint32_t changed = 9;
	char first[128];

	product_init(&product, KP_CODE_FLOAT, EDGE);
	must(kp_step(handle, &changed, &error));
	for (int i = 0; i < 2; i++)
		ck_assert(product_run(sites[i], &product));
	snprintf(first, sizeof(first), "%s", kp_site_kernel(sites[0], dims));
	uint64_t before = kp_generation(handle);
	plugind_decide(&plugind, "Disable", plugin_of(sites[0]));
	for (int i = 0; i < 2; i++) {
		ck_assert(product_run(sites[i], &product));
		runs(sites[i], first);
	}
	ck_assert_uint_eq(kp_generation(handle), before);
	must(kp_step(handle, &changed, &error));
	ck_assert_uint_eq(changed, 2);
	ck_assert_uint_gt(kp_generation(handle), before);
	ck_assert_str_ne(kp_site_kernel(sites[0], dims), first);
	must(kp_step(handle, &changed, &error));
	ck_assert_uint_eq(changed, 0);
	product_finish(&product);
	kp_close(handle);
}
END_TEST

/* ---- holds --------------------------------------------------------------------------
 */

static size_t count_holds(const char *name)
{
	json_t *client = plugind_client(&plugind, name);
	ck_assert_ptr_nonnull(client);
	size_t count = json_array_size(json_object_get(client, "holds"));

	json_decref(client);
	return count;
}

START_TEST(holds_are_told_and_taken_back)
{
	struct kp_handle *handle = open_as("holder", 0);
	struct kp_site *site = site_of(handle, mm);
	struct kp_error error = fresh();
	uint64_t graph = 0, other = 0;

	must(kp_hold(site, "graph", &graph, &error));
	must(kp_hold(site, "weight", &other, &error));
	ck_assert_uint_eq(count_holds("holder"), 2);
	ck_assert_int_eq(kp_release(handle, graph), KP_OK);
	ck_assert_int_eq(kp_release(handle, graph), KP_INVALID);
	ck_assert_uint_eq(count_holds("holder"), 1);
	ck_assert_int_eq(kp_release(handle, other), KP_OK);
	kp_close(handle);
}
END_TEST

/* ---- fork ---------------------------------------------------------------------------
 */

static int in_child(
	struct kp_handle *handle, struct kp_site *site, struct product *product)
{
	struct kp_site *mine = NULL;
	struct kp_error error = fresh();
	uint32_t changed;

	if (kp_run(site, &product->call) != KP_INVALID ||
		!strstr(product->error.text, "forked") ||
		kp_step(handle, &changed, &error) != KP_INVALID ||
		kp_site_new(handle, &mm, &mine, &error) != KP_INVALID ||
		kp_site_kernel(site, dims))
		return 1;
	kp_site_free(site);
	kp_close(handle);
	struct kp_options options = {.size = sizeof(options), .socket = plugind.socket};
	struct kp_site_options sized = mm;
	sized.size = sizeof(sized);
	if (kp_open(&options, &handle, &error) != KP_OK ||
		kp_site_new(handle, &sized, &mine, &error) != KP_OK)
		return 2;
	product_release(product);
	if (!product_run(mine, product))
		return 3;
	kp_close(handle);
	return 0;
}

START_TEST(a_child_is_told_that_it_is_one_and_opens_anew)
{
	struct kp_handle *handle = open_as("parent", 0);
	struct kp_site *site = site_of(handle, mm);
	struct product product;
	int status;

	product_init(&product, KP_CODE_FLOAT, EDGE);
	ck_assert(product_run(site, &product));
	pid_t child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0)
		_exit(in_child(handle, site, &product));
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	ck_assert(product_run(site, &product));
	product_finish(&product);
	kp_close(handle);
}
END_TEST

/* ---- devices ------------------------------------------------------------------------
 */

static int lose(const struct kp_call *call)
{
	(void)call;
	return KP_DEVICE_LOST;
}

START_TEST(a_lost_device_is_closed_for_the_process)
{
	static const struct kp_kernel losing = {KP_SIZED(struct kp_kernel), .run = lose};
	static const char note[] =
		"{\"name\":\"losing\",\"operation\":\"gemm/mm\",\"priority\":19,"
		"\"signatures\":[\"a=f32,b=f32,c=f32\"],\"flags\":[\"reentrant\"]}";
	struct kp_site_options checked = mm;
	struct kp_error error = fresh();

	/* What it had loaded for the device would be given up: a leak, for a sanitizer.
	 */
	plugind_decide(&plugind, "Disable", "openblas");
	for (int i = 0; i < 2; i++) {
		struct kp_handle *handle = open_as("losing", 0);
		struct product product;
		checked.flags = i ? KP_SITE_CHECKED : 0;
		struct kp_site *site = site_of(handle, checked);
		product_init(&product, KP_CODE_FLOAT, EDGE);
		ck_assert(product_run(site, &product));
		must(kp_local_add(handle, note, &losing, &error));
		ck_assert_int_eq(kp_run(site, &product.call), KP_DEVICE_LOST);
		must(kp_local_remove(handle, "losing", &error));
		ck_assert_int_eq(kp_run(site, &product.call), KP_DEVICE_LOST);
		ck_assert_msg(strstr(product.error.text, "lost") != NULL, "%s",
			product.error.text);
		ck_assert_ptr_null(kp_site_kernel(site, dims));
		product_finish(&product);
		kp_close(handle);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("host_live");
	TCase *tcase = tcase_create("live");
	tcase_set_timeout(tcase, getenv("KPLUG_LONG") ? 400 : 100);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, t47_an_applications_memory_is_flat_over_cycles);
	tcase_add_test(
		tcase, t45_what_was_called_stays_mapped_after_everything_is_closed);
	tcase_add_test(tcase, sites_work_without_plugind_and_follow_the_next_one);
	tcase_add_test(
		tcase, with_steps_a_change_is_adopted_by_all_sites_at_the_next_one);
	tcase_add_test(tcase, holds_are_told_and_taken_back);
	if (suite_is_threaded())
		suite_skip("a child", "ThreadSanitizer knows no threads of a child");
	else
		tcase_add_test(tcase, a_child_is_told_that_it_is_one_and_opens_anew);
	tcase_add_test(tcase, a_lost_device_is_closed_for_the_process);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
