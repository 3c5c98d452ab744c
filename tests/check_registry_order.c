/* SPDX-License-Identifier: MIT */
/* The registry: no order of events shows, and what is refused leaves nothing. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/table/table_layout.h"
#include "tests/support/scene.h"
#include "tests/support/suite.h"

enum { ORDERS = 20 };

static void shuffle(const char **names, size_t count, unsigned *seed)
{
	for (size_t i = count; i > 1; i--) {
		size_t j = (size_t)rand_r(seed) % i;
		const char *swap = names[i - 1];
		names[i - 1] = names[j];
		names[j] = swap;
	}
}

/* Applies the verdicts in a random order, building tables on the way at random. */
static void run_order(struct world *world, unsigned *seed)
{
	const char *names[] = {"a", "b", "c", "d", "e", "f", "g"};
	const size_t count = sizeof(names) / sizeof(names[0]);
	json_t *value;
	size_t i;

	scene_put_many(world);
	json_array_foreach (world->plugins, i, value)
		json_object_set_new(value, "pending", json_true());
	scene_must(world, world_scan(world, NULL));
	shuffle(names, count, seed);
	for (i = 0; i < count; i++) {
		scene_must(world, world_apply(world, names[i]));
		if (rand_r(seed) % 2)
			scene_must(world, world_build(world, 7));
	}
	scene_must(world, world_build(world, 1));
}

START_TEST(t11_twenty_orders_of_verdicts_give_one_table)
{
	struct world *first = scene_begin();
	unsigned seed = 1;

	run_order(first, &seed);
	for (int order = 0; order < ORDERS; order++) {
		struct world *world = scene_begin();
		run_order(world, &seed);
		ck_assert_uint_eq(world->size, first->size);
		ck_assert_mem_eq(world->bytes, first->bytes, first->size);
		world_free(world);
	}
	world_free(first);
}
END_TEST

START_TEST(t11_twenty_orders_of_files_give_one_table)
{
	struct world *first = scene_begin();
	const char *names[] = {"q", "r", "s", "t", "u", "v"};
	unsigned seed = 2;

	for (int order = 0; order < ORDERS; order++) {
		struct world *world = order ? scene_begin() : first;
		for (size_t i = 0; i < 6; i++) {
			scene_put(world, scene_with(scene_plugin(names[i], 4), "digest",
						 names[i][0] % 2 ? "odd" : names[i]));
			if (rand_r(&seed) % 2)
				scene_must(world, world_scan(world, NULL));
		}
		scene_must(world, world_scan(world, NULL));
		scene_must(world, world_build(world, 1));
		ck_assert_uint_eq(world->size, first->size);
		ck_assert_mem_eq(world->bytes, first->bytes, first->size);
		if (order)
			world_free(world);
		shuffle(names, 6, &seed);
	}
	world_free(first);
}
END_TEST

START_TEST(t11_what_came_and_went_leaves_no_trace)
{
	struct world *world = scene_begin();
	struct world *plain = scene_begin();
	bool changed;

	scene_put(plain, scene_plugin("a", 5));
	scene_must(plain, world_scan(plain, NULL));
	scene_must(plain, world_build(plain, 1));
	scene_put(world, scene_plugin("b", 5));
	scene_must(world, world_scan(world, NULL));
	scene_must(world, world_build(world, 1));
	scene_put(world, scene_plugin("a", 5));
	world_take(world, "b");
	scene_must(world, world_scan(world, NULL));
	ck_assert_int_eq(
		kp_decisions_disable(&world->decisions, "a", "", 1, 0, false, &changed),
		0);
	scene_must(world, world_decide(world));
	scene_must(world, world_build(world, 1));
	ck_assert(kp_decisions_enable(&world->decisions, "a"));
	scene_must(world, world_decide(world));
	scene_must(world, world_build(world, 1));
	ck_assert_uint_eq(world->size, plain->size);
	ck_assert_mem_eq(world->bytes, plain->bytes, plain->size);
	world_free(world);
	world_free(plain);
}
END_TEST

/* Everything that is said of all plugins, but since when. */
static json_t *standings(const struct world *world)
{
	json_t *list = json_array();

	for (size_t i = 0; i < kp_registry_count(world->registry); i++) {
		json_t *plugin = kp_registry_plugin_json(
			world->registry, kp_registry_name(world->registry, i));
		json_object_del(plugin, "since");
		json_array_append_new(list, plugin);
	}
	return list;
}

/* A plugin of few libraries, packages and outcomes, so that all of them meet. */
static json_t *any_plugin(const char *name, unsigned *seed)
{
	static const char *const digests[] = {"d0", "d1", "d2"};
	static const char *const packages[] = {"p0", "p1", "p2"};
	static const char *const states[] = {
		"active", "active", "failed", "quarantined", "rejected"};
	json_t *plugin = scene_with(
		scene_plugin(name, 5), "digest", digests[(size_t)rand_r(seed) % 3]);

	json_object_set_new(json_object_get(plugin, "note"), "name",
		json_string(packages[(size_t)rand_r(seed) % 3]));
	const char *state = states[(size_t)rand_r(seed) % 5];
	if (strcmp(state, "active") != 0)
		plugin = scene_with(scene_with(plugin, "state", state), "code", "any");
	return plugin;
}

/* As whoever keeps the decisions does. */
static void identify(struct world *world)
{
	bool changed;
	ck_assert_int_eq(
		kp_registry_identify(world->registry, &world->decisions, &changed), 0);
}

static void decide_anything(struct world *world, const char *name, unsigned *seed)
{
	bool changed;

	if (rand_r(seed) % 3)
		kp_decisions_enable(&world->decisions, name);
	else
		ck_assert_int_eq(kp_decisions_disable(&world->decisions, name, "", 1, 0,
					 false, &changed),
			0);
	identify(world);
	scene_must(world, world_decide(world));
}

/* Deciding the same again works out all states. */
START_TEST(t11_what_one_verdict_changes_is_all_that_all_verdicts_give)
{
	static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
	struct world *world = scene_begin();
	unsigned seed = (unsigned)_i;

	for (size_t i = 0; i < 6; i++)
		scene_put(
			world, json_pack("{s:s, s:b}", "plugin", names[i], "pending", 1));
	scene_must(world, world_scan(world, NULL));
	for (int step = 0; step < 60; step++) {
		const char *name = names[(size_t)rand_r(&seed) % 6];
		if (rand_r(&seed) % 4 == 0)
			decide_anything(world, names[(size_t)rand_r(&seed) % 6], &seed);
		scene_put(world, any_plugin(name, &seed));
		scene_must(world, world_apply(world, name));
		identify(world);
		json_t *now = standings(world);
		scene_must(world, world_decide(world));
		json_t *all = standings(world);
		ck_assert(json_equal(now, all));
		json_decref(now);
		json_decref(all);
	}
	world_free(world);
}
END_TEST

/* Sections in which a kernel can leave something behind. */
static void ck_same_kernels(const struct kp_table *before, const struct kp_table *after)
{
	static const enum kp_section sections[] = {KP_SECTION_KERNELS,
		KP_SECTION_OPERATIONS, KP_SECTION_SIGNATURES, KP_SECTION_SLOTS,
		KP_SECTION_PROFILES, KP_SECTION_CAPABILITIES, KP_SECTION_TRAITS,
		KP_SECTION_SCALARS, KP_SECTION_SYMBOLS};

	for (size_t s = 0; s < sizeof(sections) / sizeof(sections[0]); s++) {
		size_t count = kp_table_count(before, sections[s]);
		ck_assert_uint_eq(kp_table_count(after, sections[s]), count);
		if (count > 0)
			ck_assert_mem_eq(kp_table_record(before, sections[s], 0),
				kp_table_record(after, sections[s], 0),
				count * kp_record_sizes[sections[s]]);
	}
}

/* Spoils kernel k of n in one of three ways. */
static json_t *spoiled(int n, int k, int way)
{
	json_t *kernels = json_array();

	for (int i = 0; i < n; i++) {
		char name[24];
		(void)snprintf(name, sizeof(name), "k%d", i);
		json_t *one = scene_kernel(name, 5);
		if (i == k && way == 0)
			json_object_set_new(one, "traits", json_pack("{s:b}", "wied", 1));
		if (i == k && way == 1)
			json_object_set_new(one, "signatures", json_pack("[s]", "a=f32"));
		if (i == k && way == 2)
			json_object_del(one, "priority");
		json_array_append_new(kernels, one);
	}
	return json_pack("{s:s, s:{s:o}}", "plugin", "new", "note", "kernels", kernels);
}

static void refuse(int n, int k, int way)
{
	struct world *world = scene_begin();

	scene_put(world, scene_plugin("a", 3));
	scene_put(world, scene_plugin("z", 3));
	scene_put(world, json_pack("{s:s, s:b}", "plugin", "new", "pending", 1));
	scene_must(world, world_scan(world, NULL));
	scene_must(world, world_build(world, 1));
	void *bytes = malloc(world->size);
	ck_assert_ptr_nonnull(bytes);
	memcpy(bytes, world->bytes, world->size);
	struct kp_table before = {bytes, world->size};
	scene_put(world, spoiled(n, k, way));
	scene_must(world, world_scan(world, "new"));
	scene_is(world, "new", "rejected");
	scene_must(world, world_build(world, 1));
	ck_same_kernels(&before, &world->table);
	free(bytes);
	world_free(world);
}

START_TEST(t42_refused_for_a_trait_of_any_kernel_leaves_nothing)
{
	for (int k = 0; k < 5; k++)
		refuse(5, k, 0);
}
END_TEST

START_TEST(t42_refused_for_a_signature_of_any_kernel_leaves_nothing)
{
	for (int k = 0; k < 5; k++)
		refuse(5, k, 1);
}
END_TEST

START_TEST(t42_refused_for_a_key_of_any_kernel_leaves_nothing)
{
	for (int k = 0; k < 5; k++)
		refuse(5, k, 2);
}
END_TEST

START_TEST(t42_a_plugin_that_was_good_and_is_refused_leaves_nothing)
{
	struct world *world = scene_begin();

	scene_put(world, scene_plugin("new", 9));
	scene_put(world, scene_plugin("a", 3));
	scene_must(world, world_scan(world, NULL));
	scene_selects(world, "new/k");
	scene_put(world, spoiled(3, 2, 0));
	scene_must(world, world_scan(world, "new"));
	scene_selects(world, "a/k");
	ck_assert_uint_eq(kp_table_kernels(&world->table), 1);
	world_free(world);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("registry_order");
	TCase *tcase = tcase_create("registry_order");

	tcase_add_test(tcase, t11_twenty_orders_of_verdicts_give_one_table);
	tcase_add_test(tcase, t11_twenty_orders_of_files_give_one_table);
	tcase_add_test(tcase, t11_what_came_and_went_leaves_no_trace);
	tcase_add_loop_test(
		tcase, t11_what_one_verdict_changes_is_all_that_all_verdicts_give, 0, 20);
	tcase_add_test(tcase, t42_refused_for_a_trait_of_any_kernel_leaves_nothing);
	tcase_add_test(tcase, t42_refused_for_a_signature_of_any_kernel_leaves_nothing);
	tcase_add_test(tcase, t42_refused_for_a_key_of_any_kernel_leaves_nothing);
	tcase_add_test(tcase, t42_a_plugin_that_was_good_and_is_refused_leaves_nothing);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
