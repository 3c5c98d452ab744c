/* SPDX-License-Identifier: MIT */
/*
 * A heap that is exhausted at a given allocation: malloc and its kin in front of those of
 * libc. Linked into a test, or loaded before a program ($SCARCE_PROGRAM, $SCARCE_AT).
 */
#ifndef KP_TESTS_SCARCE_H
#define KP_TESTS_SCARCE_H

#include <stdbool.h>
#include <stddef.h>

/* False under a sanitizer that has a heap of its own. */
bool scarce_works(void);

/*
 * From now on, in this thread, allocation `at` (from 1; 0: none) fails, and with
 * `for_good` all after it. Frees of what is older are fine.
 */
void scarce_begin(size_t at, bool for_good);

/* How many there were; *left: how many blocks of all threads came and are still there. */
size_t scarce_end(long *left);

#endif
