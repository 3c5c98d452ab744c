/* SPDX-License-Identifier: MIT */
/* The families that come with kplug, in a Check test. */
#ifndef TESTS_SUPPORT_FAMILIES_H
#define TESTS_SUPPORT_FAMILIES_H

#include <check.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/family/family.h"

/* Reads all that the build has; none is wrong. For kp_families_finish. */
static inline void families_read(struct kp_families *families)
{
	const char *build = getenv("KPLUG_BUILD");
	struct kp_diags problems = {0};
	char dir[PATH_MAX];

	snprintf(dir, sizeof(dir), "%s/families", build ? build : "build");
	ck_assert_int_eq(kp_families_read(dir, families, &problems), 0);
	ck_assert_msg(problems.count == 0, "%s:%u: %s", problems.items[0].file,
		problems.items[0].line, problems.items[0].message);
	ck_assert_uint_gt(families->count, 0);
}

#endif
