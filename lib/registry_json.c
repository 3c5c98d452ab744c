/* SPDX-License-Identifier: MIT */
/* Plugins as the interface shows them: Plugin, PluginInfo and their parts. */
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "lib/registry_plugin.h"

static json_t *text_or_null(const char *text)
{
	return text && text[0] ? kp_json_clean_string(text) : json_null();
}

static json_t *member_or_null(const json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);
	return value ? json_incref(value) : json_null();
}

static json_t *value_or_null(json_t *value)
{
	return value ? json_incref(value) : json_null();
}

json_t *kp_warnings_json(const struct kp_diags *warnings)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < warnings->count; i++) {
		json_t *item = json_pack("{s:s, s:s}", "code", warnings->items[i].code,
			"message", warnings->items[i].message);
		if (json_array_append_new(list, item) < 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static json_t *host_json(const struct kp_note *note)
{
	char min[160];
	char max[160];

	if (!note->has_host)
		return json_null();
	return json_pack("{s:s, s:s}", "min",
		kp_version_print(&note->host.min, min, sizeof(min)), "max",
		kp_version_print(&note->host.max, max, sizeof(max)));
}

json_t *kp_note_about(const struct kp_note *note)
{
	json_t *abi = json_pack("{s:i, s:i, s:i}", "major", (int)note->abi_major, "built",
		(int)note->abi_built, "needed", (int)note->abi_needed);

	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "package", note->name,
		"version", note->version_text, "author", text_or_null(note->author),
		"license", text_or_null(note->license), "description",
		text_or_null(note->description), "abi", abi, "host", host_json(note));
}

static json_t *reason_json(const struct kp_plugin *plugin)
{
	if (!plugin->code)
		return json_null();
	return json_pack("{s:s, s:o}", "code", plugin->code, "message",
		kp_json_clean_string(plugin->message ? plugin->message : ""));
}

static json_t *since_json(const struct kp_plugin *plugin)
{
	return plugin->since ? json_integer(plugin->since) : json_null();
}

/* Its kernels in the latest table; none while that has not been built. */
static struct kp_list kernels_of(
	const struct kp_registry *registry, const struct kp_plugin *plugin)
{
	size_t i = registry->bytes && plugin->in_table
			   ? kp_table_plugin(&registry->latest, plugin->name)
			   : SIZE_MAX;
	if (i == SIZE_MAX)
		return (struct kp_list){NULL, 0};
	return kp_table_list(&registry->latest,
		kp_load32(kp_table_record(&registry->latest, KP_SECTION_PLUGINS, i) +
			  KP_PLUGIN_KERNEL_LIST));
}

/* A plugin that is refused or failed leaves no kernel: none is listed. */
static bool lists_kernels(const struct kp_plugin *plugin)
{
	return plugin->state == KP_STATE_ACTIVE || plugin->state == KP_STATE_DISABLED ||
	       plugin->state == KP_STATE_PENDING;
}

static json_t *names_json(
	const struct kp_registry *registry, const struct kp_plugin *plugin)
{
	json_t *names = json_array();
	struct kp_list kernels = kernels_of(registry, plugin);

	if (!lists_kernels(plugin))
		return names;
	for (size_t i = 0; names && i < kernels.count; i++) {
		const char *name =
			kp_table_kernel_name(&registry->latest, kp_list_get(kernels, i));
		if (json_array_append_new(names, json_string(name)) < 0) {
			json_decref(names);
			return NULL;
		}
	}
	return names;
}

json_t *kp_registry_plugin_json(const struct kp_registry *registry, const char *plugin)
{
	const struct kp_plugin *found = kp_registry_find(registry, plugin);

	if (!found)
		return NULL;
	return json_pack("{s:s, s:o, s:o, s:s, s:o, s:o, s:o}", "name", found->name,
		"package", member_or_null(found->about, "package"), "version",
		member_or_null(found->about, "version"), "state",
		kp_state_name(found->state), "reason", reason_json(found), "since",
		since_json(found), "kernels", names_json(registry, found));
}

static json_t *kernel_json(const struct kp_table *table, size_t i)
{
	struct kp_entry_state state;
	struct kp_spec spec;
	void *memory;

	if (kp_table_spec(table, i, &spec, &state, &memory) < 0)
		return NULL;
	bool unavailable = state.state == KP_STATE_ACTIVE && !state.available;
	json_t *kernel = kp_spec_json(&spec, state.plugin,
		unavailable ? "unavailable" : kp_state_name(state.state), state.code,
		state.message);
	free(memory);
	return kernel;
}

static json_t *kernels_json(
	const struct kp_registry *registry, const struct kp_plugin *plugin)
{
	json_t *list = json_array();
	struct kp_list kernels = kernels_of(registry, plugin);

	for (size_t i = 0; list && i < kernels.count; i++) {
		json_t *kernel = kernel_json(&registry->latest, kp_list_get(kernels, i));
		if (json_array_append_new(list, kernel) < 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

/* What the verdict says of the library. */
static json_t *library_json(const struct kp_verdict *verdict)
{
	if (!verdict)
		return json_pack("{s:n, s:n, s:n, s:n, s:n, s:n, s:n}", "stored",
			"sha256", "closure", "size", "elf", "probe_ms", "evidence");
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "stored",
		text_or_null(verdict->stored), "sha256", text_or_null(verdict->digest),
		"closure", text_or_null(verdict->closure), "size",
		verdict->bytes > 0 ? json_integer(verdict->bytes) : json_null(), "elf",
		value_or_null(verdict->elf), "probe_ms",
		verdict->probe_ms >= 0 ? json_real(verdict->probe_ms) : json_null(),
		"evidence", value_or_null(verdict->evidence));
}

/* What the note says of the plugin. */
static json_t *about_json(const json_t *about)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "package",
		member_or_null(about, "package"), "version",
		member_or_null(about, "version"), "author",
		member_or_null(about, "author"), "license",
		member_or_null(about, "license"), "description",
		member_or_null(about, "description"), "abi", member_or_null(about, "abi"),
		"host", member_or_null(about, "host"));
}

/* Adds the members of `more`, which it takes; gives `object` up on failure. */
static json_t *merge(json_t *object, json_t *more)
{
	if (object && more && json_object_update(object, more) == 0) {
		json_decref(more);
		return object;
	}
	json_decref(object);
	json_decref(more);
	return NULL;
}

json_t *kp_registry_info_json(const struct kp_registry *registry, const char *plugin)
{
	const struct kp_plugin *found = kp_registry_find(registry, plugin);

	if (!found)
		return NULL;
	const struct kp_manifest *manifest =
		found->has_manifest ? &found->manifest : NULL;
	json_t *info = json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
		"name", found->name, "state", kp_state_name(found->state), "reason",
		reason_json(found), "since", since_json(found), "source",
		text_or_null(found->source), "manifest",
		text_or_null(manifest ? manifest->path : NULL), "library",
		text_or_null(manifest ? manifest->library : NULL), "config",
		value_or_null(manifest ? manifest->config : NULL), "warnings",
		found->warnings ? json_incref(found->warnings) : json_array(), "kernels",
		kernels_json(registry, found));
	info = merge(info, about_json(found->about));
	return merge(info, library_json(found->has_verdict ? &found->verdict : NULL));
}

static json_t *note_kernels_json(const struct kp_note *note)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < note->n_kernels; i++) {
		json_t *kernel =
			kp_spec_json(&note->kernels[i], note->name, NULL, NULL, NULL);
		if (json_array_append_new(list, kernel) < 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

/* "x86" of ".../x86.so": what a manifest for it would most likely be called. */
static json_t *file_name_json(const char *file)
{
	const char *slash = strrchr(file, '/');
	const char *name = slash ? slash + 1 : file;
	size_t length = strlen(name);

	if (length > 3 && strcmp(name + length - 3, ".so") == 0)
		length -= 3;
	return json_stringn(name, length);
}

json_t *kp_verdict_info_json(const struct kp_verdict *verdict, const char *file)
{
	struct kp_diags warnings = {0};
	struct kp_note note = {.root = NULL};
	struct kp_diag why = {.code = verdict->code};
	bool has_note = verdict->note &&
			kp_note_from_json(verdict->note, &note, &warnings, &why) == 0;
	bool rejected = verdict->state != KP_STATE_ACTIVE || (verdict->note && !has_note);
	const char *message =
		verdict->state != KP_STATE_ACTIVE ? verdict->message : why.message;
	json_t *about = has_note ? kp_note_about(&note) : NULL;
	json_t *reason =
		rejected
			? json_pack("{s:s, s:o}", "code",
				  verdict->state != KP_STATE_ACTIVE ? verdict->code
								    : why.code,
				  "message", kp_json_clean_string(message ? message : ""))
			: json_null();
	for (size_t i = 0; i < verdict->warnings.count; i++)
		kp_diags_add(&warnings, &verdict->warnings.items[i]);
	/* Nobody has claimed the file: it was not probed, and no manifest was read. */
	json_t *info = json_pack("{s:o, s:s, s:o, s:n, s:n, s:n, s:s, s:n, s:o, s:o}",
		"name", file_name_json(file), "state",
		rejected ? kp_state_name(verdict->state == KP_STATE_ACTIVE
						 ? KP_STATE_REJECTED
						 : verdict->state)
			 : "unclaimed",
		"reason", reason, "since", "source", "manifest", "library", file,
		"config", "warnings", kp_warnings_json(&warnings), "kernels",
		has_note ? note_kernels_json(&note) : json_array());
	info = merge(info, about_json(about));
	info = merge(info, library_json(verdict));
	json_decref(about);
	kp_diags_finish(&warnings);
	if (has_note)
		kp_note_finish(&note);
	return info;
}
