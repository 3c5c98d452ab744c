/* SPDX-License-Identifier: MIT */
/*
 * Code of plugins in this process: each stored library is mapped and started once and
 * stays, whatever handles come and go; a kernel is loaded once for each device. What is
 * kept is the process's own: the loader knows no handles either. Knows no table.
 */
#ifndef KP_LIB_HOST_CODE_H
#define KP_LIB_HOST_CODE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "kplug/plugin.h"
#include "lib/base/diag.h"
#include "lib/plugin/spec.h"

/* What a table says of a plugin. Borrowed. */
struct kp_code_wanted {
	const char *plugin;
	const char *stored; /* the library, below a directory of this name: */
	const char *closure;
	const char *config; /* JSON, or NULL */
	struct kp_strings kernels;
};

/* A kernel, loaded for a device. Immutable while there are references to it. */
struct kp_loaded {
	struct kp_kernel functions;
	void *state, *device_state;
	pthread_mutex_t
		*serial; /* one call at a time for kernels that are not reentrant */
	/* lib/host/code.c's own */
	struct kp_code_kernel *kernel;
	struct kp_loaded *next;
	struct kp_device device;
	unsigned references;
};

/*
 * Maps the library, checks its ABI and that it has these kernels, starts it, loads the
 * kernel for the device. Blocks, and others that load meanwhile. *loaded is given back
 * with kp_code_drop. A failure is kept: the same library fails alike until the process
 * ends. Codes: load_failed, missing_symbol, missing_version, missing_library,
 * no_plugin_symbol, those of kp_abi_check, entries_differ, soname_conflict (another file
 * of that name is mapped; both are named), start_failed, kernel_load_failed, no_memory.
 */
int kp_code_load(const struct kp_code_wanted *wanted, const char *kernel,
	const struct kp_device *device, const struct kp_loaded **loaded,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/*
 * A kernel of the application's own: not kept by the process but by its owner, who
 * disowns it when nothing is loaded of it any more. NULL with the codes of kp_abi_check,
 * no_memory.
 */
struct kp_code_kernel *kp_code_adopt(
	const char *name, const struct kp_kernel *vtable, struct kp_diag *diag);
int kp_code_load_adopted(struct kp_code_kernel *kernel, const struct kp_device *device,
	const struct kp_loaded **loaded, struct kp_diag *diag)
	__attribute__((warn_unused_result));
void kp_code_disown(struct kp_code_kernel *kernel); /* NULL is fine */

/*
 * The last reference unloads the kernel from the device; `lost`: nothing is called any
 * more. NULL is fine.
 */
void kp_code_drop(const struct kp_loaded *loaded, int lost);

#endif
