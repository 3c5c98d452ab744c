/* SPDX-License-Identifier: MIT */
/*
 * What operators decided: disabled plugins, kernels and solutions, enabled unproven
 * kernels, pins, guards; and which kernels are quarantined. Kept as one JSON text of a
 * stated version; whoever owns them writes it.
 */
#ifndef KP_LIB_DECISIONS_H
#define KP_LIB_DECISIONS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/diag.h"

/*
 * name is "plugin" or "plugin/kernel". digest and package are those of the plugin's
 * library when it was first known after the decision: what was turned off is off
 * under every other name, too, whether or not this one still has a manifest.
 */
struct kp_disabled {
	char *name;
	char *reason;  /* "" when none was given */
	char *digest;  /* of the library, or NULL: not known yet */
	char *package; /* the name in its note, or NULL */
	int64_t at;    /* seconds since 1970 */
	uint32_t uid;  /* who */
	bool runtime;  /* not kept on disk */
};

/*
 * choice is a kernel (plugin/kernel) or a solution. force: also for requests whose
 * device, traits or shape the kernel does not declare.
 */
struct kp_pin {
	char *operation;
	char *choice;
	int64_t at;
	uint32_t uid;
	bool force;
};

/* All kernels of an operation with this solution are off, whoever brings them. */
struct kp_rule {
	char *name; /* "operation/solution" */
	char *operation, *solution;
	char *reason; /* "" when none was given */
	int64_t at;
	uint32_t uid;
	bool runtime; /* not kept on disk */
};

/* One call of the operation in so many is compared with the reference. */
struct kp_guarding {
	char *operation;
	uint32_t every; /* 1 or more */
	int64_t at;
	uint32_t uid;
};

/*
 * A kernel is off because it crashed applications: for a user, by uid, or for all. It is
 * that of this library (digest, "" where that was not known), under every name.
 */
#define KP_QUARANTINE_ALL INT64_C(-1)
struct kp_quarantine {
	char *key; /* the list's own */
	char *kernel;
	char *digest;
	int64_t who;
	int64_t at;
	int64_t incident; /* the last of them */
	uint32_t strikes;
};

/*
 * An earlier generation of a plugin runs, by an operator's word: the library `entry` of
 * the store's entry `closure`, whatever its manifest leads to, until it is released.
 */
struct kp_rollback {
	char *plugin;
	char *closure;
	char *entry;	/* path inside of the store's entry */
	char *digest;	/* SHA-256 of the library */
	char *reason;	/* "" when none was given */
	int64_t number; /* of the generation */
	int64_t at;
	uint32_t uid;
};

struct kp_decisions {
	size_t n_disabled, n_pins, n_enabled, n_rules, n_guards, n_quarantined,
		n_rollbacks;
	struct kp_disabled *disabled; /* in byte order of name */
	struct kp_pin *pins;	      /* in byte order of operation */
	char **enabled;	       /* "plugin/kernel" of unproven kernels, in byte order */
	struct kp_rule *rules; /* in byte order of name */
	struct kp_guarding *guards;	   /* in byte order of operation */
	struct kp_quarantine *quarantined; /* in byte order of key */
	struct kp_rollback *rollbacks;	   /* in byte order of plugin */
};

/*
 * Disabling again replaces the reason when one is given; runtime never weakens or
 * replaces a kept one. *changed says whether anything is different. -1 only for
 * memory.
 */
int kp_decisions_disable(struct kp_decisions *decisions, const char *name,
	const char *reason, int64_t at, uint32_t uid, bool runtime, bool *changed)
	__attribute__((warn_unused_result));
/* Removes it, and for a plugin nothing of its kernels. */
bool kp_decisions_enable(struct kp_decisions *decisions, const char *name);
/* The entry, or NULL. */
const struct kp_disabled *kp_decisions_find(
	const struct kp_decisions *decisions, const char *name);

/*
 * Says of which library the plugin is, for the decisions on it and on its kernels
 * that do not say so yet; NULL or "": not known. *changed is set when one is filled.
 * -1 only for memory.
 */
int kp_decisions_identify(struct kp_decisions *decisions, const char *plugin,
	const char *digest, const char *package, bool *changed)
	__attribute__((warn_unused_result));
/* All of it anew, the runtime ones included. -1 only for memory, nothing is left. */
int kp_decisions_copy(const struct kp_decisions *from, struct kp_decisions *to)
	__attribute__((warn_unused_result));

/* Remembers that an operator enabled an unproven kernel; takes it back. */
int kp_decisions_prove(struct kp_decisions *decisions, const char *name, bool proven,
	bool *changed) __attribute__((warn_unused_result));
bool kp_decisions_is_proven(const struct kp_decisions *decisions, const char *name);

/* choice NULL removes the pin. */
int kp_decisions_pin(struct kp_decisions *decisions, const char *operation,
	const char *choice, bool force, int64_t at, uint32_t uid, bool *changed)
	__attribute__((warn_unused_result));
/* The pin of an operation, or NULL. */
const struct kp_pin *kp_decisions_find_pin(
	const struct kp_decisions *decisions, const char *operation);

/* every 0: no more of it. */
int kp_decisions_guard(struct kp_decisions *decisions, const char *operation,
	uint32_t every, int64_t at, uint32_t uid, bool *changed)
	__attribute__((warn_unused_result));
/* The guard of an operation, or NULL. */
const struct kp_guarding *kp_decisions_find_guard(
	const struct kp_decisions *decisions, const char *operation);

/* Turns a solution off; as kp_decisions_disable does for a name. */
int kp_decisions_rule(struct kp_decisions *decisions, const char *operation,
	const char *solution, const char *reason, int64_t at, uint32_t uid, bool runtime,
	bool *changed) __attribute__((warn_unused_result));
/* Takes it back; false: there was none. */
bool kp_decisions_unrule(
	struct kp_decisions *decisions, const char *operation, const char *solution);
/* The rule, or NULL; also for an empty or NULL solution. */
const struct kp_rule *kp_decisions_find_rule(const struct kp_decisions *decisions,
	const char *operation, const char *solution);

/*
 * Copies the item but for its key, in the place of one for the same kernel and users; the
 * oldest for these users gives way where there are KP_QUARANTINED_MOST, and of those that
 * hold for single users, where there are KP_QUARANTINED_USERS, the oldest of whoever has
 * most: what users bring about never fills what operators need. -1 only for memory.
 */
enum { KP_QUARANTINED_MOST = 256, KP_QUARANTINED_USERS = 1024, KP_QUARANTINE_TEXT = 384 };
int kp_decisions_quarantine(struct kp_decisions *decisions,
	const struct kp_quarantine *item) __attribute__((warn_unused_result));
/*
 * Lifts those of a kernel, or of all kernels of a plugin, for `who` or (all) everybody.
 * How many there were.
 */
size_t kp_decisions_retry(
	struct kp_decisions *decisions, const char *name, int64_t who, bool all);
/* The one that holds for "plugin/kernel" of this library (digest, or NULL); or NULL. */
const struct kp_quarantine *kp_decisions_find_quarantine(
	const struct kp_decisions *decisions, const char *id, const char *digest,
	int64_t who);
/* Is a kernel of this name, or one of this plugin, for `who`? */
bool kp_decisions_is_quarantined(
	const struct kp_decisions *decisions, const char *name, int64_t who);
bool kp_decisions_has_quarantine(const struct kp_decisions *decisions, int64_t who);
/* Why, for people: the code is repeated_crashes. Returns `text`. */
const char *kp_quarantine_text(
	const struct kp_quarantine *item, char text[KP_QUARANTINE_TEXT]);

/* Copies the item; the reason stays where none is given. -1 only for memory. */
int kp_decisions_roll_back(struct kp_decisions *decisions, const struct kp_rollback *item,
	bool *changed) __attribute__((warn_unused_result));
/* Takes it back; false: there was none. */
bool kp_decisions_release(struct kp_decisions *decisions, const char *plugin);
/* That of a plugin, or NULL. */
const struct kp_rollback *kp_decisions_find_rollback(
	const struct kp_decisions *decisions, const char *plugin);
/* The RolledBack of the interface, or null for NULL. A new reference. */
json_t *kp_rollback_json(const struct kp_rollback *item);

#define KP_DECISIONS_FORMAT "kplug-decisions/1"

/* {"format": "kplug-decisions/1", ...} without the runtime ones; malloc'ed. */
char *kp_decisions_print(const struct kp_decisions *decisions);
/*
 * Can they be read back, also when all their libraries have become known? Fewer than
 * before (may be NULL) always fit. Codes decisions_full, which names the bound,
 * no_memory.
 */
int kp_decisions_fit(const struct kp_decisions *decisions,
	const struct kp_decisions *before, struct kp_diag *diag)
	__attribute__((warn_unused_result));
/*
 * Takes all entries that are right; what is wrong is left out and added to `wrong`
 * (bad_decisions, with its place), entry by entry; so is a sum that is not theirs. Fails
 * for what is no list of decisions: codes of kp_json_parse, newer_format (both named),
 * bad_decisions.
 */
int kp_decisions_read(const char *text, size_t size, const char *path,
	struct kp_decisions *decisions, struct kp_diags *wrong, struct kp_diag *diag)
	__attribute__((warn_unused_result));
/* All or nothing: what would be left out fails it, too. */
int kp_decisions_parse(const char *text, size_t size, const char *path,
	struct kp_decisions *decisions, struct kp_diag *diag)
	__attribute__((warn_unused_result));
void kp_decisions_finish(struct kp_decisions *decisions);

#endif
