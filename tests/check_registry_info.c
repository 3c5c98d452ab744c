/* SPDX-License-Identifier: MIT */
/* The registry: what it tells of a plugin, and of a library file alone. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/scene.h"
#include "tests/support/suite.h"

/* All members of PluginInfo; the others would be an interface that lies. */
static void ck_members(const json_t *info)
{
	static const char *const members[] = {"name", "package", "version", "author",
		"license", "description", "state", "reason", "since", "source",
		"manifest", "library", "stored", "sha256", "closure", "size", "abi",
		"host", "elf", "config", "probe_ms", "evidence", "warnings", "kernels",
		"rolled_back", "signature"};

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		ck_assert_msg(json_object_get(info, members[i]) != NULL, "%s is missing",
			members[i]);
	ck_assert_uint_eq(json_object_size(info), sizeof(members) / sizeof(members[0]));
}

START_TEST(info_has_every_member_in_every_state)
{
	struct world *world = scene_begin();

	scene_put_many(world);
	scene_put(world, json_pack("{s:s, s:b}", "plugin", "p", "pending", 1));
	scene_must(world, world_scan(world, NULL));
	scene_must(world, world_build(world, 1));
	for (size_t i = 0; i < kp_registry_count(world->registry); i++) {
		json_t *info = kp_registry_info_json(
			world->registry, kp_registry_name(world->registry, i));
		ck_members(info);
		json_decref(info);
	}
	ck_assert_ptr_null(kp_registry_info_json(world->registry, "nobody"));
	world_free(world);
}
END_TEST

START_TEST(info_of_a_file_needs_no_registry)
{
	struct kp_verdict verdict = {
		.state = KP_STATE_ACTIVE, .bytes = 10, .probe_ms = -1};

	verdict.note = json_pack("{s:s, s:s, s:[o]}", "name", "pkg", "version", "1.2.3",
		"kernels", scene_kernel("k", 5));
	json_t *info = kp_verdict_info_json(&verdict, "/tmp/x/fast.so");
	ck_members(info);
	ck_assert_str_eq(json_string_value(json_object_get(info, "name")), "fast");
	ck_assert_str_eq(json_string_value(json_object_get(info, "package")), "pkg");
	ck_assert_str_eq(json_string_value(json_object_get(info, "state")), "unclaimed");
	ck_assert_uint_eq(json_array_size(json_object_get(info, "kernels")), 1);
	json_decref(info);
	kp_verdict_finish(&verdict);
}
END_TEST

START_TEST(info_of_a_file_that_is_refused_says_why)
{
	struct kp_verdict verdict = {.state = KP_STATE_REJECTED, .code = "no_note"};

	verdict.message = strdup("it has no note");
	json_t *info = kp_verdict_info_json(&verdict, "plain");
	ck_members(info);
	ck_assert_str_eq(json_string_value(json_object_get(info, "state")), "rejected");
	ck_assert_str_eq(json_string_value(json_object_get(
				 json_object_get(info, "reason"), "code")),
		"no_note");
	json_decref(info);
	kp_verdict_finish(&verdict);
}
END_TEST

START_TEST(info_of_a_file_with_a_wrong_note_says_where)
{
	struct kp_verdict verdict = {.state = KP_STATE_ACTIVE};

	verdict.note = json_pack("{s:s}", "name", "pkg");
	json_t *info = kp_verdict_info_json(&verdict, "x.so");
	ck_members(info);
	ck_assert_str_eq(json_string_value(json_object_get(info, "state")), "rejected");
	ck_assert_str_eq(json_string_value(json_object_get(
				 json_object_get(info, "reason"), "code")),
		"missing_key");
	json_decref(info);
	kp_verdict_finish(&verdict);
}
END_TEST

/* A note with unknown keys, and what a worker warned of when it read the same note. */
static void odd_verdict(struct kp_verdict *verdict)
{
	struct kp_note note;
	struct kp_diag diag;

	*verdict = (struct kp_verdict){.state = KP_STATE_ACTIVE, .probe_ms = -1};
	verdict->note = json_pack("{s:s, s:s, s:i, s:i, s:[o]}", "name", "pkg", "version",
		"1.2.3", "colour", 1, "size", 2, "kernels", scene_kernel("k", 5));
	ck_assert_int_eq(
		kp_note_from_json(verdict->note, &note, &verdict->warnings, &diag), 0);
	kp_note_finish(&note);
	kp_diag_set(&diag, "executable_stack", "lib", "it asks for an executable stack");
	kp_diags_add(&verdict->warnings, &diag);
	ck_assert_uint_eq(verdict->warnings.count, 3);
}

START_TEST(a_warning_of_a_note_is_told_once)
{
	struct world *world = scene_begin();
	struct kp_verdict verdict;
	struct kp_diag diag;

	odd_verdict(&verdict);
	json_t *info = kp_verdict_info_json(&verdict, "x.so");
	ck_assert_uint_eq(json_array_size(json_object_get(info, "warnings")), 3);
	json_decref(info);
	scene_put(world, json_pack("{s:s, s:b}", "plugin", "a", "pending", 1));
	scene_must(world, world_scan(world, NULL));
	ck_assert_int_eq(kp_registry_apply(world->registry, "a",
				 kp_registry_manifest(world->registry, "a")->digest,
				 &verdict, 1, &diag),
		0);
	info = kp_registry_info_json(world->registry, "a");
	ck_assert_uint_eq(json_array_size(json_object_get(info, "warnings")), 3);
	json_decref(info);
	world_free(world);
}
END_TEST

START_TEST(an_abi_of_any_size_is_shown_as_it_is)
{
	struct kp_verdict verdict = {.state = KP_STATE_ACTIVE, .probe_ms = -1};

	verdict.note = json_pack("{s:s, s:s, s:{s:I, s:I, s:I}, s:[o]}", "name", "pkg",
		"version", "1.2.3", "abi", "major", (json_int_t)UINT32_MAX, "built",
		(json_int_t)INT32_MAX + 1, "needed", (json_int_t)3, "kernels",
		scene_kernel("k", 5));
	json_t *info = kp_verdict_info_json(&verdict, "x.so");
	json_t *expected = json_pack("{s:I, s:I, s:I}", "major", (json_int_t)UINT32_MAX,
		"built", (json_int_t)INT32_MAX + 1, "needed", (json_int_t)3);
	ck_assert(json_equal(json_object_get(info, "abi"), expected));
	json_decref(expected);
	json_decref(info);
	kp_verdict_finish(&verdict);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("registry_info");
	TCase *tcase = tcase_create("registry_info");

	tcase_add_test(tcase, info_has_every_member_in_every_state);
	tcase_add_test(tcase, info_of_a_file_needs_no_registry);
	tcase_add_test(tcase, info_of_a_file_that_is_refused_says_why);
	tcase_add_test(tcase, info_of_a_file_with_a_wrong_note_says_where);
	tcase_add_test(tcase, a_warning_of_a_note_is_told_once);
	tcase_add_test(tcase, an_abi_of_any_size_is_shown_as_it_is);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
