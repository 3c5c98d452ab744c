/* SPDX-License-Identifier: MIT */
/* What of a library's own bytes is wrong or doubtful, whatever machine it comes to. */
#ifndef KP_WORKER_ELF_FAULTS_H
#define KP_WORKER_ELF_FAULTS_H

#include <jansson.h>

#include "daemon/worker/elf_image.h"
#include "daemon/worker/elf_load.h"

/*
 * Static thread-local storage of libraries that are loaded later: glibc keeps 1664 bytes
 * for all of a process. One that wants more than this cannot count on it.
 */
enum { ELF_STATIC_TLS_MOST = 1024 };

/*
 * Adds to `faults`: executable_stack, unmarked_stack, static_tls (the bytes),
 * relative_search_path, writable_search_path; to `warnings`: static_tls (fewer bytes),
 * text_relocations, writable_code, foreign_search_path, float_startup_code.
 */
void elf_faults_find(const struct elf_image *image, const json_t *facts,
	const struct elf_load *load, struct kp_diags *faults, struct kp_diags *warnings);

#endif
