/* SPDX-License-Identifier: MIT */
/* A filter that keeps others from being made. */
#include "tests/support/unconfined.h"

#include <check.h>
#include <errno.h>
#include <seccomp.h>

void unconfined_become(bool filter, bool landlock)
{
	scmp_filter_ctx context = seccomp_init(SCMP_ACT_ALLOW);
	const unsigned no = SCMP_ACT_ERRNO(ENOSYS);

	ck_assert_ptr_nonnull(context);
	if (filter)
		ck_assert_int_eq(seccomp_rule_add(context, no, SCMP_SYS(seccomp), 0), 0);
	if (landlock)
		ck_assert_int_eq(seccomp_rule_add(context, no,
					 SCMP_SYS(landlock_create_ruleset), 0),
			0);
	ck_assert_int_eq(seccomp_load(context), 0);
	seccomp_release(context);
}
