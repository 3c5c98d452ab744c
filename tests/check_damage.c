/* SPDX-License-Identifier: MIT */
/*
 * Files of the daemon's own that were cut, changed or zeroed at every offset: read
 * without harm, never taken for what they are not, and said to be damaged.
 */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/store/cache.h"
#include "daemon/store/tree.h"
#include "lib/base/file.h"
#include "lib/table/table.h"
#include "tests/support/damage.h"
#include "tests/support/scene.h"
#include "tests/support/state_place.h"
#include "tests/support/suite.h"

/* ---- the probe cache ------------------------------------------------------------- */

static const int64_t now = 1000000000;

static void fill_cache(struct cache *cache)
{
	struct stamp stamp = {true, 1, 2, 3, 4, 5};
	json_t *parts = json_pack("[[s, s]]", "/p/liby.so", "d1");
	json_t *needs = json_pack("[{s:s, s:n}]", "name", "libc.so.6", "path");
	struct trace *trace = trace_new();

	ck_assert_int_eq(cache_init(cache), 0);
	ck_assert_int_eq(trace_add(trace, "/p/x.so", &stamp), 0);
	cache_put(cache, "/p/x.so",
		&(struct cache_file){
			"d0", "c0", "x.so", "deps", "aa", parts, needs, trace},
		now);
	cache_put_verdict(cache, "aa", 100, now,
		json_pack("{s:s, s:{s:[{s:s, s:i}]}}", "state", "active", "note",
			"kernels", "name", "mm", "priority", 10));
	trace_unref(trace);
	json_decref(parts);
	json_decref(needs);
}

/* A directory with a cache in it; its text. */
static void make_cache(char **text, size_t *size)
{
	struct cache cache;

	ck_assert_int_eq(kp_file_make_dirs(path, 0700, &diag), 0);
	fill_cache(&cache);
	ck_assert_msg(cache_write(&cache, path, &diag) == 0, "%s", diag.message);
	cache_finish(&cache);
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(kp_file_read(dir, "probe", 1 << 20, text, size, &diag), 0);
	close(dir);
}

static void put_bytes(const char *name, const char *bytes, size_t size)
{
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(kp_file_replace(dir, name, bytes, size, 0644, false, &diag), 0);
	close(dir);
}

START_TEST(t57_a_probe_cache_that_is_damaged_anywhere_is_empty_and_says_so)
{
	char *text;
	size_t whole;

	make_cache(&text, &whole);
	for (size_t at = 0; at < whole; at++) {
		struct cache cache;
		size_t size = whole;
		char *copy = damage_make(&damages[_i], text, &size, at);
		if (!copy)
			continue;
		put_bytes("probe", copy, size);
		free(copy);
		ck_assert_int_eq(cache_init(&cache), 0);
		ck_assert_msg(cache_read(&cache, path, now, &diag) == 1,
			"%s at %zu is not noticed", damages[_i].what, at);
		ck_assert_str_eq(diag.code, "cache_damaged");
		ck_assert_ptr_nonnull(strstr(diag.message, "probe.damaged"));
		ck_assert_uint_eq(json_object_size(cache.files), 0);
		ck_assert_uint_eq(json_object_size(cache.verdicts), 0);
		/* And is written anew. */
		cache_finish(&cache);
	}
	struct cache cache;
	fill_cache(&cache);
	ck_assert_int_eq(cache_write(&cache, path, &diag), 0);
	cache_finish(&cache);
	ck_assert_int_eq(cache_init(&cache), 0);
	ck_assert_int_eq(cache_read(&cache, path, now, &diag), 0);
	ck_assert_uint_eq(json_object_size(cache.verdicts), 1);
	cache_finish(&cache);
	free(text);
}
END_TEST

/* ---- the table -------------------------------------------------------------------- */

START_TEST(t57_a_table_that_is_damaged_anywhere_is_refused_and_says_why)
{
	struct world *world = scene_begin();
	struct kp_table table;

	scene_put(world, scene_plugin("a", 10));
	scene_put(world, scene_plugin("b", 12));
	scene_must(world, world_scan(world, NULL));
	scene_selects(world, "b/k");
	for (size_t at = 0; at < world->size; at++) {
		size_t size = world->size;
		char *copy = damage_make(&damages[_i], world->bytes, &size, at);
		if (!copy)
			continue;
		ck_assert_msg(kp_table_open(copy, size, &table, &diag) < 0,
			"%s at %zu is not noticed", damages[_i].what, at);
		ck_assert(strcmp(diag.code, "bad_table") == 0 ||
			  strcmp(diag.code, "newer_format") == 0);
		ck_assert_uint_gt(strlen(diag.message), 0);
		free(copy);
	}
	world_free(world);
}
END_TEST

/* ---- decisions -------------------------------------------------------------------- */

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* Twice, so that there is one before the last change, which says the same. */
static void make_decisions(char **text, size_t *size)
{
	struct seen seen = {0};
	const struct kp_rollback rollback = {.plugin = (char[]){"gamma"},
		.closure = (char[]){DIGEST},
		.entry = (char[]){"gamma.so"},
		.digest = (char[]){DIGEST},
		.reason = (char[]){"slow"},
		.number = 2};
	bool changed;

	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(
			kp_decisions_roll_back(&decisions, &rollback, &changed), 0);
		disable("alpha", false);
		disable("beta/kernel", false);
		ck_assert_int_eq(kp_decisions_rule(&decisions, "gemm/mm", "split-k",
					 "wrong", 1, 0, false, &changed),
			0);
		ck_assert_int_eq(
			state_keep_decisions(state, &decisions, on_kept, &seen, &diag),
			0);
		ck_assert_int_eq(uv_run(&loop, UV_RUN_DEFAULT), 0);
	}
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(
		kp_file_read(dir, "decisions.json", 1 << 20, text, size, &diag), 0);
	close(dir);
}

/* Each copy that is set aside has a name of its own, up to a number. */
static void forget_copies(void)
{
	char command[400];
	(void)snprintf(
		command, sizeof(command), "rm -f '%s'/decisions.json.damaged*", path);
	ck_assert_int_eq(system(command), 0);
}

/* What is lost is said; only a newer kplug's file stops the start. */
static void read_damaged(const struct damage *damage, size_t at)
{
	struct kp_decisions read = {0};
	struct kp_diags lost = {0};
	int result = state_decisions(state, &read, &lost, &diag);

	if (result < 0) {
		ck_assert_str_eq(diag.code, "newer_format");
		return;
	}
	bool whole = kp_decisions_find(&read, "alpha") &&
		     kp_decisions_find(&read, "beta/kernel") &&
		     kp_decisions_find_rollback(&read, "gamma") &&
		     kp_decisions_find_rule(&read, "gemm/mm", "split-k");
	/* What a letter was changed in is off as it was before the last change. */
	ck_assert_msg(whole, "%s at %zu: a decision is lost", damage->what, at);
	ck_assert_msg(lost.count > 0, "%s at %zu is not said", damage->what, at);
	for (size_t i = 0; i < lost.count; i++)
		ck_assert_uint_gt(strlen(lost.items[i].message), 0);
	kp_decisions_finish(&read);
	kp_diags_finish(&lost);
}

START_TEST(t57_decisions_that_are_damaged_anywhere_hold_and_it_is_said)
{
	char *text;
	size_t whole;

	make_decisions(&text, &whole);
	for (size_t at = 0; at < whole; at++) {
		size_t size = whole;
		char *copy = damage_make(&damages[_i], text, &size, at);
		if (!copy)
			continue;
		put_bytes("decisions.json", copy, size);
		put_bytes("decisions.json.old", text, whole);
		free(copy);
		read_damaged(&damages[_i], at);
		if (at % 64 == 0)
			forget_copies();
	}
	free(text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("damage");
	TCase *tcase = tcase_create("damage");
	tcase_add_checked_fixture(tcase, make_place, drop_place);
	tcase_add_loop_test(tcase,
		t57_a_probe_cache_that_is_damaged_anywhere_is_empty_and_says_so, 0,
		DAMAGES);
	tcase_add_loop_test(tcase,
		t57_a_table_that_is_damaged_anywhere_is_refused_and_says_why, 0, DAMAGES);
	tcase_add_loop_test(tcase,
		t57_decisions_that_are_damaged_anywhere_hold_and_it_is_said, 0, DAMAGES);
	tcase_set_timeout(tcase, 60);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
