/* SPDX-License-Identifier: MIT */
/* Before the directories have been read a scan knows nothing, and says so. */
#include "daemon/scan/scan.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/daemon.h"
#include "daemon/options.h"
#include "tests/support/scene.h"
#include "tests/support/suite.h"

static struct world *world;
static struct daemon service;
static char root[] = "/";
static const struct options options = {.plugin_dir = root, .rescan_s = 3600};
static struct kp_diag diag;

static void make_service(void)
{
	world = scene_begin();
	scene_put(world, scene_plugin("a", 9));
	scene_put(world, scene_plugin("b", 5));
	scene_must(world, world_scan(world, NULL));
	service = (struct daemon){.log = {.level = LOG_ERROR, .fd = STDERR_FILENO},
		.options = &options,
		.registry = world->registry};
	ck_assert_int_eq(uv_loop_init(&service.loop), 0);
	service.scan = scan_new(&service, &diag);
	ck_assert_ptr_nonnull(service.scan);
}

static void drop_service(void)
{
	scan_close(service.scan);
	ck_assert_int_eq(uv_run(&service.loop, UV_RUN_DEFAULT), 0);
	ck_assert_int_eq(uv_loop_close(&service.loop), 0);
	scan_free(service.scan);
	world_free(world);
}

START_TEST(what_is_tried_again_before_the_first_look_takes_no_plugin_away)
{
	static const char *const names[] = {"a", "b", "c"};
	ck_assert_int_eq(scan_retry(service.scan, names[_i], &diag), -1);
	ck_assert_str_eq(diag.code, "busy");
	ck_assert_str_eq(diag.object, names[_i]);
	ck_assert_uint_eq(kp_registry_count(service.registry), 2);
	scene_is(world, "a", "active");
	scene_is(world, "b", "active");
}
END_TEST

START_TEST(before_the_first_look_nothing_is_known)
{
	const char *const *names;
	ck_assert(!scan_has_read(service.scan));
	ck_assert(!scan_has_settled(service.scan));
	ck_assert_uint_eq(scan_unclaimed(service.scan, &names), 0);
	ck_assert_uint_eq(scan_manifests(service.scan)->count, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("scan");
	TCase *tcase = tcase_create("scan");
	tcase_add_checked_fixture(tcase, make_service, drop_service);
	tcase_add_loop_test(tcase,
		what_is_tried_again_before_the_first_look_takes_no_plugin_away, 0, 3);
	tcase_add_test(tcase, before_the_first_look_nothing_is_known);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
