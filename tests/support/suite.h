/* SPDX-License-Identifier: MIT */
/* How a test program ends: all tests of a suite, told as the environment says. */
#ifndef KP_TESTS_SUPPORT_SUITE_H
#define KP_TESTS_SUPPORT_SUITE_H

#include <check.h>
#include <stdbool.h>

/* Runs and frees the suite; the exit status of main. */
int suite_run(Suite *suite);

/*
 * Says that this cannot be tested on this machine; tests/skips must know the reason. In
 * a test; told again, it counts once.
 */
void suite_skip(const char *what, const char *reason);

/* Does ThreadSanitizer watch? Some things it cannot follow. */
bool suite_is_threaded(void);

#endif
