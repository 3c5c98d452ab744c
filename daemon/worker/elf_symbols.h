/* SPDX-License-Identifier: MIT */
/* The symbols that a library exports, found as the loader finds them. */
#ifndef KP_WORKER_ELF_SYMBOLS_H
#define KP_WORKER_ELF_SYMBOLS_H

#include <jansson.h>

#include "daemon/worker/elf_image.h"

/*
 * Does it export the one symbol of a plugin, an object, and nothing else? Codes
 * no_plugin_symbol, exports_more (the names), elf_damaged. Symbols that the linker makes
 * by itself (_init, _edata, version names, ...) do not count.
 */
int elf_symbols_check(const struct elf_image *image, struct kp_diag *diag)
	__attribute__((warn_unused_result));

#endif
