/* SPDX-License-Identifier: MIT */
/* A row of a verification as the Verified of the interface. Pure. */
#ifndef KP_DAEMON_VERIFY_RUN_H
#define KP_DAEMON_VERIFY_RUN_H

#include "daemon/bench/bench_task.h"

/*
 * The job is in daemon/worker/measure_verify.c. Verdicts are those of bench_run.h, where
 * `ok` is right in every case, `unsupported` in none, by the kernel's own word, and
 * `finding`: right, but it breaks rules that no result shows.
 */
extern const struct bench_task verify_task;

#endif
