/* SPDX-License-Identifier: MIT */
/*
 * Manifests: one file NAME.json a plugin in layered directories. Reading one
 * never touches the library it names.
 */
#ifndef KP_LIB_MANIFEST_H
#define KP_LIB_MANIFEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/base/diag.h"

struct kp_trust;

enum {
	KP_MANIFEST_BYTES = 1 << 20,
	KP_MANIFEST_CONFIG_BYTES = 256 << 10, /* of config, without blanks */
	KP_MANIFESTS = 16384,
	KP_MANIFEST_TIMEOUT_MS = 10000, /* of a probe, where the manifest says nothing */
	KP_MANIFEST_TIMEOUT_MOST_MS = 600000,
};

struct kp_manifest {
	char *name;	 /* of the file without .json: the plugin's name everywhere */
	char *path;	 /* of the file that counts */
	size_t layer;	 /* index of its directory, 0 is the highest */
	char *library;	 /* as written: absolute, or relative to the plugin directory */
	json_t *config;	 /* object or NULL */
	char sha256[65]; /* lower case, or "" */
	unsigned timeout_ms;
	int priority_offset;
	bool enabled;	 /* default true */
	bool masked;	 /* a link to /dev/null, or an empty file */
	char digest[17]; /* changes whenever the file's content does (FNV-1a) */
	/*
	 * Not NULL: an operator wants the library of an earlier generation in its place:
	 * its path in the store, and the SHA-256 of its entry and of itself.
	 */
	struct kp_manifest_stored *stored;
	/* Not NULL: the manifest is wrong, and this says how; name and path are set. */
	struct kp_diag *error;
};

struct kp_manifest_stored {
	char closure[65];
	char digest[65];
	char path[];
};

/* All that the layers hold, in byte order of name; hidden ones are left out. */
struct kp_manifests {
	size_t count;
	struct kp_manifest *items;
	struct kp_diags warnings; /* unreadable directories and the like */
};

/*
 * Reads one text. Codes of kp_json_parse and kp_json_check (unknown keys are
 * errors), bad_digest, bad_priority_offset, bad_timeout, bad_library,
 * config_too_large, file_too_large; the place is line and column. The name is
 * that of the file.
 */
int kp_manifest_parse(const char *text, size_t size, const char *path,
	struct kp_manifest *manifest, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/* A manifest of which only name, path and digest are known; the rest is default. */
int kp_manifest_begin(const char *text, size_t size, const char *path,
	struct kp_manifest *manifest, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/*
 * Reads the directories, highest first. A directory that is not there is empty;
 * names that start with a dot or do not end in .json are ignored; a name that
 * breaks the rule of kp_text_is_name is an item with an error. A directory that
 * cannot be read and a name beyond KP_MANIFESTS are warnings (unreadable_directory,
 * too_many). Blocks on files only; fails only when memory is exhausted.
 */
int kp_manifests_read(const char *const *dirs, size_t count, struct kp_manifests *out,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/*
 * The same for those who run what is named: an item whose file or layer others may change
 * or replace has an error (codes of lib/base/trust.h). The directories are absolute.
 */
int kp_manifests_read_trusted(const char *const *dirs, size_t count,
	const struct kp_trust *trust, struct kp_manifests *out, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/*
 * Where a file of a layer is known to be what it was, its manifest need not be read
 * again: fills *manifest (but for its layer), which is the reader's from then on, and is
 * true. False: not known, or no memory.
 */
typedef bool kp_manifest_known_fn(
	void *context, size_t layer, const char *file, struct kp_manifest *manifest);

/* The same as kp_manifests_read, or with `trust` as kp_manifests_read_trusted. */
int kp_manifests_read_known(const char *const *dirs, size_t count,
	const struct kp_trust *trust, kp_manifest_known_fn *known, void *context,
	struct kp_manifests *out, struct kp_diag *diag)
	__attribute__((warn_unused_result));

const struct kp_manifest *kp_manifests_find(
	const struct kp_manifests *manifests, const char *name);

/*
 * The path of the library: the stored one where there is one; itself when absolute,
 * else inside plugin_dir; "../" is refused (bad_library). *path is malloc'ed.
 */
int kp_manifest_library(const struct kp_manifest *manifest, const char *plugin_dir,
	char **path, struct kp_diag *diag) __attribute__((warn_unused_result));

/*
 * Another library in its place, or (closure NULL) its own again. -1: memory, and nothing
 * has changed.
 */
int kp_manifest_store(struct kp_manifest *manifest, const char *path, const char *closure,
	const char *digest) __attribute__((warn_unused_result));
/* Do both lead to the same, as far as that goes? */
bool kp_manifest_same_stored(const struct kp_manifest *a, const struct kp_manifest *b);

int kp_manifest_copy(const struct kp_manifest *from, struct kp_manifest *to)
	__attribute__((warn_unused_result));
void kp_manifest_finish(struct kp_manifest *manifest);
void kp_manifests_finish(struct kp_manifests *manifests);

#endif
