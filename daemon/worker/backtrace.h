/* SPDX-License-Identifier: MIT */
/* Where a worker was when a signal ended it: best effort, to its standard error. */
#ifndef KP_WORKER_BACKTRACE_H
#define KP_WORKER_BACKTRACE_H

/* Once, before workers are forked: what it needs is loaded while that is safe. */
void backtrace_prepare(void);

/*
 * From now on SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT print KP_BACKTRACE_MARK and
 * the frames, then end the process as they would have. Also on an exhausted stack.
 */
void backtrace_on_crash(void);

#endif
