/* SPDX-License-Identifier: MIT */
/*
 * Is there, for each symbol and each version of symbols that a library uses, somebody
 * who has it? Told from the bytes of the libraries that would be loaded.
 */
#ifndef KP_WORKER_PROVIDED_H
#define KP_WORKER_PROVIDED_H

#include "daemon/worker/closure.h"
#include "daemon/worker/elf_image.h"

/*
 * Adds to `faults` what the loader would refuse here: symbol_version_missing,
 * undefined_symbol (who should have it, and where that one is); and to `warnings`
 * undeclared_library: this process has the symbol by a library that is not needed. -1
 * when memory is exhausted.
 */
int provided_check(const struct elf_image *image, const struct closure *closure,
	struct kp_diags *faults, struct kp_diags *warnings)
	__attribute__((warn_unused_result));

#endif
