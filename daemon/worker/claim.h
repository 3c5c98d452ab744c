/* SPDX-License-Identifier: MIT */
/*
 * What a note claims of processors, held against what the library has: found out before
 * anything runs, not by the first request that fails.
 */
#ifndef KP_WORKER_CLAIM_H
#define KP_WORKER_CLAIM_H

#include "daemon/worker/fatbin.h"
#include "lib/base/diag.h"
#include "lib/plugin/note.h"

/*
 * Has the library code for each kernel's GPUs of NVIDIA's? A kernel that brings libraries
 * of its own (`needs`, but for the driver's) may have its code there, and a library
 * without any fat binary elsewhere: both pass. Code gpu_arch_missing: no code runs on any
 * arch of the kernel's range. Warnings: gpu_arch_gap, when the lowest that is claimed has
 * none; gpu_code_damaged.
 */
int claim_check_gpu(const struct kp_note *note, const struct fatbins *fatbins,
	struct kp_diags *warnings, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/*
 * Does each kernel for a CPU claim as much as the library needs to be loaded, x86-64-vN?
 * A claim is min_arch, or a feature that only CPUs of such a level have. Code
 * cpu_isa_missing.
 */
int claim_check_cpu(const struct kp_note *note, unsigned needed, struct kp_diag *diag)
	__attribute__((warn_unused_result));

#endif
