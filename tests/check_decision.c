/* SPDX-License-Identifier: MIT */
/* A change of decisions is in force everywhere, or nowhere. */
#include "daemon/state/decision.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "daemon/daemon.h"
#include "tests/support/scene.h"
#include "tests/support/suite.h"

/* So large that a copy finds no room; each reason is as long as one may be. */
enum { MANY = 20000, ROOM_BYTES = 1 << 20 };

static struct world *world;
static struct daemon service;
static struct kp_diag diag;

static void make_service(void)
{
	world = scene_begin();
	scene_put(world, scene_plugin("a", 9));
	scene_put(world, scene_plugin("b", 5));
	scene_must(world, world_scan(world, NULL));
	service = (struct daemon){.log = {.level = LOG_ERROR, .fd = STDERR_FILENO},
		.registry = world->registry};
	ck_assert_int_eq(
		generation_publish(&service.generation, service.registry, &diag), 0);
}

static void drop_service(void)
{
	generation_finish(&service.generation);
	kp_decisions_finish(&service.decisions);
	world_free(world);
}

static void disable(struct kp_decisions *decisions, const char *name, const char *reason)
{
	bool changed;
	ck_assert_int_eq(
		kp_decisions_disable(decisions, name, reason, 1, 7, false, &changed), 0);
}

/* The state of kernel a/k in the table that selections read. */
static enum kp_state published(void)
{
	const struct kp_table *table = daemon_table(&service);
	struct kp_entry_state state;
	struct kp_spec spec;
	void *memory;
	size_t i;

	ck_assert_int_eq(kp_table_find(table, NULL, "a/k", &i, &diag), 0);
	ck_assert_int_eq(kp_table_spec(table, i, &spec, &state, &memory), 0);
	free(memory);
	return state.state;
}

START_TEST(what_is_enforced_is_published)
{
	struct kp_decisions next = {0};
	uint64_t before = service.generation.number;

	disable(&next, "a", "why");
	ck_assert_int_eq(decision_enforce(&service, &next, &diag), 0);
	ck_assert_uint_eq(service.decisions.n_disabled, 1);
	ck_assert_ptr_null(next.disabled);
	ck_assert_uint_eq(service.generation.number, before + 1);
	ck_assert_int_eq(published(), KP_STATE_DISABLED);
}
END_TEST

/* Under AddressSanitizer there is no bound of memory to run into. */
#ifndef __SANITIZE_ADDRESS__
static void limit_memory(void)
{
	struct rlimit limit;
	long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fscanf(file, "%ld", &pages), 1);
	(void)fclose(file);
	ck_assert_int_eq(getrlimit(RLIMIT_AS, &limit), 0);
	limit.rlim_cur = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + ROOM_BYTES;
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
}

static void lift_limit(void)
{
	struct rlimit limit;
	ck_assert_int_eq(getrlimit(RLIMIT_AS, &limit), 0);
	limit.rlim_cur = limit.rlim_max;
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
}

START_TEST(what_cannot_be_enforced_is_nowhere_in_force)
{
	struct kp_decisions next = {0};
	char reason[513], name[32];

	memset(reason, 'x', sizeof(reason) - 1);
	reason[sizeof(reason) - 1] = '\0';
	if (_i)
		disable(&service.decisions, "b", "first");
	ck_assert_int_eq(
		kp_registry_decide(service.registry, &service.decisions, 1, &diag), 0);
	for (int i = 0; i < MANY; i++) {
		(void)snprintf(name, sizeof(name), "p%05d", i);
		disable(&next, name, reason);
	}
	disable(&next, "a", "why");
	limit_memory();
	int result = decision_enforce(&service, &next, &diag);
	lift_limit();
	ck_assert_int_eq(result, -1);
	ck_assert_str_eq(diag.code, "no_memory");
	ck_assert_uint_eq(service.decisions.n_disabled, (size_t)_i);
	ck_assert_int_eq(published(), KP_STATE_ACTIVE);
	ck_assert(!service.is_behind);
	scene_is(world, "b", _i ? "disabled" : "active");
	disable(&next, "a", "why");
	ck_assert_int_eq(decision_enforce(&service, &next, &diag), 0);
	ck_assert_int_eq(published(), KP_STATE_DISABLED);
	ck_assert(kp_decisions_enable(&service.decisions, "a"));
}
END_TEST
#endif

START_TEST(a_registry_that_was_left_behind_catches_up)
{
	struct kp_decisions other = {0};

	disable(&other, "a", "taken back");
	ck_assert_int_eq(kp_registry_decide(service.registry, &other, 1, &diag), 0);
	kp_decisions_finish(&other);
	service.is_behind = true;
	ck_assert_int_eq(published(), KP_STATE_ACTIVE);
	ck_assert(!service.is_behind);
	ck_assert_int_eq(decision_catch_up(&service, &diag), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("decision");
	TCase *tcase = tcase_create("decision");
	tcase_add_checked_fixture(tcase, make_service, drop_service);
	tcase_add_test(tcase, what_is_enforced_is_published);
#ifndef __SANITIZE_ADDRESS__
	tcase_add_loop_test(tcase, what_cannot_be_enforced_is_nowhere_in_force, 0, 2);
#endif
	tcase_add_test(tcase, a_registry_that_was_left_behind_catches_up);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
