/* SPDX-License-Identifier: MIT */
/* Running a suite. */
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int suite_run(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

void suite_skip(const char *what, const char *reason)
{
	char line[1024];
	int n = snprintf(line, sizeof(line), "ok 0 - %s # SKIP %s\n", what, reason);

	/* Whole, and at once: the test may still end by a signal. */
	if (n > 0 && write(STDOUT_FILENO, line, strlen(line)) < 0)
		perror(what);
}

bool suite_is_threaded(void)
{
#ifdef __SANITIZE_THREAD__
	return true;
#else
	return false;
#endif
}
