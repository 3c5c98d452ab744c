/* SPDX-License-Identifier: MIT */
/*
 * For Check tests: a world with the family gemm/mm (roles a and c, the trait
 * wide) on x86-64-v3, and plugins of one kernel k. Whatever fails fails the test.
 */
#ifndef TESTS_SUPPORT_SCENE_H
#define TESTS_SUPPORT_SCENE_H

#include "tests/support/world.h"

struct world *scene_begin(void);
/* Fails the test with the world's error unless done. */
void scene_must(const struct world *world, bool done);
json_t *scene_parse(const char *text);

/* New values. */
json_t *scene_kernel(const char *name, int priority);
json_t *scene_plugin(const char *name, int priority);
/* The same value, with a text more. */
json_t *scene_with(json_t *value, const char *key, const char *text);

/* Puts a plugin into the directories; takes the value. */
void scene_put(struct world *world, json_t *value);
void scene_put_many(struct world *world);

enum kp_state scene_state(const struct world *world, const char *name);
void scene_is(const struct world *world, const char *name, const char *expected);
/* Its reason has this code, and the message this part. */
void scene_says(
	const struct world *world, const char *name, const char *code, const char *part);
/* Builds the table and selects for gemm/mm; NULL: nothing is eligible. */
void scene_selects(struct world *world, const char *expected);

#endif
