/* SPDX-License-Identifier: MIT */
/* The registry: what an operator turned off stays off, whatever it is called. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/scene.h"
#include "tests/support/suite.h"

static void disable(struct world *world, const char *name, const char *reason)
{
	bool changed;

	ck_assert_int_eq(kp_decisions_disable(
				 &world->decisions, name, reason, 1, 7, false, &changed),
		0);
	scene_must(world, world_decide(world));
}

static void enable(struct world *world, const char *name)
{
	ck_assert(kp_decisions_enable(&world->decisions, name));
	scene_must(world, world_decide(world));
}

/* A second plugin of the library of `a`, or only of its note's name. */
static json_t *twin(const char *name, bool same_library)
{
	json_t *plugin = scene_plugin(name, 9);

	json_object_set_new(json_object_get(plugin, "note"), "name", json_string("a"));
	return same_library ? scene_with(plugin, "digest", "a") : plugin;
}

/* How the manifest of a disabled plugin can stop to hold its library. */
static void leave(struct world *world, unsigned how)
{
	if (how == 0)
		world_take(world, "a");
	else if (how == 1)
		scene_put(world, json_pack("{s:s, s:b}", "plugin", "a", "masked", 1));
	else if (how == 2)
		scene_put(world, json_pack("{s:s, s:s}", "plugin", "a", "raw", "{}"));
	else
		scene_put(world, scene_with(scene_plugin("a", 5), "state", "rejected"));
	scene_must(world, world_scan(world, ""));
}
enum { WAYS = 4 };

START_TEST(t48_a_duplicate_of_a_disabled_plugin_stays_off_when_that_one_leaves)
{
	struct world *world = scene_begin();

	scene_put(world, scene_plugin("a", 5));
	scene_put(world, twin("z", _i % 2));
	scene_must(world, world_scan(world, NULL));
	disable(world, "a", "wrong sums");
	leave(world, (unsigned)_i / 2);
	scene_selects(world, NULL);
	scene_is(world, "z", "disabled");
	scene_says(world, "z", "disabled_by_operator",
		"(uid 7) under the name a, which must be enabled first: wrong sums");
	ck_assert_str_eq(kp_registry_disabled_as(world->registry, "z"), "a");
	ck_assert_str_eq(kp_registry_disabled_as(world->registry, "z/k"), "a");
	struct kp_request request = {.operation = "gemm/mm", .force = true};
	struct kp_decision decision;
	struct kp_diag diag;
	request.overrides[KP_OVERRIDE_ARGUMENT] = "z/k";
	ck_assert_int_eq(kp_select(&world->table, &request, &decision, &diag), -1);
	ck_assert_str_eq(diag.code, "override_ineligible");
	enable(world, "a");
	scene_selects(world, "z/k");
	ck_assert_ptr_null(kp_registry_disabled_as(world->registry, "z"));
	world_free(world);
}
END_TEST

START_TEST(t48_so_does_a_duplicate_that_comes_only_then)
{
	struct world *world = scene_begin();

	scene_put(world, scene_plugin("a", 5));
	scene_must(world, world_scan(world, NULL));
	disable(world, "a", "");
	leave(world, (unsigned)_i / 2);
	scene_put(world, twin("0", _i % 2));
	scene_must(world, world_scan(world, NULL));
	scene_selects(world, NULL);
	scene_is(world, "0", "disabled");
	world_free(world);
}
END_TEST

START_TEST(t48_a_duplicate_of_a_disabled_kernel_stays_off_when_that_one_leaves)
{
	struct world *world = scene_begin();

	scene_put(world, scene_plugin("a", 5));
	scene_put(world, twin("z", _i % 2));
	scene_put(world, scene_plugin("other", 3));
	scene_must(world, world_scan(world, NULL));
	disable(world, "a/k", "");
	leave(world, (unsigned)_i / 2);
	scene_selects(world, "other/k");
	scene_is(world, "z", "active");
	ck_assert_str_eq(kp_registry_disabled_as(world->registry, "z/k"), "a/k");
	ck_assert_ptr_null(kp_registry_disabled_as(world->registry, "z"));
	ck_assert_ptr_null(kp_registry_disabled_as(world->registry, "other/k"));
	enable(world, "a/k");
	scene_selects(world, "z/k");
	world_free(world);
}
END_TEST

/* The decisions of an earlier run; a has no verdict yet, or will never have one. */
static const char *const failures[] = {"rejected", "failed", "quarantined", "missing"};

START_TEST(what_has_failed_is_shown_as_that_also_while_it_is_disabled)
{
	const char *state = failures[_i];
	struct world *world = scene_begin();

	disable(world, "before", "");
	scene_put(world, scene_with(scene_plugin("before", 5), "state", state));
	scene_put(world, scene_with(scene_plugin("after", 5), "state", state));
	scene_must(world, world_scan(world, NULL));
	disable(world, "after", "");
	scene_is(world, "before", state);
	scene_is(world, "after", state);
	/* Mended, it is off: the decision held all the time. */
	scene_put(world, scene_plugin("after", 5));
	scene_must(world, world_scan(world, ""));
	scene_is(world, "after", "disabled");
	scene_selects(world, NULL);
	enable(world, "after");
	scene_is(world, "after", "active");
	enable(world, "before");
	scene_is(world, "before", state);
	world_free(world);
}
END_TEST

START_TEST(t48_a_cold_start_serves_no_duplicate_before_the_disabled_one_is_probed)
{
	struct world *world = scene_begin();
	json_t *slow = scene_plugin("a", 5);
	bool changed = false;

	json_object_set_new(slow, "pending", json_true());
	disable(world, _i / 2 ? "a/k" : "a", "");
	ck_assert_int_eq(
		kp_decisions_identify(&world->decisions, "a", "a", "a", &changed), 0);
	scene_must(world, world_decide(world));
	scene_put(world, slow);
	scene_put(world, twin("z", _i % 2));
	scene_must(world, world_scan(world, NULL));
	scene_selects(world, NULL);
	scene_must(world, world_apply(world, "a"));
	scene_selects(world, NULL);
	world_free(world);
}
END_TEST

START_TEST(t48_what_was_disabled_before_its_verdict_is_known_afterwards)
{
	struct world *world = scene_begin();
	json_t *slow = scene_plugin("a", 5);
	bool changed = false;

	json_object_set_new(slow, "pending", json_true());
	scene_put(world, slow);
	scene_must(world, world_scan(world, NULL));
	disable(world, "a", "");
	ck_assert_int_eq(
		kp_registry_identify(world->registry, &world->decisions, &changed), 0);
	ck_assert(!changed);
	scene_must(world, world_apply(world, "a"));
	ck_assert_int_eq(
		kp_registry_identify(world->registry, &world->decisions, &changed), 0);
	ck_assert(changed);
	ck_assert_str_eq(world->decisions.disabled[0].digest, "a");
	ck_assert_str_eq(world->decisions.disabled[0].package, "a");
	leave(world, 0);
	scene_put(world, twin("z", true));
	scene_must(world, world_scan(world, NULL));
	scene_selects(world, NULL);
	world_free(world);
}
END_TEST

START_TEST(other_libraries_are_not_turned_off_with_it)
{
	struct world *world = scene_begin();

	scene_put(world, scene_plugin("a", 5));
	scene_put(world, scene_plugin("ab", 4));
	scene_must(world, world_scan(world, NULL));
	disable(world, "a", "");
	leave(world, 0);
	scene_selects(world, "ab/k");
	world_free(world);
}
END_TEST

static void is_listed(const struct world *world, const char *name, const char *key,
	const char *expected)
{
	json_t *plugin = kp_registry_plugin_json(world->registry, name);
	json_t *names = scene_parse(expected);
	char *is = json_dumps(json_object_get(plugin, key), JSON_ENCODE_ANY);

	ck_assert_msg(json_equal(json_object_get(plugin, key), names), "%s: %s", key, is);
	free(is);
	json_decref(names);
	json_decref(plugin);
}

START_TEST(the_kernels_that_were_turned_off_one_by_one_are_listed)
{
	struct world *world = scene_begin();
	json_t *unproven = scene_kernel("new", 3);

	json_object_set_new(unproven, "flags", json_pack("[s]", "unproven"));
	scene_put(world,
		json_pack("{s:s, s:{s:[o, o, o]}}", "plugin", "a", "note", "kernels",
			scene_kernel("k", 5), scene_kernel("l", 4), unproven));
	scene_must(world, world_scan(world, NULL));
	scene_must(world, world_build(world, 1));
	is_listed(world, "a", "disabled_kernels", "[]");
	disable(world, "a/l", "");
	disable(world, "a/gone", "");
	scene_must(world, world_build(world, 2));
	is_listed(world, "a", "kernels", "[\"k\", \"l\", \"new\"]");
	is_listed(world, "a", "disabled_kernels", "[\"l\"]");
	disable(world, "a", "");
	scene_must(world, world_build(world, 3));
	is_listed(world, "a", "disabled_kernels", "[\"l\"]");
	leave(world, 1);
	scene_must(world, world_build(world, 4));
	is_listed(world, "a", "disabled_kernels", "[]");
	world_free(world);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("registry_decide");
	TCase *tcase = tcase_create("registry_decide");

	tcase_add_loop_test(tcase,
		t48_a_duplicate_of_a_disabled_plugin_stays_off_when_that_one_leaves, 0,
		2 * WAYS);
	tcase_add_loop_test(
		tcase, t48_so_does_a_duplicate_that_comes_only_then, 0, 2 * WAYS);
	tcase_add_loop_test(tcase,
		t48_a_duplicate_of_a_disabled_kernel_stays_off_when_that_one_leaves, 0,
		2 * WAYS);
	tcase_add_loop_test(tcase,
		t48_a_cold_start_serves_no_duplicate_before_the_disabled_one_is_probed, 0,
		4);
	tcase_add_loop_test(tcase,
		what_has_failed_is_shown_as_that_also_while_it_is_disabled, 0,
		sizeof(failures) / sizeof(failures[0]));
	tcase_add_test(
		tcase, t48_what_was_disabled_before_its_verdict_is_known_afterwards);
	tcase_add_test(tcase, other_libraries_are_not_turned_off_with_it);
	tcase_add_test(tcase, the_kernels_that_were_turned_off_one_by_one_are_listed);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
