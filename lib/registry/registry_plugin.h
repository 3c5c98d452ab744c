/* SPDX-License-Identifier: MIT */
/* The inside of a registry, for the files that make it up: lib/registry/registry*.c. */
#ifndef KP_LIB_REGISTRY_PLUGIN_H
#define KP_LIB_REGISTRY_PLUGIN_H

#include "lib/registry/decisions_index.h"
#include "lib/registry/registry.h"
#include "lib/table/table_build.h"
#include "lib/table/table_read.h"

/* A state with its reason. code is NULL when active; `text` may hold the message. */
struct kp_standing {
	enum kp_state state;
	const char *code, *message, *source;
	int64_t since; /* 0: since it is noticed */
	char text[512];
};

/*
 * A plugin that was found. The verdict's note and kernels are kept until they
 * are in a table; in_table says that the latest table has its kernels.
 */
struct kp_plugin {
	char *name;
	bool has_manifest; /* not yet for one that was restored from a table */
	bool was_disabled; /* in that table: holds until there is a manifest */
	struct kp_manifest manifest;
	bool pending;	 /* a verdict is on its way */
	bool todo;	 /* and somebody must be told so */
	char *suspicion; /* why it comes after all others; or NULL */
	bool announced;
	bool has_verdict;
	struct kp_verdict verdict;
	char *package, *version; /* of the note; or NULL */
	char *told;		 /* the rest: lib/plugin/told.h; or NULL */
	bool has_warnings;	 /* in `told` */
	bool is_packed; /* these, machine and verdict.stored lie in the registry's pack */
	char *machine;	/* the vendor of CPUs it was built for; or NULL */
	struct kp_note *note; /* not in a table yet; or NULL */
	bool in_table;
	struct kp_plugin *original; /* of which this is a duplicate; or NULL */
	bool same_digest;	    /* by the library, not only by its note's name */
	enum kp_state state;	    /* what was last told */
	char *code, *message;
	const char *source;
	int64_t since; /* 0: not known */
};

/* Plugins that hold something, in byte order of that, then of their names. */
struct kp_holders {
	struct kp_plugin **items;
	size_t count, room;
	const char *(*key)(const struct kp_plugin *plugin);
};

/* What a plugin holds or wants, and who was the first to have it. */
struct kp_claim {
	const char *digest, *package; /* "": nothing */
	const struct kp_plugin *by_digest, *by_package;
};

struct kp_policy {
	char *kernel; /* plugin/kernel */
	int score;
};

struct kp_registry {
	const struct kp_families *families;
	const struct kp_platform *platform;
	struct kp_version host;
	kp_change_fn *changed;
	void *context;
	size_t count;
	struct kp_plugin **plugins; /* in byte order of name */
	struct kp_decisions decisions;
	struct kp_decisions_index decided;	 /* of them, as of the last settling */
	struct kp_holders by_digest, by_package; /* as of the last settling */
	size_t loaded_layer;
	size_t n_pending;
	bool is_unsettled; /* the last settling lacked memory: all of it again */
	size_t n_policies;
	struct kp_policy *policies;
	bool dirty;
	void *bytes; /* the latest table; or NULL */
	char *pack;  /* kp_registry_pack */
	struct kp_table latest;
};

enum { KP_PLUGIN_ID_BYTES = 200 };

struct kp_plugin *kp_registry_find(const struct kp_registry *registry, const char *name);
/* Adds a plugin of a new name; NULL when memory is exhausted. */
struct kp_plugin *kp_registry_add(struct kp_registry *registry, const char *name);
void kp_plugin_free(struct kp_plugin *plugin);
/* Frees the texts that a verdict brought, wherever they lie. */
void kp_plugin_drop_texts(struct kp_plugin *plugin);
/* Forgets what the verdict brought, its kernels included. */
void kp_plugin_forget(struct kp_plugin *plugin);

/* Is there a manifest, and nothing wrong with it? Restored ones count until the scan. */
bool kp_plugin_is_valid(const struct kp_plugin *plugin);

/*
 * Its kernels' standing: as plugin, but a pending one keeps what it had.
 * kp_registry_duplicates must have run.
 */
void kp_plugin_settled(const struct kp_registry *registry, const struct kp_plugin *plugin,
	struct kp_standing *standing);
/* Of a plugin or kernel ("plugin/kernel") that an operator turned off. */
void kp_standing_disabled(struct kp_standing *standing,
	const struct kp_disabled *disabled, const char *name);
/*
 * The decision that holds for a kernel of a plugin, `id` being plugin/kernel: on this
 * name, or on a kernel of this name in the same library or package. NULL: none.
 */
const struct kp_disabled *kp_registry_kernel_decision(const struct kp_registry *registry,
	const struct kp_plugin *plugin, const char *id);
/* Of a kernel whose solution an operator turned off. */
void kp_standing_ruled(struct kp_standing *standing, const struct kp_rule *rule);
/* Of a kernel that crashed applications. */
void kp_standing_quarantined(
	struct kp_standing *standing, const struct kp_quarantine *quarantine);
/* "manifest", "loaded", or NULL where nothing is known of a manifest yet. */
const char *kp_plugin_origin(
	const struct kp_registry *registry, const struct kp_plugin *plugin);
const char *kp_plugin_package(const struct kp_plugin *plugin); /* or "" */
/* Finds out whose duplicate each plugin is. -1: memory, and nothing has changed. */
int kp_registry_duplicates(struct kp_registry *registry)
	__attribute__((warn_unused_result));
/* Of one plugin, by those that hold its library and its package. */
void kp_plugin_find_original(
	const struct kp_registry *registry, struct kp_plugin *plugin);

/* The place of the first with this key, or where it would be. */
size_t kp_holders_first(const struct kp_holders *holders, const char *key);
/* Is there one with this key at i? Nobody holds "". */
bool kp_holders_has(const struct kp_holders *holders, size_t i, const char *key);
/* A plugin with a verdict takes its place, or, before it loses that, leaves it. */
int kp_holders_join(struct kp_registry *registry, struct kp_plugin *plugin)
	__attribute__((warn_unused_result));
void kp_holders_leave(struct kp_registry *registry, const struct kp_plugin *plugin);

/* Its texts are the plugin's. */
void kp_claim_take(const struct kp_registry *registry, const struct kp_plugin *plugin,
	struct kp_claim *claim);
/* Is another one the first by now? */
bool kp_claim_digest_moved(
	const struct kp_registry *registry, const struct kp_claim *claim);
bool kp_claim_package_moved(
	const struct kp_registry *registry, const struct kp_claim *claim);
/*
 * Works out all states anew and tells of those that changed. Memory can only be
 * lacking for duplicates and messages: then -1, to be called again.
 */
int kp_registry_settle(struct kp_registry *registry, int64_t now, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/*
 * The same for what one new verdict can have changed: this plugin, and all that have
 * a library or package of which another one is the first by now. It holds nothing
 * yet; `before` is what it held. -1: memory, then all is to be settled.
 */
int kp_registry_settle_one(struct kp_registry *registry, struct kp_plugin *plugin,
	const struct kp_claim *before, int64_t now) __attribute__((warn_unused_result));

/* Its kernels in the latest table; none while that has not been built. */
struct kp_list kp_registry_kernels(
	const struct kp_registry *registry, const struct kp_plugin *plugin);

/* The members of PluginInfo that come from a note. A new object, or NULL. */
json_t *kp_note_about(const struct kp_note *note);
/* Parts of PluginInfo, for the two files that make it; new references. */
/* What the note says of the plugin; `about` of kp_note_about, or NULL. */
json_t *kp_about_json(const json_t *about);
/* What the verdict says of the library; NULL: nothing. */
json_t *kp_library_json(
	const struct kp_verdict *verdict, const json_t *elf, const json_t *evidence);
/* Warnings of the interface; a new array, or NULL. */
json_t *kp_warnings_json(const struct kp_diags *warnings);

#endif
