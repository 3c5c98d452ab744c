/* SPDX-License-Identifier: MIT */
/* The registry: states, duplicates, decisions and tables. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/scene.h"
#include "tests/support/suite.h"

START_TEST(t08_one_bad_and_three_good_plugins_are_four)
{
	struct world *world = scene_begin();

	scene_put(world, scene_with(scene_plugin("bad", 19), "state", "failed"));
	scene_put(world, scene_plugin("a", 3));
	scene_put(world, scene_plugin("b", 5));
	scene_put(world, scene_plugin("c", 4));
	scene_must(world, world_scan(world, NULL));
	size_t counts[KP_STATES];
	kp_registry_states(world->registry, counts);
	ck_assert_uint_eq(kp_registry_count(world->registry), 4);
	ck_assert_uint_eq(counts[KP_STATE_ACTIVE], 3);
	ck_assert_uint_eq(counts[KP_STATE_FAILED], 1);
	scene_selects(world, "b/k");
	world_free(world);
}
END_TEST

START_TEST(t08_a_wrong_manifest_is_counted_and_harms_nobody)
{
	struct world *world = scene_begin();

	scene_put(world,
		json_pack("{s:s, s:s}", "plugin", "bad", "raw", "{\"library\": 3}"));
	scene_put(world, scene_plugin("a", 3));
	scene_must(world, world_scan(world, NULL));
	scene_is(world, "bad", "rejected");
	scene_says(world, "bad", "wrong_type", "library");
	scene_selects(world, "a/k");
	world_free(world);
}
END_TEST

START_TEST(t08_a_note_that_is_no_note_is_counted_and_harms_nobody)
{
	struct world *world = scene_begin();

	scene_put(world,
		json_pack("{s:s, s:{s:i}}", "plugin", "bad", "note", "kernels", 7));
	scene_put(world, scene_plugin("a", 3));
	scene_must(world, world_scan(world, NULL));
	scene_says(world, "bad", "wrong_type", "kernels");
	scene_selects(world, "a/k");
	world_free(world);
}
END_TEST

START_TEST(t09_absent_libraries_are_listed_and_change_no_selection)
{
	struct world *world = scene_begin();
	char name[24];

	scene_put(world, scene_plugin("good", 4));
	for (int i = 0; i < 7; i++) {
		(void)snprintf(name, sizeof(name), "stale%d", i);
		json_t *stale = json_pack("{s:s, s:s, s:s, s:s}", "plugin", name, "state",
			"missing", "code", "missing_file", "message", "it is not there");
		scene_put(world, stale);
	}
	scene_must(world, world_scan(world, NULL));
	for (int i = 0; i < 7; i++) {
		(void)snprintf(name, sizeof(name), "stale%d", i);
		scene_is(world, name, "missing");
		scene_says(world, name, "missing_file", "not there");
	}
	scene_selects(world, "good/k");
	world_free(world);
}
END_TEST

START_TEST(t10_the_same_library_is_kept_by_the_first_name)
{
	struct world *world = scene_begin();

	scene_put(world, scene_with(scene_plugin("z", 9), "digest", "same"));
	scene_put(world, scene_with(scene_plugin("a", 5), "digest", "same"));
	scene_must(world, world_scan(world, NULL));
	scene_is(world, "a", "active");
	scene_is(world, "z", "rejected");
	scene_says(world, "z", "duplicate_of", "duplicate of a");
	scene_selects(world, "a/k");
	world_free(world);
}
END_TEST

START_TEST(t10_the_same_note_name_is_kept_by_the_first_name)
{
	struct world *world = scene_begin();
	json_t *other = scene_plugin("z", 9);

	json_object_set_new(json_object_get(other, "note"), "name", json_string("a"));
	scene_put(world, other);
	scene_put(world, scene_plugin("a", 5));
	scene_must(world, world_scan(world, NULL));
	scene_says(world, "z", "duplicate_of", "same name, a");
	scene_selects(world, "a/k");
	world_free(world);
}
END_TEST

START_TEST(t10_the_first_keeps_it_while_disabled)
{
	struct world *world = scene_begin();
	bool changed;

	scene_put(world, scene_with(scene_plugin("a", 5), "digest", "same"));
	scene_put(world, scene_with(scene_plugin("z", 9), "digest", "same"));
	scene_must(world, world_scan(world, NULL));
	ck_assert_int_eq(
		kp_decisions_disable(&world->decisions, "a", "", 1, 0, false, &changed),
		0);
	scene_must(world, world_decide(world));
	scene_is(world, "a", "disabled");
	scene_is(world, "z", "rejected");
	scene_selects(world, NULL);
	world_free(world);
}
END_TEST

START_TEST(t10_the_first_keeps_it_while_quarantined)
{
	struct world *world = scene_begin();

	scene_put(world, scene_with(scene_with(scene_plugin("a", 5), "digest", "same"),
				 "state", "quarantined"));
	scene_put(world, scene_with(scene_plugin("z", 9), "digest", "same"));
	scene_must(world, world_scan(world, NULL));
	scene_is(world, "z", "rejected");
	scene_selects(world, NULL);
	world_free(world);
}
END_TEST

START_TEST(t10_the_second_comes_to_life_when_the_first_leaves)
{
	struct world *world = scene_begin();

	scene_put(world, scene_with(scene_plugin("a", 5), "digest", "same"));
	scene_put(world, scene_with(scene_plugin("z", 9), "digest", "same"));
	scene_must(world, world_scan(world, NULL));
	scene_selects(world, "a/k");
	world_take(world, "a");
	scene_must(world, world_scan(world, NULL));
	scene_is(world, "z", "active");
	scene_selects(world, "z/k");
	world_free(world);
}
END_TEST

START_TEST(t48_what_is_disabled_is_reached_by_no_other_name)
{
	struct world *world = scene_begin();
	bool changed;

	scene_put(world, scene_with(scene_plugin("a", 5), "digest", "same"));
	scene_put(world, scene_with(scene_plugin("alias", 9), "digest", "same"));
	scene_must(world, world_scan(world, NULL));
	ck_assert_int_eq(
		kp_decisions_disable(&world->decisions, "a", "", 1, 0, false, &changed),
		0);
	scene_must(world, world_decide(world));
	scene_must(world, world_build(world, 1));
	const char *names[] = {"a/k", "alias/k"};
	for (size_t i = 0; i < 2; i++) {
		struct kp_request request = {.operation = "gemm/mm", .force = true};
		struct kp_decision decision;
		struct kp_diag diag;
		request.overrides[KP_OVERRIDE_ARGUMENT] = names[i];
		ck_assert_int_eq(
			kp_select(&world->table, &request, &decision, &diag), -1);
		ck_assert_str_eq(diag.code, "override_ineligible");
		ck_assert_ptr_eq(strstr(diag.message, " names "), NULL);
		ck_assert_ptr_nonnull(strstr(diag.message, " is not eligible: "));
	}
	scene_selects(world, NULL);
	world_free(world);
}
END_TEST

START_TEST(t48_a_disabled_kernel_stays_so_when_its_plugin_is_probed_again)
{
	struct world *world = scene_begin();
	bool changed;

	scene_put(world, scene_plugin("a", 5));
	scene_must(world, world_scan(world, NULL));
	ck_assert_int_eq(
		kp_decisions_disable(&world->decisions, "a/k", "", 1, 0, false, &changed),
		0);
	scene_must(world, world_decide(world));
	scene_must(world, world_scan(world, ""));
	scene_selects(world, NULL);
	world_free(world);
}
END_TEST

START_TEST(t48_a_disabled_plugin_stays_so_when_its_library_changes)
{
	struct world *world = scene_begin();
	bool changed;

	scene_put(world, scene_plugin("a", 5));
	ck_assert_int_eq(
		kp_decisions_disable(&world->decisions, "a", "", 1, 0, false, &changed),
		0);
	scene_must(world, world_decide(world));
	scene_must(world, world_scan(world, NULL));
	scene_put(world, scene_with(scene_plugin("a", 19), "digest", "newer"));
	scene_must(world, world_scan(world, "a"));
	scene_selects(world, NULL);
	world_free(world);
}
END_TEST

START_TEST(old_kernels_serve_until_the_new_verdict_is_there)
{
	struct world *world = scene_begin();
	json_t *again = json_pack("{s:s, s:{s:i}, s:b}", "plugin", "a", "manifest",
		"timeout_ms", 5, "pending", 1);

	scene_put(world, scene_plugin("a", 5));
	scene_must(world, world_scan(world, NULL));
	scene_put(world, again);
	scene_must(world, world_scan(world, NULL));
	scene_is(world, "a", "pending");
	scene_selects(world, "a/k");
	world_free(world);
}
END_TEST

START_TEST(a_verdict_for_another_manifest_is_dropped)
{
	struct world *world = scene_begin();
	struct kp_verdict verdict = {.state = KP_STATE_FAILED};
	struct kp_diag diag;

	scene_put(world, scene_plugin("a", 5));
	scene_must(world, world_scan(world, NULL));
	verdict.message = strdup("late");
	ck_assert_int_eq(kp_registry_apply(world->registry, "a", "0123456789abcdef",
				 &verdict, 1, &diag),
		0);
	scene_is(world, "a", "active");
	verdict = (struct kp_verdict){.state = KP_STATE_FAILED};
	ck_assert_int_eq(kp_registry_apply(world->registry, "gone", "0123456789abcdef",
				 &verdict, 1, &diag),
		0);
	world_free(world);
}
END_TEST

START_TEST(every_change_of_a_state_is_told_once)
{
	struct world *world = scene_begin();

	scene_put(world, scene_plugin("a", 5));
	scene_must(world, world_scan(world, NULL));
	scene_must(world, world_scan(world, NULL));
	world_take(world, "a");
	scene_must(world, world_scan(world, NULL));
	json_t *expected = scene_parse("[\"a pending\", \"a active\", \"a gone\"]");
	ck_assert(json_equal(world->changes, expected));
	json_decref(expected);
	world_free(world);
}
END_TEST

START_TEST(a_table_makes_the_registry_clean_until_something_changes)
{
	struct world *world = scene_begin();
	bool changed;

	scene_put(world, scene_plugin("a", 5));
	scene_must(world, world_scan(world, NULL));
	ck_assert(kp_registry_is_dirty(world->registry));
	scene_must(world, world_build(world, 1));
	ck_assert(!kp_registry_is_dirty(world->registry));
	scene_must(world, world_scan(world, NULL));
	ck_assert(!kp_registry_is_dirty(world->registry));
	ck_assert_int_eq(
		kp_decisions_disable(&world->decisions, "a", "", 1, 0, false, &changed),
		0);
	scene_must(world, world_decide(world));
	ck_assert(kp_registry_is_dirty(world->registry));
	world_free(world);
}
END_TEST

static size_t size_with(int kernels)
{
	struct world *world = scene_begin();
	json_t *list = json_array();

	for (int i = 0; i < kernels; i++) {
		char name[32];
		(void)snprintf(name, sizeof(name), "gemm_variant_%05d", i);
		json_array_append_new(list, scene_kernel(name, i % 20));
	}
	scene_put(world,
		json_pack("{s:s, s:{s:o}}", "plugin", "a", "note", "kernels", list));
	scene_must(world, world_scan(world, NULL));
	scene_must(world, world_build(world, 1));
	size_t size = world->size;
	world_free(world);
	return size;
}

START_TEST(a_further_kernel_costs_less_than_100_bytes_of_a_table)
{
	size_t each = (size_with(1000) - size_with(500)) / 500;
	ck_assert_msg(each < 100, "%zu bytes", each);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("registry");
	TCase *tcase = tcase_create("registry");

	tcase_add_test(tcase, t08_one_bad_and_three_good_plugins_are_four);
	tcase_add_test(tcase, t08_a_wrong_manifest_is_counted_and_harms_nobody);
	tcase_add_test(tcase, t08_a_note_that_is_no_note_is_counted_and_harms_nobody);
	tcase_add_test(tcase, t09_absent_libraries_are_listed_and_change_no_selection);
	tcase_add_test(tcase, t10_the_same_library_is_kept_by_the_first_name);
	tcase_add_test(tcase, t10_the_same_note_name_is_kept_by_the_first_name);
	tcase_add_test(tcase, t10_the_first_keeps_it_while_disabled);
	tcase_add_test(tcase, t10_the_first_keeps_it_while_quarantined);
	tcase_add_test(tcase, t10_the_second_comes_to_life_when_the_first_leaves);
	tcase_add_test(tcase, t48_what_is_disabled_is_reached_by_no_other_name);
	tcase_add_test(
		tcase, t48_a_disabled_kernel_stays_so_when_its_plugin_is_probed_again);
	tcase_add_test(tcase, t48_a_disabled_plugin_stays_so_when_its_library_changes);
	tcase_add_test(tcase, old_kernels_serve_until_the_new_verdict_is_there);
	tcase_add_test(tcase, a_verdict_for_another_manifest_is_dropped);
	tcase_add_test(tcase, every_change_of_a_state_is_told_once);
	tcase_add_test(tcase, a_table_makes_the_registry_clean_until_something_changes);
	tcase_add_test(tcase, a_further_kernel_costs_less_than_100_bytes_of_a_table);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
