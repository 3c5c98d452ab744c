/* SPDX-License-Identifier: MIT */
/*
 * Confines a worker before anything of a plugin's is read or run in it: limits, no
 * privileges, Landlock, a filter of system calls; as far as the kernel offers them.
 */
#ifndef KP_WORKER_SANDBOX_H
#define KP_WORKER_SANDBOX_H

#include "daemon/worker/filter.h"
#include "daemon/worker/limits.h"
#include "lib/base/diag.h"
#include "lib/platform/confinement.h"

/* What is made once for many workers, which are forks of whoever made it. */
struct sandbox {
	struct kp_confinement offered;
	struct filter tight, spared;
};

/* Where it fails no worker is confined, and none may run: code sandbox_failed. */
int sandbox_prepare(struct sandbox *sandbox, struct kp_diag *diag)
	__attribute__((warn_unused_result));
/*
 * The same in another image of this process, without making anything: the heap of who
 * measures must be as a plugin finds it. fd: of filter_save of `spared`, or -1; closed.
 */
int sandbox_resume(struct sandbox *sandbox, int fd, struct kp_diag *diag)
	__attribute__((warn_unused_result));
void sandbox_finish(struct sandbox *sandbox);

/*
 * Confines this process, for good. `gate`: a socket (SOCK_SEQPACKET) over which whoever
 * answers for refused calls gets the descriptor to do so, and which is closed; or -1.
 * Nothing that the kernel offers is left out: code sandbox_failed.
 */
int sandbox_enter(const struct sandbox *sandbox, const struct limits_wish *wish, int gate,
	struct kp_diag *diag) __attribute__((warn_unused_result));

#endif
