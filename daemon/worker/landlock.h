/* SPDX-License-Identifier: MIT */
/* Landlock: files may be read, and nothing is written but what is named here. */
#ifndef KP_WORKER_LANDLOCK_H
#define KP_WORKER_LANDLOCK_H

#include <stdbool.h>

#include "lib/base/diag.h"

/*
 * From now on this process, which has given up new privileges, writes to no file, makes
 * and removes none, runs none, looks into no other process and, where the kernel's
 * `version` of Landlock has that, asks nothing of devices, reaches no socket by name and
 * signals nobody else. Left are /dev/null and its like, and with `gpu` the nodes of GPUs.
 * What is open already stays so. Code sandbox_failed.
 */
int landlock_enter(int version, bool gpu, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/* May it be opened for writing by name? For who explains a refusal, not who refuses. */
bool landlock_leaves(const char *path);

#endif
