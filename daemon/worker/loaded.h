/* SPDX-License-Identifier: MIT */
/* A plugin that is loaded into this process and whose code agrees with its note. */
#ifndef KP_WORKER_LOADED_H
#define KP_WORKER_LOADED_H

#include <jansson.h>

#include "kplug/plugin.h"
#include "lib/base/diag.h"
#include "lib/plugin/note.h"

struct loaded {
	void *handle;
	const struct kp_plugin *plugin;
	const struct kp_note *note; /* borrowed */
	struct kp_kernel
		*kernels;  /* in the note's order, in today's shape; never freed */
	char loader[1024]; /* dlerror's words after a failure, or "" */
};

/*
 * dlopen (RTLD_NOW | RTLD_LOCAL) of a stored library by its path, checks the
 * ABI (lib/plugin/abi.h) and that note and code have the same kernels. Codes:
 * load_failed, missing_symbol, missing_version, missing_library (with dlerror's words;
 * the object is what is missing), no_plugin_symbol, those of kp_abi_check, entries_differ
 * (both lists). Nothing is unloaded on failure; handle is NULL when the library could not
 * be loaded.
 */
int loaded_open(const char *stored, const struct kp_note *note, struct loaded *loaded,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/* The functions of a kernel by its name in the note; never NULL after loaded_open. */
const struct kp_kernel *loaded_kernel(const struct loaded *loaded, const char *name);

#endif
