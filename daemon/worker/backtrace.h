/* SPDX-License-Identifier: MIT */
/*
 * Where a worker was when a signal ended it, or its time was up: frames to its standard
 * error, and, of a load, whether it was the relocation. Best effort.
 */
#ifndef KP_WORKER_BACKTRACE_H
#define KP_WORKER_BACKTRACE_H

#include <signal.h>
#include <stdbool.h>

struct report;

/* A worker that catches it is asked where it is, so, before it is killed. */
enum { BACKTRACE_ASKED = SIGQUIT };

/* Once, before workers are forked: what it needs is loaded while that is safe. */
void backtrace_prepare(void);

/*
 * From now on SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT print KP_BACKTRACE_MARK and
 * the frames, then end the process as they would have; BACKTRACE_ASKED does, and ends it
 * by SIGKILL. Also on an exhausted stack. For the thread that loads.
 */
void backtrace_on_end(const struct report *report);
/* While this is so, an end before any constructor reports the stage "relocation"; that of
 * exit(), too. */
void backtrace_while_loading(bool loading);

#endif
