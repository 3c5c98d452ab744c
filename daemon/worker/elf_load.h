/* SPDX-License-Identifier: MIT */
/* What a library does to the process that loads it, before anything of it is called. */
#ifndef KP_WORKER_ELF_LOAD_H
#define KP_WORKER_ELF_LOAD_H

#include <stdbool.h>
#include <stddef.h>

#include "daemon/worker/elf_image.h"

struct elf_load {
	size_t constructors; /* its own: what every compiler adds is not counted */
	size_t ifuncs;	     /* resolvers that run while it is relocated */
	bool sets_float;     /* a constructor makes the thread flush small numbers */
};

/*
 * Reads relocations and the constructors' first instructions. The start-up code of
 * -ffast-math (crtfastmath.o) sets bits 6 and 15 of MXCSR; on aarch64 it writes FPCR.
 */
void elf_load_read(const struct elf_image *image, struct elf_load *load);

#endif
