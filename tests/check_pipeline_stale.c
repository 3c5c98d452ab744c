/* SPDX-License-Identifier: MIT */
/* A check of what has changed that finds no memory answers all the same. */
#include "tests/support/played_workers.h"

#include "daemon/scan/stale.h"

/* In the place of daemon/scan/stale.c: there is no memory for it. */
static struct stale *next;
static int added;

struct stale *stale_new(void)
{
	return next;
}

int stale_add(struct stale *stale, const char *plugin, struct trace *trace)
{
	(void)stale;
	(void)plugin;
	(void)trace;
	added++;
	return -1;
}

void stale_start(struct stale *stale, struct lane *lane, const struct kp_trust *trust,
	stale_done_fn *given, void *context)
{
	(void)stale;
	(void)lane;
	(void)trust;
	(void)given;
	(void)context;
	ck_abort_msg("nothing can be started without memory");
}

void stale_free(struct stale *stale)
{
	ck_assert_ptr_eq(stale, next);
}

static void found(void *context, const struct stale_plugin *plugins, size_t count)
{
	(void)plugins;
	ck_assert_uint_eq(count, 0);
	++*(int *)context;
}

static int answers(void)
{
	int came = 0;
	library("x.so", "bytes");
	struct kp_manifest m = manifest("x.so");
	struct kp_manifests manifests = {.count = 1, .items = &m};
	start();
	go(&m, false);
	pipeline_stale(pipeline, &manifests, found, &came);
	stop();
	kp_manifest_finish(&m);
	return came;
}

START_TEST(check_that_cannot_begin_answers)
{
	next = NULL;
	ck_assert_int_eq(answers(), 1);
}
END_TEST

START_TEST(check_that_cannot_hold_a_plugin_answers)
{
	int somewhere;
	next = (struct stale *)&somewhere;
	ck_assert_int_eq(answers(), 1);
	ck_assert_int_eq(added, 1);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		check_that_cannot_begin_answers, check_that_cannot_hold_a_plugin_answers};
	return run_cases("pipeline_stale", tests, sizeof(tests) / sizeof(tests[0]));
}
