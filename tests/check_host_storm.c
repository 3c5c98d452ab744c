/* SPDX-License-Identifier: MIT */
/* Threads that call while everything that can be changed is changed, without a pause. */
#include "tests/support/sites.h"
#include "tests/support/suite.h"

#include <jansson.h>
#include <pthread.h>

#include "lib/base/clock.h"

enum { THREADS = 8, SHORT_MS = 3000, LONG_MS = 60000, VERSIONS = 4 };

static const char MM[] = "reference/gemm_mm";
static const char *const plugins[] = {"reference", "x86", "openblas"};

static void setup(void)
{
	plugind_begin_with(&plugind, plugins, 3);
}

static void teardown(void)
{
	plugind_end(&plugind);
}

/* ---- those who call ------------------------------------------------------------- */

struct worker {
	struct kp_site *site;
	pthread_t thread;
	uint64_t calls, wrong;
	bool *over; /* atomic */
	int64_t edge;
};

static void *call_on(void *context)
{
	struct worker *worker = context;
	struct product product;

	product_init(&product, KP_CODE_FLOAT, worker->edge);
	while (!__atomic_load_n(worker->over, __ATOMIC_RELAXED)) {
		worker->wrong += !product_run(worker->site, &product);
		worker->calls++;
	}
	product_finish(&product);
	return NULL;
}

static void begin(struct worker *workers, struct kp_handle *handle, bool *over)
{
	const struct kp_site_options whole = {.operation = "gemm/mm", .label = "whole"};
	const struct kp_site_options checked = {
		.operation = "gemm/mm", .label = "checked", .flags = KP_SITE_CHECKED};
	struct kp_site *sites[] = {site_of(handle, whole), site_of(handle, checked)};

	for (size_t i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){
			.site = sites[i % 2], .over = over, .edge = i % 3 ? EDGE : 7};
		ck_assert_int_eq(
			pthread_create(&workers[i].thread, NULL, call_on, &workers[i]),
			0);
	}
}

static void end(struct worker *workers, bool *over)
{
	__atomic_store_n(over, true, __ATOMIC_RELAXED);
	for (size_t i = 0; i < THREADS; i++) {
		ck_assert_int_eq(pthread_join(workers[i].thread, NULL), 0);
		ck_assert_uint_gt(workers[i].calls, 0);
		ck_assert_uint_eq(workers[i].wrong, 0);
	}
}

/* ---- what changes --------------------------------------------------------------- */

static const char *const changed[] = {"x86", "openblas"};

static void reload(bool waits)
{
	json_decref(plugind_ask(&plugind, "Reload", NULL));
	if (waits)
		json_decref(
			plugind_ask(&plugind, "Status", json_pack("{s:b}", "wait", 1)));
}

static void switch_off_and_on(unsigned i)
{
	static const char *const names[] = {"x86", "openblas", "x86/gemm_mm"};

	plugind_decide(&plugind, "Disable", names[i % 3]);
	plugind_decide(&plugind, "Enable", names[i % 3]);
}

static void pin_and_unpin(void)
{
	json_decref(plugind_ask(&plugind, "Pin",
		json_pack("{s:s, s:s}", "operation", "gemm/mm", "choice", MM)));
	json_decref(plugind_ask(
		&plugind, "Unpin", json_pack("{s:s}", "operation", "gemm/mm")));
}

/* Nobody waits for the new one: whatever is there of it is decided about. */
static void upgrade(unsigned i)
{
	plugind_put(&plugind, changed[i % 2], 1 + i % VERSIONS);
	reload(false);
}

/* Names that have left cannot be decided about: it is back when this returns. */
static void take_and_bring_back(unsigned i)
{
	plugind_remove(&plugind, changed[i % 2]);
	reload(true);
	plugind_put(&plugind, changed[i % 2], 1 + i % VERSIONS);
	reload(true);
}

static void change_for(int64_t ms)
{
	int64_t end_at = kp_clock_ms() + ms;

	for (unsigned i = 0; kp_clock_ms() < end_at; i++) {
		switch_off_and_on(i);
		if (i % 3 == 0)
			upgrade(i / 3);
		if (i % 7 == 0)
			pin_and_unpin();
		if (i % 11 == 0)
			take_and_bring_back(i / 11);
	}
}

/* How many libraries of the store this process has called. */
static size_t count_stored(void)
{
	FILE *file = fopen("/proc/self/maps", "r");
	char line[512], *path, last[512] = "";
	size_t count = 0;

	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof(line), file)) {
		path = strstr(line, "/store/");
		if (path && strcmp(path, last) != 0) {
			snprintf(last, sizeof(last), "%s", path);
			count++;
		}
	}
	fclose(file);
	return count;
}

START_TEST(t48_threads_get_right_results_while_plugins_come_and_go)
{
	struct kp_handle *handle = open_as("many", 0);
	struct worker workers[THREADS];
	bool over = false;

	begin(workers, handle, &over);
	change_for(getenv("KPLUG_LONG") ? LONG_MS : SHORT_MS);
	end(workers, &over);
	/* The first two, and an upgraded one at least. */
	ck_assert_uint_ge(count_stored(), 3);
	kp_close(handle);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("host_storm");
	TCase *tcase = tcase_create("storm");
	tcase_set_timeout(tcase, getenv("KPLUG_LONG") ? 400 : 100);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, t48_threads_get_right_results_while_plugins_come_and_go);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
