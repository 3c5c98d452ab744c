/* SPDX-License-Identifier: MIT */
/* Worlds of plugins with one kernel each, and what tests ask of them. */
#include "tests/support/scene.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static const char families_text[] =
	"[{\"operation\": \"gemm/mm\", \"revision\": 1, \"dims\": [\"m\", \"n\", \"k\"],"
	"\"roles\": [{\"name\": \"a\", \"direction\": \"in\", \"dims\": [\"m\", \"k\"],"
	" \"key\": true, \"formats\": [\"f32\"], \"fill\": {\"kind\": \"normal\"}},"
	"{\"name\": \"c\", \"direction\": \"out\", \"dims\": [\"m\", \"n\"], \"key\": "
	"true,"
	" \"formats\": [\"f32\"]}], \"signature\": \"a=f32,c=f32\","
	"\"traits\": {\"wide\": {\"kind\": \"bool\"}},"
	"\"check\": {\"kind\": \"norm\", \"tolerance\": {\"f32\": 1e-5}}}]";

json_t *scene_parse(const char *text)
{
	json_error_t error;
	json_t *value = json_loads(text, 0, &error);
	ck_assert_msg(value != NULL, "%s: %s", error.text, text);
	return value;
}

struct world *scene_begin(void)
{
	json_t *families = scene_parse(families_text);
	json_t *platform = json_string("x86-64-v3");
	struct world *world = world_new(families, platform);
	ck_assert_msg(world->registry != NULL, "%s", world->error);
	json_decref(families);
	json_decref(platform);
	return world;
}

void scene_must(const struct world *world, bool done)
{
	ck_assert_msg(done, "%s", world->error);
}

json_t *scene_kernel(const char *name, int priority)
{
	return json_pack("{s:s, s:s, s:i, s:[s]}", "name", name, "operation", "gemm/mm",
		"priority", priority, "signatures", "a=f32,c=f32");
}

/* A plugin of one kernel k. */
json_t *scene_plugin(const char *name, int priority)
{
	return json_pack("{s:s, s:{s:[o]}}", "plugin", name, "note", "kernels",
		scene_kernel("k", priority));
}

void scene_put(struct world *world, json_t *value)
{
	scene_must(world, world_put(world, value));
	json_decref(value);
}

json_t *scene_with(json_t *value, const char *key, const char *text)
{
	json_object_set_new(value, key, json_string(text));
	return value;
}

enum kp_state scene_state(const struct world *world, const char *name)
{
	enum kp_state state = KP_STATES;
	ck_assert_msg(kp_registry_state(world->registry, name, &state), "no %s", name);
	return state;
}

void scene_is(const struct world *world, const char *name, const char *expected)
{
	ck_assert_str_eq(kp_state_name(scene_state(world, name)), expected);
}

void scene_says(
	const struct world *world, const char *name, const char *code, const char *part)
{
	json_t *json = kp_registry_plugin_json(world->registry, name);
	const json_t *reason = json_object_get(json, "reason");
	const char *is = json_string_value(json_object_get(reason, "code"));
	ck_assert_msg(is && strcmp(is, code) == 0, "%s: code %s", name, is);
	const char *message = json_string_value(json_object_get(reason, "message"));
	ck_assert_msg(message && strstr(message, part), "%s: %s", name, message);
	json_decref(json);
}

void scene_selects(struct world *world, const char *expected)
{
	struct kp_request request = {.operation = "gemm/mm"};
	struct kp_decision decision;
	struct kp_diag diag;

	scene_must(world, world_build(world, 1));
	ck_assert_msg(kp_select(&world->table, &request, &decision, &diag) == 0, "%s",
		diag.message);
	json_t *reply = kp_decision_json(&world->table, &request, &decision);
	const char *is = json_string_value(json_object_get(reply, "selected"));
	if (expected)
		ck_assert_str_eq(is ? is : "nothing", expected);
	else
		ck_assert_ptr_null(is);
	json_decref(reply);
	kp_decision_finish(&decision);
}

/* Eight plugins with everything that could depend on who came first. */
void scene_put_many(struct world *world)
{
	json_t *named = scene_plugin("g", 7);

	json_object_set_new(json_object_get(named, "note"), "name", json_string("b"));
	scene_put(world, scene_plugin("a", 5));
	scene_put(world, scene_plugin("b", 5));
	scene_put(world, scene_with(scene_plugin("c", 9), "digest", "twin"));
	scene_put(world, scene_with(scene_plugin("d", 9), "digest", "twin"));
	scene_put(world, scene_with(scene_plugin("e", 3), "state", "failed"));
	scene_put(world, scene_with(scene_plugin("f", 3), "state", "rejected"));
	scene_put(world, named);
	scene_put(world, json_pack("{s:s, s:b}", "plugin", "h", "masked", 1));
}
