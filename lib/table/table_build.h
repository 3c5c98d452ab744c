/* SPDX-License-Identifier: MIT */
/*
 * Writing a table. Equal strings, lists, traits, capabilities and profiles are
 * kept once; the bytes depend on what is added and its order alone. A failure
 * of memory is kept and reported by kp_build_finish.
 */
#ifndef KP_LIB_TABLE_BUILD_H
#define KP_LIB_TABLE_BUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/diag.h"
#include "lib/base/intern.h"
#include "lib/family/family.h"
#include "lib/platform/platform.h"
#include "lib/plugin/spec.h"
#include "lib/plugin/verdict.h"
#include "lib/registry/decisions.h"
#include "lib/table/table_layout.h"

/* A section a run of bytes. Zero it first. */
struct kp_build {
	struct kp_intern sections[KP_SECTIONS];
	bool failed;
};

/* Why something is not in use. code NULL: it is. */
struct kp_reason {
	const char *code, *message, *source;
};

/* What a table says of a plugin; NULL is "not known". */
struct kp_plugin_facts {
	const char *name, *package, *version, *stored, *digest, *closure, *config;
	const char *machine; /* a vendor of CPUs: x86-64, aarch64 */
	enum kp_state state, verdict;
	struct kp_reason reason, found;
};

struct kp_kernel_facts {
	size_t plugin; /* index in order of kp_build_plugin */
	int policy;
	enum kp_state state;
	struct kp_reason off, unavailable;
};

/*
 * Families and plugins in byte order of name, pins and guards of operation, kernels of
 * (operation, plugin, name), families before the rest. All strings are copied.
 */
void kp_build_families(struct kp_build *build, const struct kp_families *families);
void kp_build_platform(struct kp_build *build, const struct kp_platform *platform);
void kp_build_pin(struct kp_build *build, const struct kp_pin *pin);
void kp_build_guard(struct kp_build *build, const char *operation, uint32_t every);
void kp_build_plugin(struct kp_build *build, const struct kp_plugin_facts *facts);
void kp_build_kernel(struct kp_build *build, const struct kp_spec *spec,
	const struct kp_kernel_facts *facts);

/*
 * Writes the table, malloc'ed bytes of the caller, and frees what the build
 * holds, also on failure. Codes no_memory, table_too_large.
 */
int kp_build_finish(struct kp_build *build, uint64_t generation, void **bytes,
	size_t *size, struct kp_diag *diag) __attribute__((warn_unused_result));
/* Instead of it: drops what was written. */
void kp_build_free(struct kp_build *build);

/* For the units that write sections. */
uint32_t kp_build_text(struct kp_build *build, const char *text);
/* A text that requests are compared with. */
uint32_t kp_build_symbol(struct kp_build *build, const char *text);
/* The index of a list in WORDS; `words` has the items. */
uint32_t kp_build_list(struct kp_build *build, const uint32_t *words, size_t count);
/* Appends a record, or finds an equal one; its index. */
uint32_t kp_build_record(struct kp_build *build, enum kp_section section,
	const unsigned char *record, size_t size);
uint32_t kp_build_shared(struct kp_build *build, enum kp_section section,
	const unsigned char *record, size_t size);
uint32_t kp_build_scalar(struct kp_build *build, const struct kp_scalar *scalar);

/* Adds OPERATIONS, SIGNATURES, SLOTS and the lists of kernels (lib/table/table_index.c).
 */
void kp_build_index(struct kp_build *build);

#endif
