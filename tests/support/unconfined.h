/* SPDX-License-Identifier: MIT */
/* A machine without seccomp and Landlock, as a container may be. */
#ifndef TESTS_SUPPORT_UNCONFINED_H
#define TESTS_SUPPORT_UNCONFINED_H

#include <stdbool.h>

/* For this process and all that it starts from now on; ends the test where it fails. */
void unconfined_become(bool filter, bool landlock);

#endif
