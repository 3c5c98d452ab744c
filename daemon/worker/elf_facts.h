/* SPDX-License-Identifier: MIT */
/* What a library asks of the machine, as `info` shows it. */
#ifndef KP_WORKER_ELF_FACTS_H
#define KP_WORKER_ELF_FACTS_H

#include <jansson.h>

#include "daemon/worker/elf_image.h"
#include "lib/base/diag.h"

/* Of needed libraries, and of directories to search, and bytes of all their names. */
enum { ELF_NAMES_MOST = 256, ELF_NAMES_BYTES = 32 << 10 };

/*
 * {"class", "machine", "soname", "needed", "runpath", "rpath", "versions": {library:
 * highest version needed, ...}, "stack": "rw"|"executable"|"unmarked",
 * "static_tls", "tls_bytes", "textrel", "init_functions", "fini_functions"}; NULL when
 * memory is exhausted; identify adds "isa_needed", "constructors", "ifuncs"
 * (elf_load.h) and "gpu" (fatbin.h). What is damaged
 * is left out.
 */
json_t *elf_facts(const struct elf_image *image);

/*
 * Can what it needs be looked for, and is that all? Codes too_many_search_paths,
 * too_many_needed; needed_with_path: "../x.so" is decided by the directory of whoever
 * loads it; filter_library: the loader opens another one beside what is needed.
 */
int elf_facts_check(const struct elf_image *image, const json_t *facts, const char *file,
	struct kp_diag *diag) __attribute__((warn_unused_result));

#endif
