/* SPDX-License-Identifier: MIT */
/* Decisions as the text of a file, and how much of it there may be. */
#include "lib/registry/decisions.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/json.h"
#include "lib/registry/decisions_sum.h"

/* What a decision says more once its library is known: digest and package, with keys. */
enum { IDENTITY_BYTES = 320 };
/* Keys, numbers and punctuation of one entry. */
enum { ENTRY_BYTES = 256 };

/* Takes the entry; one that lost what it is about would hold for less. */
static json_t *identified(json_t *entry, const struct kp_disabled *item)
{
	if (entry &&
		(!item->digest || json_object_set_new(entry, "digest",
					  json_string(item->digest)) == 0) &&
		(!item->package || json_object_set_new(entry, "package",
					   json_string(item->package)) == 0))
		return entry;
	json_decref(entry);
	return NULL;
}

static json_t *disabled_json(const struct kp_decisions *decisions)
{
	json_t *list = json_array();
	for (size_t i = 0; i < decisions->n_disabled; i++) {
		const struct kp_disabled *item = &decisions->disabled[i];
		if (item->runtime)
			continue;
		list = kp_json_append(list,
			identified(json_pack("{s:o, s:o, s:I, s:I}", "name",
					   kp_json_clean_string(item->name), "reason",
					   kp_json_clean_string(item->reason), "at",
					   (json_int_t)item->at, "uid",
					   (json_int_t)item->uid),
				item));
	}
	return list;
}

static json_t *pins_json(const struct kp_decisions *decisions)
{
	json_t *list = json_array();
	for (size_t i = 0; i < decisions->n_pins; i++) {
		const struct kp_pin *item = &decisions->pins[i];
		list = kp_json_append(
			list, json_pack("{s:o, s:o, s:I, s:I, s:o*}", "operation",
				      kp_json_clean_string(item->operation), "choice",
				      kp_json_clean_string(item->choice), "at",
				      (json_int_t)item->at, "uid", (json_int_t)item->uid,
				      "force", item->force ? json_true() : NULL));
	}
	return list;
}

static json_t *rules_json(const struct kp_decisions *decisions)
{
	json_t *list = json_array();
	for (size_t i = 0; i < decisions->n_rules; i++) {
		const struct kp_rule *item = &decisions->rules[i];
		if (item->runtime)
			continue;
		list = kp_json_append(list,
			json_pack("{s:o, s:o, s:o, s:I, s:I}", "operation",
				kp_json_clean_string(item->operation), "solution",
				kp_json_clean_string(item->solution), "reason",
				kp_json_clean_string(item->reason), "at",
				(json_int_t)item->at, "uid", (json_int_t)item->uid));
	}
	return list;
}

static json_t *guards_json(const struct kp_decisions *decisions)
{
	json_t *list = json_array();
	for (size_t i = 0; i < decisions->n_guards; i++) {
		const struct kp_guarding *item = &decisions->guards[i];
		list = kp_json_append(
			list, json_pack("{s:o, s:I, s:I, s:I}", "operation",
				      kp_json_clean_string(item->operation), "every",
				      (json_int_t)item->every, "at", (json_int_t)item->at,
				      "uid", (json_int_t)item->uid));
	}
	return list;
}

static json_t *enabled_json(const struct kp_decisions *decisions)
{
	json_t *list = json_array();
	for (size_t i = 0; i < decisions->n_enabled; i++)
		list = kp_json_append(list, kp_json_clean_string(decisions->enabled[i]));
	return list;
}

static json_t *quarantined_json(const struct kp_decisions *decisions)
{
	json_t *list = json_array();
	for (size_t i = 0; i < decisions->n_quarantined; i++) {
		const struct kp_quarantine *item = &decisions->quarantined[i];
		list = kp_json_append(
			list, json_pack("{s:o, s:o, s:I, s:I, s:I, s:I}", "kernel",
				      kp_json_clean_string(item->kernel), "digest",
				      kp_json_clean_string(item->digest), "uid",
				      (json_int_t)item->who, "at", (json_int_t)item->at,
				      "incident", (json_int_t)item->incident, "strikes",
				      (json_int_t)item->strikes));
	}
	return list;
}

static json_t *rollbacks_json(const struct kp_decisions *decisions)
{
	json_t *list = json_array();
	for (size_t i = 0; i < decisions->n_rollbacks; i++) {
		const struct kp_rollback *item = &decisions->rollbacks[i];
		list = kp_json_append(list,
			json_pack("{s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:I}", "plugin",
				kp_json_clean_string(item->plugin), "closure",
				kp_json_clean_string(item->closure), "entry",
				kp_json_clean_string(item->entry), "digest",
				kp_json_clean_string(item->digest), "reason",
				kp_json_clean_string(item->reason), "number",
				(json_int_t)item->number, "at", (json_int_t)item->at,
				"uid", (json_int_t)item->uid));
	}
	return list;
}

/* A text without them is read by those that know of none. Takes the list. */
static json_t *add_list(json_t *root, const char *key, json_t *list)
{
	int result = list ? 0 : -1;

	if (root && json_array_size(list) > 0)
		result = json_object_set(root, key, list);
	json_decref(list);
	if (result == 0)
		return root;
	json_decref(root);
	return NULL;
}

char *kp_decisions_print(const struct kp_decisions *decisions)
{
	json_t *root = json_pack("{s:s, s:o, s:o, s:o}", "format", KP_DECISIONS_FORMAT,
		"disabled", disabled_json(decisions), "pins", pins_json(decisions),
		"enabled", enabled_json(decisions));

	root = add_list(root, "solutions", rules_json(decisions));
	root = add_list(root, "guards", guards_json(decisions));
	root = add_list(root, "quarantined", quarantined_json(decisions));
	root = add_list(root, "rollbacks", rollbacks_json(decisions));
	if (!root)
		return NULL;
	char *text =
		kp_decisions_seal(root) == 0 ? kp_json_dumps(root, JSON_INDENT(1)) : NULL;
	json_decref(root);
	return text;
}

/* How long their text may become: libraries may become known later. 0: no memory. */
static size_t room(const struct kp_decisions *decisions)
{
	char *text = kp_decisions_print(decisions);
	size_t size = text ? strlen(text) : 0;

	for (size_t i = 0; text && i < decisions->n_disabled; i++) {
		const struct kp_disabled *item = &decisions->disabled[i];
		if (!item->runtime && (!item->digest || !item->package))
			size += IDENTITY_BYTES;
	}
	free(text);
	return size;
}

/* Of a text in JSON: a byte may become \u00xx, a bad one \\xNN. */
static size_t most(const char *text)
{
	return text ? 6 * strlen(text) : 0;
}

/* No less than their text may have, without writing it. */
static size_t bound(const struct kp_decisions *decisions)
{
	size_t size = ENTRY_BYTES;

	for (size_t i = 0; i < decisions->n_disabled; i++) {
		const struct kp_disabled *item = &decisions->disabled[i];
		size += most(item->name) + most(item->reason) + most(item->digest) +
			most(item->package) + IDENTITY_BYTES + ENTRY_BYTES;
	}
	for (size_t i = 0; i < decisions->n_pins; i++)
		size += most(decisions->pins[i].operation) +
			most(decisions->pins[i].choice) + ENTRY_BYTES;
	for (size_t i = 0; i < decisions->n_rules; i++)
		size += most(decisions->rules[i].name) +
			most(decisions->rules[i].reason) + ENTRY_BYTES;
	for (size_t i = 0; i < decisions->n_guards; i++)
		size += most(decisions->guards[i].operation) + ENTRY_BYTES;
	for (size_t i = 0; i < decisions->n_quarantined; i++)
		size += most(decisions->quarantined[i].kernel) +
			most(decisions->quarantined[i].digest) + ENTRY_BYTES;
	for (size_t i = 0; i < decisions->n_rollbacks; i++) {
		const struct kp_rollback *item = &decisions->rollbacks[i];
		size += most(item->plugin) + most(item->entry) + most(item->reason) +
			(size_t)2 * ENTRY_BYTES;
	}
	for (size_t i = 0; i < decisions->n_enabled; i++)
		size += most(decisions->enabled[i]) + ENTRY_BYTES;
	return size;
}

int kp_decisions_fit(const struct kp_decisions *decisions,
	const struct kp_decisions *before, struct kp_diag *diag)
{
	/* Writing them all is for those that are near the bound. */
	if (bound(decisions) <= KP_JSON_BYTES)
		return 0;
	size_t wanted = room(decisions);
	if (!wanted)
		return kp_diag_no_memory(diag);
	/* What makes less of them is always possible. */
	if (wanted <= KP_JSON_BYTES || (before && wanted <= room(before)))
		return 0;
	return kp_diag_set(diag, "decisions_full", NULL,
		"what was decided would need %zu bytes, at most %d can be read back: "
		"enable what need not be off any more, or give shorter reasons",
		wanted, KP_JSON_BYTES);
}
