/* SPDX-License-Identifier: MIT */
/* `check --probe`: the one part of a check in which code of plugins runs. */
#ifndef CMD_CHECK_PROBE_H
#define CMD_CHECK_PROBE_H

#include "cmd/check.h"

/*
 * Has the libraries that were looked at probed by a plugind of the command's own, in
 * workers with a deadline, and adds what becomes of them. KP_EXIT_OK, or the status of
 * what it printed.
 */
int check_probe(struct check *check) __attribute__((warn_unused_result));

#endif
