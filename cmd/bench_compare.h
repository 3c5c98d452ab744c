/* SPDX-License-Identifier: MIT */
/* `pluginctl bench --compare`: what a saved result has is measured again. */
#ifndef CMD_BENCH_COMPARE_H
#define CMD_BENCH_COMPARE_H

#include <jansson.h>

#include "cmd/session.h"

/*
 * `parameters` are what the command line asks for; the rest is the file's. The exit
 * status: KP_EXIT_NO where a kernel is slower or not right.
 */
int bench_compare(struct session *session, const json_t *parameters);

#endif
