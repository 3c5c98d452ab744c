/* SPDX-License-Identifier: MIT */
/*
 * Is what a plugin's code hands over what kplug/plugin.h says? Reads only what
 * the sizes cover. Also calls its functions so that every status and error text
 * is one that kplug knows.
 */
#ifndef KP_LIB_ABI_H
#define KP_LIB_ABI_H

#include <stddef.h>

#include "kplug/plugin.h"
#include "lib/base/diag.h"

enum { KP_STRUCT_MOST = 64 << 10, KP_FLAGS_MUST = 0xffff };

/*
 * Checks kplug_plugin, its entries and their vtables. Codes: abi_major,
 * abi_minor, bad_struct_size (field, both sizes), unknown_flag (the bit),
 * missing_pointer (its name), null_entry (its index), unknown_entry_kind,
 * bad_entry_name, too_many. The object is "entries[2].vtable.run".
 */
int kp_abi_check(const struct kp_plugin *plugin, struct kp_diag *diag)
	__attribute__((warn_unused_result));
/* The same for a host of another ABI version than this one. */
int kp_abi_check_for(const struct kp_plugin *plugin, unsigned major, unsigned minor,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/*
 * A kernel's functions in today's shape: what the plugin's size does not cover is
 * NULL. After kp_abi_check only.
 */
void kp_abi_kernel(const struct kp_entry *entry, struct kp_kernel *kernel);
/* The same for the plugin: start and stop are NULL where it ends before them. */
void kp_abi_plugin(const struct kp_plugin *plugin, struct kp_plugin *today);

/* "KP_INVALID"; for an unknown one "KP_RUNTIME (999)" into `text`. */
const char *kp_status_text(int status, char *text, size_t size);
/* A status that kplug knows: unknown ones are KP_RUNTIME. */
int kp_status_known(int status);

/* Readies an error for a call. */
void kp_error_reset(struct kp_error *error);
/*
 * After a call that returned `status`, which counts, whatever the plugin wrote to
 * error->status: makes status and text safe (ended, UTF-8, escaped), keeps an
 * unknown status in native_code, and returns the known status.
 */
int kp_error_settle(struct kp_error *error, int status);

#endif
