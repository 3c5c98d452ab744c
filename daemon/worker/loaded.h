/* SPDX-License-Identifier: MIT */
/* A plugin that is loaded into this process and whose code agrees with its note. */
#ifndef KP_WORKER_LOADED_H
#define KP_WORKER_LOADED_H

#include <jansson.h>

#include "kplug/plugin.h"
#include "lib/diag.h"
#include "lib/note.h"

struct loaded {
	void *handle;
	const struct kp_plugin *plugin;
	const struct kp_note *note; /* borrowed */
};

/*
 * dlopen (RTLD_NOW | RTLD_LOCAL) of a stored library by its path, checks the
 * ABI (lib/abi.h) and that note and code have the same kernels. Codes: load_failed
 * (dlerror's words; missing_symbol names the symbol), no_plugin_symbol, bad_abi
 * codes of lib/abi.h, entries_differ (both lists). Nothing is unloaded on failure.
 */
int loaded_open(const char *stored, const struct kp_note *note, struct loaded *loaded,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/* The functions of a kernel by its name in the note; never NULL after loaded_open. */
const struct kp_kernel *loaded_kernel(const struct loaded *loaded, const char *name);

#endif
