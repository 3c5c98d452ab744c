/* SPDX-License-Identifier: MIT */
/* The registry with more plugins than anybody has: no verdict costs what all of them do.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/plugin/manifest.h"
#include "tests/support/scene.h"
#include "tests/support/suite.h"

/* So many that looking at all of them for each of them takes minutes. */
enum { MANY = 24000, PATIENCE_S = 60 };

static struct world *world;
static struct kp_diag diag;
static size_t told;

static void note_change(void *context, const struct kp_change *change)
{
	(void)context;
	(void)change;
	told++;
}

static const char *name_of(size_t i)
{
	static char name[16];
	(void)snprintf(name, sizeof(name), "m%05zu", i);
	return name;
}

static void make_manifests(struct kp_manifests *manifests)
{
	static const char text[] = "{\"library\": \"x.so\"}";
	char path[32];

	*manifests = (struct kp_manifests){
		.count = MANY, .items = calloc(MANY, sizeof(*manifests->items))};
	ck_assert_ptr_nonnull(manifests->items);
	for (size_t i = 0; i < MANY; i++) {
		(void)snprintf(path, sizeof(path), "/d/%s.json", name_of(i));
		ck_assert_int_eq(kp_manifest_parse(text, sizeof(text) - 1, path,
					 &manifests->items[i], &diag),
			0);
	}
}

static void forget(char **todo, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(todo[i]);
	free(todo);
}

static size_t update(struct kp_registry *registry)
{
	struct kp_manifests manifests;
	char **todo = NULL;
	size_t count = 0;

	make_manifests(&manifests);
	ck_assert_int_eq(
		kp_registry_update(registry, &manifests, NULL, 1, &todo, &count, &diag),
		0);
	kp_manifests_finish(&manifests);
	forget(todo, count);
	return count;
}

/* Libraries that all differ, or one that all share. */
static void apply(struct kp_registry *registry, size_t i, bool same)
{
	const struct kp_manifest *manifest = kp_registry_manifest(registry, name_of(i));
	struct kp_verdict verdict = {.state = KP_STATE_ACTIVE, .probe_ms = -1};

	ck_assert_ptr_nonnull(manifest);
	(void)snprintf(
		verdict.digest, sizeof(verdict.digest), "%s", same ? "d" : name_of(i));
	ck_assert_int_eq(kp_registry_apply(registry, name_of(i), manifest->digest,
				 &verdict, 2, &diag),
		0);
}

static struct kp_registry *begin(void)
{
	static struct kp_version host;
	world = scene_begin();
	ck_assert_int_eq(kp_version_parse("0.1.0", &host, &diag), 0);
	struct kp_registry *registry = kp_registry_new(
		&world->families, &world->platform, &host, note_change, NULL);
	ck_assert_ptr_nonnull(registry);
	return registry;
}

static void end(struct kp_registry *registry)
{
	kp_registry_free(registry);
	world_free(world);
}

START_TEST(t11_many_verdicts_are_applied_one_by_one)
{
	struct kp_registry *registry = begin();
	size_t counts[KP_STATES];
	bool same = _i > 0;

	ck_assert_uint_eq(update(registry), MANY);
	for (size_t i = 0; i < MANY; i++) {
		ck_assert(kp_registry_is_pending(registry, NULL));
		apply(registry, i, same);
	}
	ck_assert(!kp_registry_is_pending(registry, NULL));
	kp_registry_states(registry, counts);
	ck_assert_uint_eq(counts[KP_STATE_ACTIVE], same ? 1 : MANY);
	ck_assert_uint_eq(counts[KP_STATE_REJECTED], same ? MANY - 1 : 0);
	/* Each is new once, and gets its state once. */
	ck_assert_uint_eq(told, 2 * (size_t)MANY);
	end(registry);
}
END_TEST

START_TEST(t11_many_are_done_again_by_one_update)
{
	struct kp_registry *registry = begin();

	(void)update(registry);
	for (size_t i = 0; i < MANY; i++)
		apply(registry, i, false);
	for (size_t i = 0; i < MANY; i++)
		ck_assert(kp_registry_again(registry, name_of(i)));
	ck_assert(!kp_registry_again(registry, "nobody"));
	ck_assert_uint_eq(update(registry), MANY);
	ck_assert_uint_eq(update(registry), 0);
	ck_assert(kp_registry_is_pending(registry, name_of(MANY - 1)));
	end(registry);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("registry_many");
	TCase *tcase = tcase_create("registry_many");

	tcase_set_timeout(tcase, PATIENCE_S);
	tcase_add_loop_test(tcase, t11_many_verdicts_are_applied_one_by_one, 0, 2);
	tcase_add_test(tcase, t11_many_are_done_again_by_one_update);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
