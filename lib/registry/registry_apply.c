/* SPDX-License-Identifier: MIT */
/* Applying a verdict: what a plugin is, taken over as a whole or refused as a whole. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/plugin/note_check.h"
#include "lib/plugin/told.h"
#include "lib/registry/registry_plugin.h"

/* What a verdict brings, before any of it is in the registry. */
struct catch
{
	struct kp_note *note;
	char *package, *version, *told, *machine;
	bool has_warnings;
	struct kp_diags notes;
};

static void drop_note(struct catch *catch)
{
	if (catch->note)
		kp_note_finish(catch->note);
	free(catch->note);
	catch->note = NULL;
}

static void drop(struct catch *catch)
{
	drop_note(catch);
	free(catch->package);
	free(catch->version);
	free(catch->told);
	free(catch->machine);
	kp_diags_finish(&catch->notes);
}

/* A verdict that already says no keeps its own reason. */
static int reject(struct kp_verdict *verdict, const struct kp_diag *why)
{
	if (verdict->state != KP_STATE_ACTIVE)
		return 0;
	char *message = strdup(why->message);
	if (!message)
		return -1;
	free(verdict->message);
	verdict->message = message;
	verdict->state = KP_STATE_REJECTED;
	(void)snprintf(verdict->code, sizeof(verdict->code), "%s", why->code);
	return 0;
}

/* Reads and checks the note; one that is wrong leaves no kernel. */
static int catch_note(const struct kp_registry *registry, const struct kp_plugin *plugin,
	struct kp_verdict *verdict, struct catch *catch, json_t **about)
{
	struct kp_diag why = {.code = NULL};
	struct kp_note *note = calloc(1, sizeof(*note));

	if (!note)
		return -1;
	if (kp_note_from_json(verdict->note, note, &catch->notes, &why) < 0) {
		free(note);
		return strcmp(why.code, "no_memory") == 0 ? -1 : reject(verdict, &why);
	}
	catch->note = note;
	*about = kp_note_about(note);
	catch->package = strdup(note->name);
	catch->version = strdup(note->version_text);
	if (!*about || !catch->package || !catch->version)
		return -1;
	/* A plugin that is refused anyway may have kernels of any range. */
	if (kp_note_fits(note, &registry->host, &why) == 0 &&
		kp_note_check(note, registry->families, plugin->manifest.priority_offset,
			&catch->notes, &why) == 0)
		return 0;
	drop_note(catch);
	return strcmp(why.code, "no_memory") == 0 ? -1 : reject(verdict, &why);
}

/* ELF and vendors of CPUs have other names for the same. */
static char *machine_of(const struct kp_verdict *verdict)
{
	const char *machine = json_string_value(json_object_get(verdict->elf, "machine"));

	if (!machine)
		machine = "";
	return strdup(strcmp(machine, "x86_64") == 0 ? "x86-64" : machine);
}

static int catch_all(const struct kp_registry *registry, const struct kp_plugin *plugin,
	struct kp_verdict *verdict, struct catch *catch)
{
	json_t *about = NULL;
	json_t *warnings = NULL;

	if (verdict->note && catch_note(registry, plugin, verdict, catch, &about) < 0) {
		json_decref(about);
		return -1;
	}
	/* Who identified it has read the note, too, and may have said the same. */
	for (size_t i = 0; i < verdict->warnings.count; i++)
		kp_diags_add_new(&catch->notes, &verdict->warnings.items[i]);
	warnings = kp_warnings_json(&catch->notes);
	catch->has_warnings = json_array_size(warnings) > 0;
	catch->told = warnings ? kp_told_print(about, warnings, verdict) : NULL;
	catch->machine = machine_of(verdict);
	json_decref(warnings);
	json_decref(about);
	return catch->told && catch->machine ? 0 : -1;
}

static int compare_names(const void *a, const void *b)
{
	const struct kp_availability *x = a;
	const struct kp_availability *y = b;
	return strcmp(x->kernel, y->kernel);
}

/* All of it becomes the plugin's. */
static void take(
	struct kp_plugin *plugin, struct kp_verdict *verdict, struct catch *catch)
{
	kp_diags_finish(&catch->notes);
	kp_plugin_forget(plugin);
	plugin->verdict = *verdict;
	*verdict = (struct kp_verdict){.note = NULL};
	plugin->has_verdict = true;
	plugin->note = catch->note;
	plugin->package = catch->package;
	plugin->version = catch->version;
	plugin->told = catch->told;
	plugin->has_warnings = catch->has_warnings;
	plugin->machine = catch->machine;
	plugin->pending = false;
	free(plugin->suspicion);
	plugin->suspicion = NULL;
	/* They are looked up by name when the table is written. */
	if (plugin->verdict.n_kernels > 0)
		qsort(plugin->verdict.kernels, plugin->verdict.n_kernels,
			sizeof(*plugin->verdict.kernels), compare_names);
	/* The note lives on in `note` until the next table, the others in `told`. */
	json_decref(plugin->verdict.note);
	json_decref(plugin->verdict.elf);
	json_decref(plugin->verdict.evidence);
	json_decref(plugin->verdict.signature);
	plugin->verdict.note = plugin->verdict.elf = plugin->verdict.evidence = NULL;
	plugin->verdict.signature = NULL;
	kp_diags_finish(&plugin->verdict.warnings);
}

/* Nothing but its own verdict has changed since all was settled. */
static int take_and_settle(struct kp_registry *registry, struct kp_plugin *plugin,
	struct kp_verdict *verdict, struct catch *catch, int64_t now)
{
	char digest[sizeof(plugin->verdict.digest)] = "";
	char package[KP_PLUGIN_ID_BYTES] = "";
	struct kp_claim before;

	kp_claim_take(registry, plugin, &before);
	(void)snprintf(digest, sizeof(digest), "%s", before.digest);
	(void)snprintf(package, sizeof(package), "%s", before.package);
	before.digest = digest;
	before.package = package;
	kp_holders_leave(registry, plugin);
	registry->n_pending -= plugin->pending;
	take(plugin, verdict, catch);
	return kp_registry_settle_one(registry, plugin, &before, now);
}

int kp_registry_apply(struct kp_registry *registry, const char *plugin,
	const char *manifest_digest, struct kp_verdict *verdict, int64_t now,
	struct kp_diag *diag)
{
	struct kp_plugin *found = kp_registry_find(registry, plugin);
	struct catch catch = {.note = NULL};

	if (!found || !kp_registry_manifest(registry, plugin) ||
		strcmp(found->manifest.digest, manifest_digest) != 0) {
		kp_verdict_finish(verdict);
		return 0;
	}
	if (catch_all(registry, found, verdict, &catch) < 0) {
		drop(&catch);
		kp_verdict_finish(verdict);
		return kp_diag_no_memory(diag);
	}
	registry->dirty = true;
	if (registry->is_unsettled) {
		take(found, verdict, &catch);
		return kp_registry_settle(registry, now, diag);
	}
	if (take_and_settle(registry, found, verdict, &catch, now) == 0)
		return 0;
	registry->is_unsettled = true;
	return kp_diag_no_memory(diag);
}
