/* SPDX-License-Identifier: MIT */
/* What many users bring about leaves room for others, and for what operators decide. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/crowd.h"
#include "lib/base/json.h"
#include "lib/registry/decisions.h"
#include "tests/support/suite.h"

enum { USERS = 60, KERNELS = 60 };

static const struct {
	int64_t values[8];
	size_t n;
	int64_t crowd;
} crowds[] = {
	{{7}, 1, 7},
	{{1, 2, 2}, 3, 2},
	{{5, 4, 4, 5}, 4, 5},
	{{9, 8, 7, 6, 8, 6, 6}, 7, 6},
	{{1000, 1001, 100000, 0}, 4, 100000},
	{{-1, 3, 3, -1, 3}, 5, 3},
	{{1, 2, 3, 4, 5, 6, 7, 7}, 8, 7},
};
enum { CROWDS = sizeof(crowds) / sizeof(crowds[0]) };

START_TEST(crowd_is_who_occurs_most_often)
{
	int64_t values[8];

	memcpy(values, crowds[_i].values, sizeof(values));
	ck_assert_int_eq(kp_crowd_of(values, crowds[_i].n), crowds[_i].crowd);
}
END_TEST

static void quarantine(
	struct kp_decisions *d, const char *kernel, int64_t who, int64_t at)
{
	char digest[65];

	memset(digest, 'd', sizeof(digest) - 1);
	digest[sizeof(digest) - 1] = '\0';
	const struct kp_quarantine item = {.kernel = (char *)(uintptr_t)kernel,
		.digest = digest,
		.who = who,
		.at = at,
		.strikes = 3};
	ck_assert_int_eq(kp_decisions_quarantine(d, &item), 0);
}

static void crowd(struct kp_decisions *d)
{
	char kernel[160];

	for (int i = 0; i < USERS * KERNELS; i++) {
		(void)snprintf(kernel, sizeof(kernel), "%064d/%064d", i % KERNELS, 1);
		quarantine(d, kernel, 100000 + i / KERNELS, 100 + i);
	}
}

START_TEST(quarantines_of_many_users_take_nothing_from_others)
{
	struct kp_decisions d = {0};

	quarantine(&d, "machine/k", KP_QUARANTINE_ALL, 1);
	quarantine(&d, "little/k", 5, 2);
	crowd(&d);
	ck_assert_uint_eq(d.n_quarantined, KP_QUARANTINED_USERS + 1);
	ck_assert(kp_decisions_is_quarantined(&d, "machine/k", KP_QUARANTINE_ALL));
	ck_assert(kp_decisions_is_quarantined(&d, "little/k", 5));
	/* Each of them has a share, and the latest. */
	ck_assert(kp_decisions_has_quarantine(&d, 100000));
	ck_assert(kp_decisions_has_quarantine(&d, 100000 + USERS - 1));
	kp_decisions_finish(&d);
}
END_TEST

START_TEST(quarantines_of_many_users_leave_room_for_what_operators_decide)
{
	struct kp_decisions d = {0};
	struct kp_diag diag;
	char name[64];
	bool changed;

	crowd(&d);
	for (int i = 0; i < 2000; i++) {
		(void)snprintf(name, sizeof(name), "plugin%d", i);
		ck_assert_int_eq(kp_decisions_disable(&d, name, "turned off in haste", 1,
					 0, false, &changed),
			0);
	}
	ck_assert_msg(kp_decisions_fit(&d, NULL, &diag) == 0, "%s", diag.message);
	kp_decisions_finish(&d);
}
END_TEST

START_TEST(operators_quarantines_are_as_many_as_ever)
{
	struct kp_decisions d = {0};
	char kernel[32];

	crowd(&d);
	for (int i = 0; i < KP_QUARANTINED_MOST + 3; i++) {
		(void)snprintf(kernel, sizeof(kernel), "m/k%d", i);
		quarantine(&d, kernel, KP_QUARANTINE_ALL, i);
	}
	ck_assert_uint_eq(d.n_quarantined, KP_QUARANTINED_USERS + KP_QUARANTINED_MOST);
	ck_assert(!kp_decisions_is_quarantined(&d, "m/k2", KP_QUARANTINE_ALL));
	ck_assert(kp_decisions_is_quarantined(&d, "m/k3", KP_QUARANTINE_ALL));
	kp_decisions_finish(&d);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("crowd");
	TCase *all = tcase_create("all");

	tcase_add_loop_test(all, crowd_is_who_occurs_most_often, 0, CROWDS);
	tcase_add_test(all, quarantines_of_many_users_take_nothing_from_others);
	tcase_add_test(
		all, quarantines_of_many_users_leave_room_for_what_operators_decide);
	tcase_add_test(all, operators_quarantines_are_as_many_as_ever);
	suite_add_tcase(suite, all);
	return suite_run(suite);
}
