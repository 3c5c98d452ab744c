/* SPDX-License-Identifier: MIT */
/* The registry: starting from the table of an earlier run. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/scene.h"
#include "tests/support/suite.h"

/* A second registry that starts from the table of the first. */
static struct world *restart(const struct world *before)
{
	struct world *world = scene_begin();
	struct kp_diag diag;

	ck_assert_msg(kp_registry_restore(
			      world->registry, before->bytes, before->size, &diag) == 0,
		"%s", diag.message);
	return world;
}

START_TEST(a_restored_table_is_served_and_all_of_it_pending)
{
	struct world *before = scene_begin();

	scene_put(before, scene_plugin("a", 5));
	scene_put(before, scene_plugin("b", 3));
	scene_must(before, world_scan(before, NULL));
	scene_must(before, world_build(before, 1));
	struct world *world = restart(before);
	scene_is(world, "a", "pending");
	json_t *pending = kp_registry_pending(world->registry);
	ck_assert_uint_eq(json_array_size(pending), 2);
	json_decref(pending);
	scene_selects(world, "a/k");
	world_free(world);
	world_free(before);
}
END_TEST

START_TEST(what_the_scan_does_not_find_leaves_the_restored_table)
{
	struct world *before = scene_begin();

	scene_put(before, scene_plugin("a", 5));
	scene_put(before, scene_plugin("b", 3));
	scene_must(before, world_scan(before, NULL));
	scene_must(before, world_build(before, 1));
	struct world *world = restart(before);
	json_t *later = scene_plugin("b", 3);
	json_object_set_new(later, "pending", json_true());
	scene_put(world, later);
	scene_must(world, world_scan(world, NULL));
	ck_assert_uint_eq(kp_registry_count(world->registry), 1);
	scene_selects(world, "b/k");
	world_free(world);
	world_free(before);
}
END_TEST

START_TEST(after_the_scan_a_restored_registry_equals_a_fresh_one)
{
	struct world *before = scene_begin();

	scene_put_many(before);
	scene_must(before, world_scan(before, NULL));
	scene_must(before, world_build(before, 1));
	struct world *world = restart(before);
	scene_put_many(world);
	scene_must(world, world_scan(world, NULL));
	scene_must(world, world_build(world, 1));
	ck_assert_uint_eq(world->size, before->size);
	ck_assert_mem_eq(world->bytes, before->bytes, before->size);
	world_free(world);
	world_free(before);
}
END_TEST

START_TEST(what_was_failed_or_a_duplicate_is_so_after_a_restart)
{
	struct world *before = scene_begin();

	scene_put_many(before);
	scene_must(before, world_scan(before, NULL));
	scene_must(before, world_build(before, 1));
	struct world *world = restart(before);
	scene_selects(world, "c/k");
	struct kp_request request = {.operation = "gemm/mm"};
	json_t *candidates = kp_explain_json(&world->table, &request);
	size_t eligible = 0;
	json_t *candidate;
	size_t i;
	json_array_foreach (candidates, i, candidate)
		eligible += json_is_true(json_object_get(candidate, "eligible"));
	json_decref(candidates);
	ck_assert_uint_eq(eligible, 3); /* a, b, c: not d, e, f, g */
	world_free(world);
	world_free(before);
}
END_TEST

/* The manifest that says so, or the file of decisions, has not been read yet. */
START_TEST(what_was_disabled_is_so_until_its_manifest_has_been_read)
{
	struct world *before = scene_begin();
	json_t *off = scene_plugin("a", 5);
	bool changed;

	if (_i == 0)
		json_object_set_new(off, "manifest", json_pack("{s:b}", "enabled", 0));
	scene_put(before, off);
	scene_must(before, world_scan(before, NULL));
	if (_i > 0)
		ck_assert_int_eq(kp_decisions_disable(&before->decisions, "a", "", 1, 0,
					 _i == 2, &changed),
			0);
	scene_must(before, world_decide(before));
	scene_must(before, world_build(before, 1));
	struct world *world = restart(before);
	scene_selects(world, NULL);
	scene_is(world, "a", "disabled");
	scene_must(world, world_build(world, 2));
	struct world *later = restart(world);
	scene_selects(later, NULL);
	scene_put(later, scene_plugin("a", 5));
	scene_must(later, world_scan(later, NULL));
	scene_selects(later, "a/k");
	world_free(later);
	world_free(world);
	world_free(before);
}
END_TEST

START_TEST(a_decision_that_is_known_at_the_start_gives_its_reason)
{
	struct world *before = scene_begin();
	bool changed;

	scene_put(before, scene_plugin("a", 5));
	scene_must(before, world_scan(before, NULL));
	scene_must(before, world_build(before, 1));
	struct world *world = restart(before);
	ck_assert_int_eq(kp_decisions_disable(
				 &world->decisions, "a", "slow", 1, 0, false, &changed),
		0);
	scene_must(world, world_decide(world));
	scene_says(world, "a", "disabled_by_operator", "slow");
	scene_selects(world, NULL);
	world_free(world);
	world_free(before);
}
END_TEST

START_TEST(damaged_bytes_restore_nothing)
{
	struct world *world = scene_begin();
	struct kp_diag diag;

	ck_assert_int_eq(kp_registry_restore(world->registry, "nonsense", 8, &diag), -1);
	ck_assert_str_eq(diag.code, "bad_table");
	ck_assert_uint_eq(kp_registry_count(world->registry), 0);
	world_free(world);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("registry_restore");
	TCase *tcase = tcase_create("registry_restore");

	tcase_add_test(tcase, a_restored_table_is_served_and_all_of_it_pending);
	tcase_add_test(tcase, what_the_scan_does_not_find_leaves_the_restored_table);
	tcase_add_test(tcase, after_the_scan_a_restored_registry_equals_a_fresh_one);
	tcase_add_test(tcase, what_was_failed_or_a_duplicate_is_so_after_a_restart);
	tcase_add_loop_test(
		tcase, what_was_disabled_is_so_until_its_manifest_has_been_read, 0, 3);
	tcase_add_test(tcase, a_decision_that_is_known_at_the_start_gives_its_reason);
	tcase_add_test(tcase, damaged_bytes_restore_nothing);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
