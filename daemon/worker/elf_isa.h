/* SPDX-License-Identifier: MIT */
/* The level of x86-64 that a library says it needs, by its GNU property. */
#ifndef KP_WORKER_ELF_ISA_H
#define KP_WORKER_ELF_ISA_H

#include "daemon/worker/elf_image.h"

/*
 * N of x86-64-vN: the loader refuses the library on less. 0 where it says nothing, and
 * for other machines.
 */
unsigned elf_isa_needed(const struct elf_image *image);

#endif
