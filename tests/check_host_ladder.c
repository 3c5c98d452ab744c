/* SPDX-License-Identifier: MIT */
/* Calls with one mask of dims run one kernel: the one that is selected for each of them.
 */
#include "lib/host/ladder.h"
#include "tests/support/suite.h"
#include "tests/support/world.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORLDS = 40, PLUGINS = 8, SHAPES = 400, MASKS = 4096 };

static const char families[] =
	"[{\"operation\":\"t/mm\",\"revision\":1,\"dims\":[\"m\",\"n\",\"k\"],\"roles\":["
	"{\"name\":\"a\",\"direction\":\"in\",\"dims\":[\"m\",\"k\"],\"key\":true,"
	"\"formats\":[\"f32\"]},"
	"{\"name\":\"b\",\"direction\":\"in\",\"dims\":[\"k\",\"n\"],\"key\":true,"
	"\"formats\":[\"f32\"]},"
	"{\"name\":\"c\",\"direction\":\"out\",\"dims\":[\"m\",\"n\"],\"key\":true,"
	"\"formats\":[\"f32\"]}],"
	"\"derived\":{\"area\":{\"times\":[\"m\",\"n\"]},"
	"\"ratio\":{\"times\":[\"m\"],\"over\":[\"k\"]}},"
	"\"traits\":{\"batch\":{\"kind\":\"int\",\"dim\":\"m\"},"
	"\"group\":{\"kind\":\"int\",\"dim\":\"n\"},"
	"\"causal\":{\"kind\":\"bool\",\"default\":false}},"
	"\"signature\":\"a=f32,b=f32,c=f32\","
	"\"check\":{\"kind\":\"norm\",\"tolerance\":{\"f32\":1e-5}}}]";

static uint64_t state = 88172645463325252U;

static uint32_t draw(uint32_t below)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (uint32_t)((state * UINT64_C(0x2545f4914f6cdd1d) >> 32) * below >> 32);
}

static json_t *trait(void)
{
	json_t *value = json_object();

	if (draw(3) == 0)
		json_object_set_new(value, "min", json_integer(draw(12)));
	if (draw(3) == 0)
		json_object_set_new(value, "max", json_integer(8 + draw(20)));
	if (draw(3) == 0)
		json_object_set_new(value, "multiple_of", json_integer(1 + draw(4)));
	if (draw(5) == 0)
		json_object_set_new(value, "in",
			json_pack("[i, i, i]", draw(16), 16 + draw(16), 40 + draw(16)));
	if (json_object_size(value) == 0)
		json_object_set_new(value, "min", json_integer(draw(12)));
	if (draw(4) == 0)
		json_object_set_new(value, "required", json_true());
	return value;
}

static json_t *plugin(int number)
{
	static const char *const names[] = {
		"m", "n", "k", "area", "ratio", "batch", "group"};
	json_t *traits = json_object();
	uint32_t count = draw(4);

	for (uint32_t i = 0; i < count; i++)
		json_object_set_new(traits, names[draw(7)], trait());
	json_t *kernel = json_pack("{s:s, s:s, s:i, s:[s], s:o}", "name", "k",
		"operation", "t/mm", "priority", draw(20), "signatures",
		"a=f32,b=f32,c=f32", "traits", traits);
	return json_pack("{s:o, s:{s:[o]}}", "plugin", json_sprintf("p%d", number),
		"note", "kernels", kernel);
}

static struct world *make_world(void)
{
	json_t *said = json_loads(families, 0, NULL);
	json_t *platform = json_string("x86-64-v3");
	struct world *world = world_new(said, platform);

	ck_assert_msg(world && world->registry, "%s", world ? world->error : "memory");
	for (int i = 0; i < PLUGINS; i++) {
		json_t *value = plugin(i);
		ck_assert_msg(world_put(world, value), "%s", world->error);
		json_decref(value);
	}
	ck_assert_msg(world_scan(world, NULL), "%s", world->error);
	ck_assert_msg(world_build(world, 1), "%s", world->error);
	json_decref(said);
	json_decref(platform);
	return world;
}

static size_t select_for(
	const struct world *world, struct kp_request *request, const int64_t *dims)
{
	static const char *const names[] = {"m", "n", "k"};
	struct kp_decision decision;
	struct kp_diag diag;

	request->shape.count = 0;
	for (size_t i = 0; i < 3; i++)
		if (dims[i] >= 0)
			kp_shape_set(&request->shape, names[i], dims[i]);
	ck_assert_msg(kp_select(&world->table, request, &decision, &diag) == 0, "%s",
		diag.message);
	kp_decision_finish(&decision);
	return decision.selected;
}

/* What was selected first for a mask is what is selected for all. */
static void hold(const struct world *world, const struct kp_ladder *ladder,
	const struct kp_bounds *bounds)
{
	struct {
		uint64_t mask;
		size_t kernel;
	} *seen = calloc(MASKS, sizeof(*seen));
	struct kp_request request = {.operation = "t/mm"};
	size_t n_seen = 0;

	ck_assert_ptr_nonnull(seen);
	for (int s = 0; s < SHAPES; s++) {
		int64_t dims[KP_FAMILY_DIMS];
		for (size_t d = 0; d < 3; d++) {
			uint32_t span =
				(uint32_t)(bounds->most[d] - bounds->least[d] + 1);
			dims[d] = bounds->least[d] + draw(span);
			if (bounds->least[d] == 0 && draw(20) == 0)
				dims[d] = -1;
		}
		uint64_t mask = kp_ladder_mask(ladder, dims);
		size_t kernel = select_for(world, &request, dims), i = 0;
		while (i < n_seen && seen[i].mask != mask)
			i++;
		if (i == n_seen)
			seen[n_seen++].mask = mask, seen[i].kernel = kernel;
		ck_assert_uint_eq(seen[i].kernel, kernel);
	}
	free(seen);
}

static void hold_within(const struct kp_bounds *bounds)
{
	struct kp_request request = {.operation = "t/mm"};
	struct kp_diag diag;

	for (int i = 0; i < WORLDS; i++) {
		struct world *world = make_world();
		struct kp_ladder *ladder = kp_ladder_new(&world->table, &request,
			&world->families.items[0], bounds, &diag);
		ck_assert_ptr_nonnull(ladder);
		hold(world, ladder, bounds);
		struct kp_ladder *again = kp_ladder_new(&world->table, &request,
			&world->families.items[0], bounds, &diag);
		ck_assert(kp_ladder_equal(ladder, again));
		kp_ladder_free(again);
		kp_ladder_free(ladder);
		world_free(world);
	}
}

START_TEST(one_mask_means_one_kernel_whatever_the_dims)
{
	const int64_t least[KP_FAMILY_DIMS] = {0, 0, 0},
		      most[KP_FAMILY_DIMS] = {64, 64, 64};
	hold_within(&(struct kp_bounds){least, most});
}
END_TEST

START_TEST(one_mask_means_one_kernel_within_ranges)
{
	const int64_t least[KP_FAMILY_DIMS] = {1, 16, 4},
		      most[KP_FAMILY_DIMS] = {40, 16, 9};
	hold_within(&(struct kp_bounds){least, most});
}
END_TEST

START_TEST(a_range_that_decides_everything_leaves_no_predicate)
{
	const int64_t only[KP_FAMILY_DIMS] = {7, 8, 9};
	const struct kp_bounds bounds = {only, only};
	struct kp_request request = {.operation = "t/mm"};
	struct world *world = make_world();
	struct kp_diag diag;
	struct kp_ladder *ladder = kp_ladder_new(
		&world->table, &request, &world->families.items[0], &bounds, &diag);

	ck_assert_ptr_nonnull(ladder);
	ck_assert_uint_eq(ladder->count, 0);
	ck_assert(!ladder->by_dims);
	kp_ladder_free(ladder);
	world_free(world);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("host_ladder");
	TCase *tcase = tcase_create("ladder");
	tcase_add_test(tcase, one_mask_means_one_kernel_whatever_the_dims);
	tcase_add_test(tcase, one_mask_means_one_kernel_within_ranges);
	tcase_add_test(tcase, a_range_that_decides_everything_leaves_no_predicate);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
