/* SPDX-License-Identifier: MIT */
/* Registries from JSON. */
#include "tests/support/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool fail(struct world *world, const char *what, const char *why)
{
	(void)snprintf(world->error, sizeof(world->error), "%s: %s", what, why);
	return false;
}

static void note_change(void *context, const struct kp_change *change)
{
	struct world *world = context;
	json_array_append_new(world->changes,
		json_sprintf("%s %s", change->plugin,
			change->is_gone ? "gone" : kp_state_name(change->after)));
}

static int compare_families(const void *a, const void *b)
{
	const struct kp_family *x = a;
	const struct kp_family *y = b;
	return strcmp(x->operation, y->operation);
}

static bool read_families(struct world *world, const json_t *families)
{
	size_t count = json_array_size(families);
	struct kp_diag diag;

	world->families.items = calloc(count + 1, sizeof(*world->families.items));
	for (size_t i = 0; i < count; i++) {
		char *text = json_dumps(json_array_get(families, i), 0);
		int result = kp_family_parse(text, strlen(text), "family.json",
			&world->families.items[i], &diag);
		free(text);
		if (result < 0)
			return fail(world, "family", diag.message);
		world->families.count++;
	}
	qsort(world->families.items, count, sizeof(*world->families.items),
		compare_families);
	return true;
}

struct world *world_new(const json_t *families, const json_t *platform)
{
	struct kp_version host = {0, 1, 0, "", ""};
	struct world *world = calloc(1, sizeof(*world));
	struct kp_diag diag;

	world->plugins = json_array();
	world->changes = json_array();
	world->probed = json_array();
	world->now = 1000;
	if (!read_families(world, families))
		return world;
	if (kp_platform_from_json(platform, &world->platform, &diag) < 0) {
		fail(world, "platform", diag.message);
		return world;
	}
	world->registry = kp_registry_new(
		&world->families, &world->platform, &host, note_change, world);
	return world;
}

void world_free(struct world *world)
{
	kp_registry_free(world->registry);
	kp_families_finish(&world->families);
	kp_platform_finish(&world->platform);
	kp_decisions_finish(&world->decisions);
	json_decref(world->plugins);
	json_decref(world->changes);
	json_decref(world->probed);
	free(world->bytes);
	free(world);
}

static const char *name_of(const json_t *plugin)
{
	return json_string_value(json_object_get(plugin, "plugin"));
}

static const json_t *find(const struct world *world, const char *name)
{
	json_t *plugin;
	size_t i;
	json_array_foreach (world->plugins, i, plugin)
		if (strcmp(name_of(plugin), name) == 0)
			return plugin;
	return NULL;
}

void world_take(struct world *world, const char *name)
{
	for (size_t i = json_array_size(world->plugins); i-- > 0;)
		if (strcmp(name_of(json_array_get(world->plugins, i)), name) == 0)
			json_array_remove(world->plugins, i);
}

bool world_put(struct world *world, const json_t *plugin)
{
	if (!name_of(plugin))
		return fail(world, "plugin", "it has no name");
	world_take(world, name_of(plugin));
	return json_array_append_new(world->plugins, json_deep_copy(plugin)) == 0;
}

/* The text of its manifest. */
static char *manifest_text(const json_t *plugin)
{
	const char *raw = json_string_value(json_object_get(plugin, "raw"));
	json_t *object = json_object();

	if (raw) {
		json_decref(object);
		return strdup(raw);
	}
	json_object_set_new(object, "library", json_sprintf("%s.so", name_of(plugin)));
	json_object_update(object, json_object_get(plugin, "manifest"));
	char *text = json_dumps(object, JSON_SORT_KEYS);
	json_decref(object);
	return text;
}

static void make_manifest(const json_t *plugin, struct kp_manifest *manifest)
{
	struct kp_diag diag;
	char path[256];
	char *text = manifest_text(plugin);

	(void)snprintf(
		path, sizeof(path), "/etc/kplug/plugins.d/%s.json", name_of(plugin));
	if (kp_manifest_parse(text, strlen(text), path, manifest, &diag) < 0) {
		*manifest = (struct kp_manifest){.enabled = true};
		manifest->name = strdup(name_of(plugin));
		manifest->path = strdup(path);
		manifest->error = malloc(sizeof(diag));
		*manifest->error = diag;
		(void)snprintf(manifest->digest, sizeof(manifest->digest), "%016zx",
			strlen(text));
	}
	if (json_is_true(json_object_get(plugin, "masked")))
		manifest->masked = true;
	free(text);
}

static int compare_manifests(const void *a, const void *b)
{
	const struct kp_manifest *x = a;
	const struct kp_manifest *y = b;
	return strcmp(x->name, y->name);
}

static void make_manifests(const struct world *world, struct kp_manifests *manifests)
{
	size_t count = json_array_size(world->plugins);

	*manifests = (struct kp_manifests){.count = count};
	manifests->items = calloc(count + 1, sizeof(*manifests->items));
	for (size_t i = 0; i < count; i++)
		make_manifest(json_array_get(world->plugins, i), &manifests->items[i]);
	qsort(manifests->items, count, sizeof(*manifests->items), compare_manifests);
}

static json_t *make_note(const json_t *plugin)
{
	const json_t *given = json_object_get(plugin, "note");
	json_t *note = given ? json_deep_copy(given) : NULL;

	if (!note)
		return NULL;
	if (!json_object_get(note, "name"))
		json_object_set_new(note, "name", json_string(name_of(plugin)));
	if (!json_object_get(note, "version"))
		json_object_set_new(note, "version", json_string("1.0.0"));
	return note;
}

static void make_availability(const json_t *plugin, struct kp_verdict *verdict)
{
	const json_t *kernels =
		json_object_get(json_object_get(plugin, "note"), "kernels");
	const json_t *off = json_object_get(plugin, "unavailable");
	size_t count = json_array_size(kernels);

	verdict->kernels = calloc(count + 1, sizeof(*verdict->kernels));
	for (size_t i = 0; i < count; i++) {
		const char *name = json_string_value(
			json_object_get(json_array_get(kernels, i), "name"));
		if (!name)
			continue;
		const char *why = json_string_value(json_object_get(off, name));
		struct kp_availability *said = &verdict->kernels[verdict->n_kernels++];
		said->kernel = strdup(name);
		said->available = !why;
		(void)snprintf(
			said->code, sizeof(said->code), "%s", why ? "unavailable" : "");
		said->message = strdup(why ? why : "");
	}
}

static bool make_verdict(
	struct world *world, const json_t *plugin, struct kp_verdict *verdict)
{
	const char *state = json_string_value(json_object_get(plugin, "state"));
	const char *code = json_string_value(json_object_get(plugin, "code"));
	const char *message = json_string_value(json_object_get(plugin, "message"));
	const char *digest = json_string_value(json_object_get(plugin, "digest"));

	*verdict = (struct kp_verdict){.state = KP_STATE_ACTIVE};
	if (state && !kp_state_parse(state, &verdict->state))
		return fail(world, "state", state);
	(void)snprintf(verdict->code, sizeof(verdict->code), "%s", code ? code : "");
	verdict->message = strdup(message ? message : "");
	(void)snprintf(verdict->digest, sizeof(verdict->digest), "%s",
		digest ? digest : name_of(plugin));
	verdict->bytes = 4096;
	verdict->probe_ms = 1.5;
	verdict->note = make_note(plugin);
	verdict->elf = json_deep_copy(json_object_get(plugin, "elf"));
	make_availability(plugin, verdict);
	return true;
}

bool world_apply(struct world *world, const char *name)
{
	const json_t *plugin = find(world, name);
	const struct kp_manifest *manifest = kp_registry_manifest(world->registry, name);
	struct kp_verdict verdict;
	struct kp_diag diag;

	if (!plugin || !manifest)
		return fail(world, name, "there is nothing to apply");
	if (!make_verdict(world, plugin, &verdict))
		return false;
	if (kp_registry_apply(world->registry, name, manifest->digest, &verdict,
		    ++world->now, &diag) < 0)
		return fail(world, "apply", diag.message);
	return true;
}

bool world_scan(struct world *world, const char *force)
{
	struct kp_manifests manifests;
	struct kp_diag diag;
	char **todo = NULL;
	size_t count = 0;
	bool done = true;

	make_manifests(world, &manifests);
	int result = kp_registry_update(
		world->registry, &manifests, force, ++world->now, &todo, &count, &diag);
	kp_manifests_finish(&manifests);
	if (result < 0)
		return fail(world, "update", diag.message);
	for (size_t i = 0; i < count; i++) {
		json_array_append_new(world->probed, json_string(todo[i]));
		if (!json_is_true(json_object_get(find(world, todo[i]), "pending")))
			done = world_apply(world, todo[i]) && done;
		free(todo[i]);
	}
	free(todo);
	return done;
}

bool world_decide(struct world *world)
{
	struct kp_diag diag;
	if (kp_registry_decide(world->registry, &world->decisions, ++world->now, &diag) <
		0)
		return fail(world, "decide", diag.message);
	return true;
}

bool world_build(struct world *world, uint64_t generation)
{
	struct kp_diag diag;
	void *bytes;
	size_t size;

	if (kp_registry_table(world->registry, generation, &bytes, &size, &diag) < 0)
		return fail(world, "table", diag.message);
	free(world->bytes);
	world->bytes = bytes;
	world->size = size;
	if (kp_table_open(bytes, size, &world->table, &diag) < 0)
		return fail(world, "open", diag.message);
	return true;
}
