/* SPDX-License-Identifier: MIT */
/*
 * One generation of the registry as flat, position-independent bytes: what
 * selection reads in the daemon, in applications and in tests.
 *
 * A header (magic "KPLUGTB1", format major.minor, generation, size, checksum)
 * and sections (offset, count, record size: readers stride by it, so that later
 * minors may lengthen records): plugins, kernels in byte order of
 * (operation, plugin, name), signatures, traits, string lists, families with
 * roles, trait rules and derived values, devices, pins, guards, an index by (operation,
 * signature) whose buckets list kernels by descending rank, and strings. All
 * integers little-endian; offsets from the start.
 */
#ifndef KP_LIB_TABLE_H
#define KP_LIB_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/diag.h"
#include "lib/plugin/spec.h"
#include "lib/plugin/verdict.h"

enum { KP_TABLE_MAJOR = 1, KP_TABLE_MINOR = 1 };

/* A view; borrows the bytes. Copied freely. */
struct kp_table {
	const unsigned char *bytes;
	size_t size;
};

/*
 * Checks everything that a reader relies on, so that no later read can leave the
 * bytes, whatever they hold. Codes bad_table, newer_format.
 */
int kp_table_open(const void *bytes, size_t size, struct kp_table *table,
	struct kp_diag *diag) __attribute__((warn_unused_result));

uint64_t kp_table_generation(const struct kp_table *table);
size_t kp_table_kernels(const struct kp_table *table);
size_t kp_table_plugins(const struct kp_table *table);

/* What the table knows of a kernel beside its spec. */
struct kp_entry_state {
	const char *plugin;
	enum kp_state state;	    /* the kernel's own: disabled, or its plugin's */
	bool available;		    /* what the probe said */
	const char *code, *message; /* when it is not usable; else NULL */
	const char *source;	    /* operator, daemon, machine */
	int policy;		    /* [0, 20), 10 neutral */
};

/*
 * Decodes kernel i into *spec. Arrays live in *memory, which the caller frees
 * with free(); strings point into the table. Returns -1 when memory is exhausted.
 */
int kp_table_spec(const struct kp_table *table, size_t i, struct kp_spec *spec,
	struct kp_entry_state *state, void **memory) __attribute__((warn_unused_result));

/*
 * The kernel's index by "plugin/kernel" or, when it is unambiguous within
 * `operation` (NULL: everywhere), by its bare name. Codes no_such_kernel,
 * ambiguous_name (all listed).
 */
int kp_table_find(const struct kp_table *table, const char *operation, const char *name,
	size_t *i, struct kp_diag *diag) __attribute__((warn_unused_result));

#endif
