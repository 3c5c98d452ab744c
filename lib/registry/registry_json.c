/* SPDX-License-Identifier: MIT */
/* Plugins as the interface shows them: Plugin, PluginInfo and their parts. */
#include <stdlib.h>
#include <string.h>

#include "lib/base/json.h"
#include "lib/plugin/told.h"
#include "lib/registry/registry_plugin.h"

static json_t *member_or_null(const json_t *object, const char *key)
{
	return kp_json_or_null(json_object_get(object, key));
}

json_t *kp_warnings_json(const struct kp_diags *warnings)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < warnings->count; i++)
		list = kp_json_append(
			list, json_pack("{s:s, s:s}", "code", warnings->items[i].code,
				      "message", warnings->items[i].message));
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
	json_t *abi = json_pack("{s:I, s:I, s:I}", "major", (json_int_t)note->abi_major,
		"built", (json_int_t)note->abi_built, "needed",
		(json_int_t)note->abi_needed);

	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "package", note->name,
		"version", note->version_text, "author",
		kp_json_clean_or_null(note->author), "license",
		kp_json_clean_or_null(note->license), "description",
		kp_json_clean_or_null(note->description), "abi", abi, "host",
		host_json(note));
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
	struct kp_list kernels = kp_registry_kernels(registry, plugin);

	for (size_t i = 0; list && i < kernels.count; i++)
		list = kp_json_append(
			list, kernel_json(&registry->latest, kp_list_get(kernels, i)));
	return list;
}

/* To the microsecond: what is behind it no clock has told, and readers print less. */
static json_t *ms_json(double ms)
{
	return ms >= 0 && ms < 1e12 ? json_real((double)(int64_t)(ms * 1e3 + 0.5) / 1e3)
				    : json_null();
}

json_t *kp_library_json(
	const struct kp_verdict *verdict, const json_t *elf, const json_t *evidence)
{
	if (!verdict)
		return json_pack("{s:n, s:n, s:n, s:n, s:n, s:n, s:n}", "stored",
			"sha256", "closure", "size", "elf", "probe_ms", "evidence");
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "stored",
		kp_json_clean_or_null(verdict->stored), "sha256",
		kp_json_clean_or_null(verdict->digest), "closure",
		kp_json_clean_or_null(verdict->closure), "size",
		verdict->bytes > 0 ? json_integer(verdict->bytes) : json_null(), "elf",
		kp_json_or_null(elf), "probe_ms", ms_json(verdict->probe_ms), "evidence",
		kp_json_or_null(evidence));
}

json_t *kp_about_json(const json_t *about)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "package",
		member_or_null(about, "package"), "version",
		member_or_null(about, "version"), "author",
		member_or_null(about, "author"), "license",
		member_or_null(about, "license"), "description",
		member_or_null(about, "description"), "abi", member_or_null(about, "abi"),
		"host", member_or_null(about, "host"));
}

/* Of one that was restored only package and version are known. */
static json_t *about_json(const struct kp_plugin *plugin, const json_t *told)
{
	const json_t *about = json_object_get(told, "about");

	if (json_is_object(about) || !plugin->package)
		return kp_about_json(about);
	json_t *known = json_pack(
		"{s:s, s:s?}", "package", plugin->package, "version", plugin->version);
	json_t *whole = known ? kp_about_json(known) : NULL;
	json_decref(known);
	return whole;
}

json_t *kp_registry_info_json(const struct kp_registry *registry, const char *plugin)
{
	const struct kp_plugin *found = kp_registry_find(registry, plugin);

	if (!found)
		return NULL;
	json_t *told = kp_told_read(found->told);
	if (!told)
		return NULL;
	const struct kp_manifest *manifest =
		found->has_manifest ? &found->manifest : NULL;
	const json_t *warnings = json_object_get(told, "warnings");
	json_t *info = json_pack(
		"{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name",
		found->name, "state", kp_state_name(found->state), "reason",
		reason_json(found), "since", since_json(found), "source",
		kp_json_clean_or_null(found->source), "manifest",
		kp_json_clean_or_null(manifest ? manifest->path : NULL), "library",
		kp_json_clean_or_null(manifest ? manifest->library : NULL), "config",
		kp_json_or_null(manifest ? manifest->config : NULL), "warnings",
		json_is_array(warnings) ? kp_json_or_null(warnings) : json_array(),
		"kernels", kernels_json(registry, found), "rolled_back",
		kp_rollback_json(
			kp_decisions_find_rollback(&registry->decisions, found->name)),
		"signature", kp_json_or_null(json_object_get(told, "signature")));
	info = kp_json_merge(info, about_json(found, told));
	info = kp_json_merge(info,
		kp_library_json(found->has_verdict ? &found->verdict : NULL,
			json_object_get(told, "elf"), json_object_get(told, "evidence")));
	json_decref(told);
	return info;
}
