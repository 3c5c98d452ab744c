/* SPDX-License-Identifier: MIT */
/* What a library asks of the machine, as `info` shows it. */
#ifndef KP_WORKER_ELF_FACTS_H
#define KP_WORKER_ELF_FACTS_H

#include <jansson.h>

#include "daemon/worker/elf_image.h"

/*
 * {"class", "machine", "soname", "needed", "runpath", "rpath", "versions": {library:
 * highest version needed, ...}, "stack": "rw"|"executable"|"unmarked",
 * "static_tls", "tls_bytes", "textrel", "init_functions", "fini_functions"}; NULL when
 * memory is exhausted. What is damaged is left out.
 */
json_t *elf_facts(const struct elf_image *image);

/* [{"code", "message"}]: executable_stack, unmarked_stack, text_relocations, static_tls.
 */
json_t *elf_warnings(const struct elf_image *image);

#endif
