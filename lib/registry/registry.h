/* SPDX-License-Identifier: MIT */
/*
 * The registry: every plugin that was found, its state and why. Kernels live in
 * the table that is built from it (lib/table/table.h); the registry keeps a plugin's
 * note only until then, and a new table takes over unchanged plugins' kernels
 * from the one before.
 *
 * A state is worked out from, in this order: masked; a wrong manifest (rejected);
 * disabled_by_manifest; a verdict that it cannot be used (missing, rejected, failed,
 * quarantined), unless it is probed again; disabled_by_operator (by this name, or what
 * is no duplicate by its library or package); pending; active, or duplicate_of. A
 * library (by digest) and the name in a note belong to the first plugin in byte order of
 * name that has them, even while it is disabled, failed or quarantined; what is rejected
 * by itself holds nothing. Kernels of an active plugin can be off by themselves:
 * disabled_by_operator, unproven, unavailable. A pending plugin's kernels stay as they
 * were.
 *
 * Pure: the caller gives times and does all reading and writing. Nothing here
 * depends on the order in which verdicts arrive.
 */
#ifndef KP_LIB_REGISTRY_H
#define KP_LIB_REGISTRY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/diag.h"
#include "lib/family/family.h"
#include "lib/platform/platform.h"
#include "lib/plugin/manifest.h"
#include "lib/plugin/note.h"
#include "lib/plugin/verdict.h"
#include "lib/registry/decisions.h"

struct kp_json_writer;
struct kp_registry;
struct kp_table;

/* A change of a state, for the log: one a plugin. Strings are valid in the call. */
struct kp_change {
	const char *plugin;
	enum kp_state before, after;
	bool is_new, is_gone;
	const char *code, *message; /* NULL when active */
	const json_t *warnings;	    /* of its library, as PluginInfo has them; or NULL */
};
typedef void kp_change_fn(void *context, const struct kp_change *change);

/* Families and platform are borrowed for the registry's life. */
struct kp_registry *kp_registry_new(const struct kp_families *families,
	const struct kp_platform *platform, const struct kp_version *host,
	kp_change_fn *changed, void *context);
void kp_registry_free(struct kp_registry *registry);

/*
 * Brings the registry in line with what the layers hold now. New and changed
 * plugins become pending (their old kernels stay in force until the verdict
 * arrives), wrong manifests rejected, masked ones masked, vanished ones leave.
 * *todo gets the names to run through the pipeline (an array of malloc'ed
 * strings, the caller's). `force` names one plugin to do again, "" all, NULL none.
 */
int kp_registry_update(struct kp_registry *registry, const struct kp_manifests *manifests,
	const char *force, int64_t now, char ***todo, size_t *n_todo,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/*
 * Marks a plugin that the next update is to hand out again, whether its manifest has
 * changed or not: for many at once. False when there is none to run.
 */
bool kp_registry_again(struct kp_registry *registry, const char *plugin);

/* The manifest to run for a name of *todo, valid until the next update. */
const struct kp_manifest *kp_registry_manifest(
	const struct kp_registry *registry, const char *plugin);

/*
 * Applies a verdict, all or nothing: reads the note, checks it against families
 * (signatures, traits, attributes), range, priorities with the manifest's
 * offset, duplicates by digest and note name over all plugins. Takes over what
 * is in *verdict (finishes it). A verdict for a plugin that is gone or whose
 * manifest changed meanwhile (`manifest_digest`) is dropped.
 */
int kp_registry_apply(struct kp_registry *registry, const char *plugin,
	const char *manifest_digest, struct kp_verdict *verdict, int64_t now,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/*
 * What was found out about a library in an earlier run, and is known to hold still: its
 * kernels are in the restored table. The last two are of the struct kp_library of then.
 */
struct kp_confirmed {
	const char *plugin, *manifest_digest, *digest, *closure, *told;
	int64_t bytes;
	bool accepted; /* out */
};

/*
 * Takes verdicts of the restored table for what they are: those of active plugins that
 * are pending, whose manifest, library and closure are the same. What is not accepted
 * needs a verdict as ever. Then settles, once.
 */
int kp_registry_confirm(struct kp_registry *registry, struct kp_confirmed *items,
	size_t count, int64_t now, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/*
 * After that: where every plugin of the restored table was confirmed and stands as it
 * does there, the table is what kp_registry_publish would make again, under decisions,
 * families and a platform that are the same as then, which the caller knows. True: it
 * holds from now on.
 */
bool kp_registry_adopt(struct kp_registry *registry);

/*
 * What is to be kept of an active plugin's library beyond the table; texts are the
 * registry's, valid until its next verdict.
 */
struct kp_library {
	const char *digest, *closure, *told;
	int64_t bytes;
};

/*
 * False: it cannot be confirmed later, for it is not active by its verdict, pending, or
 * not in the latest table.
 */
bool kp_registry_library(const struct kp_registry *registry, const char *plugin,
	struct kp_library *library);

/*
 * What is known of a plugin's library in the store, by its last verdict; texts are the
 * registry's, valid until its next verdict. code and message are "" for an active one.
 */
struct kp_stored {
	enum kp_state verdict;
	const char *code, *message;
	const char *path, *closure, *digest, *version;
	int64_t bytes;
};
/* False: there is no such plugin, or it has no verdict now, or came to no closure. */
bool kp_registry_stored(
	const struct kp_registry *registry, const char *plugin, struct kp_stored *stored);

/* Of its last verdict, or of the restored table, also while it is pending; or "". */
const char *kp_registry_closure(const struct kp_registry *registry, const char *plugin);

/* The decisions that hold from now on; borrowed in the call, copied. */
int kp_registry_decide(struct kp_registry *registry, const struct kp_decisions *decisions,
	int64_t now, struct kp_diag *diag) __attribute__((warn_unused_result));

/*
 * Says in the caller's own decisions of which library each disabled name is, where
 * that has become known: before kp_registry_decide and after kp_registry_apply. Then
 * it stays off when its manifest leaves and comes back under another name. *changed
 * is set when something was filled, and is to be kept. -1 only for memory.
 */
int kp_registry_identify(
	const struct kp_registry *registry, struct kp_decisions *decisions, bool *changed)
	__attribute__((warn_unused_result));

/*
 * The name under which an operator disabled what is now this plugin or kernel, when
 * that is another one: enabling the name alone would change nothing. Or NULL.
 */
const char *kp_registry_disabled_as(const struct kp_registry *registry, const char *name);

/* The platform, which is the caller's, is another one from now on. */
void kp_registry_platform_changed(struct kp_registry *registry);

/*
 * Puts what is kept of all plugins into one piece of memory, once many have changed: what
 * was around it can then go back. -1 when memory is exhausted, and nothing has changed.
 */
int kp_registry_pack(struct kp_registry *registry) __attribute__((warn_unused_result));

/* The next table is another one although nothing has changed. */
void kp_registry_touch(struct kp_registry *registry);

/* Has anything changed since the last kp_registry_publish? */
bool kp_registry_is_dirty(const struct kp_registry *registry);

/*
 * Builds the flat table of a generation, which kp_registry_latest then is. The bytes are
 * a function of the content alone, whatever the order of events. On failure the one
 * before stays.
 */
int kp_registry_publish(struct kp_registry *registry, uint64_t generation,
	struct kp_diag *diag) __attribute__((warn_unused_result));
/* The same, and a copy of the bytes: malloc'ed, the caller's. */
int kp_registry_table(struct kp_registry *registry, uint64_t generation, void **bytes,
	size_t *size, struct kp_diag *diag) __attribute__((warn_unused_result));

/*
 * Takes the last good table of an earlier run as the state to serve until the
 * scan has finished; its plugins are pending but selectable.
 */
int kp_registry_restore(struct kp_registry *registry, const void *bytes, size_t size,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/*
 * A view of the latest table, which is the registry's; valid until the next
 * kp_registry_publish or kp_registry_free. False when there is none yet.
 */
bool kp_registry_latest(const struct kp_registry *registry, struct kp_table *table);

/*
 * The policy score of a kernel ("plugin/kernel") in tables from now on: where
 * rules of a policy will hand in what they found. 10 where nothing was set.
 * Code bad_policy.
 */
int kp_registry_set_policy(struct kp_registry *registry, const char *kernel, int score,
	struct kp_diag *diag) __attribute__((warn_unused_result));

size_t kp_registry_count(const struct kp_registry *registry);
/* Plugin i, in byte order of name; valid until the registry changes. */
const char *kp_registry_name(const struct kp_registry *registry, size_t i);
/* Counts by state; KP_STATES entries. */
void kp_registry_states(const struct kp_registry *registry, size_t *counts);
/*
 * A new array of Warning (not_considered): those that cannot be used and whose kernels
 * nobody knows, so that no decision names them. NULL when memory is exhausted.
 */
json_t *kp_registry_unknown(const struct kp_registry *registry);
/*
 * A plugin that is pending waits for all others: its reason is `suspect`, and why, until
 * it has a verdict. One that is not there, or not pending, is left alone. -1: memory.
 */
int kp_registry_suspect(struct kp_registry *registry, const char *plugin, const char *why,
	int64_t now, struct kp_diag *diag) __attribute__((warn_unused_result));
/* A new array of the names that are pending. */
json_t *kp_registry_pending(const struct kp_registry *registry);
/* Is this one (NULL: any) among them? A plugin that is disabled may be, too. */
bool kp_registry_is_pending(const struct kp_registry *registry, const char *plugin);
/* The state of a plugin; false when there is none of this name. */
bool kp_registry_state(
	const struct kp_registry *registry, const char *plugin, enum kp_state *state);
/*
 * How many kernels of the table are of active plugins: what is disabled, or served for
 * the time being, does not count.
 */
size_t kp_registry_served(
	const struct kp_registry *registry, const struct kp_table *table);
/* Plugins of this layer were loaded by a call (SIZE_MAX, at first: there are none). */
void kp_registry_set_loaded_layer(struct kp_registry *registry, size_t layer);
bool kp_registry_is_loaded(const struct kp_registry *registry, const char *plugin);
/* The nearest name, or NULL. */
const char *kp_registry_nearest(const struct kp_registry *registry, const char *plugin);

/*
 * The Plugin and PluginInfo of the interface, new references. Kernels come from
 * the registry's latest table.
 */
json_t *kp_registry_plugin_json(const struct kp_registry *registry, const char *plugin);
/* The Plugin of the one at i, for what lists them all. */
void kp_registry_plugin_write(
	const struct kp_registry *registry, size_t i, struct kp_json_writer *writer);
json_t *kp_registry_info_json(const struct kp_registry *registry, const char *plugin);

/*
 * The PluginInfo of a library file alone, from the verdict of identify (probe not run):
 * for `pluginctl info FILE.so`.
 */
json_t *kp_verdict_info_json(const struct kp_verdict *verdict, const char *file);

/*
 * Resolves what a person typed for a plugin or a kernel: "plugin",
 * "plugin/kernel". Codes no_such_plugin, no_such_kernel; diag->object is the
 * name, the message offers the nearest.
 */
int kp_registry_resolve(const struct kp_registry *registry, const char *name,
	struct kp_diag *diag) __attribute__((warn_unused_result));

#endif
