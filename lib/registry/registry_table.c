/* SPDX-License-Identifier: MIT */
/* Writing the table of a generation from notes and from the table before. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/registry/registry_plugin.h"
#include "lib/base/json.h"

enum { NEUTRAL_POLICY = 10 };

/* A kernel to write: of a new note (spec), or number `old` of the latest table. */
struct source {
	const char *operation, *name;
	const struct kp_spec *spec;
	uint32_t plugin, old;
};

struct sources {
	struct source *items;
	size_t count;
};

static size_t count_kernels(const struct kp_registry *registry)
{
	size_t n = 0;
	for (size_t i = 0; i < registry->count; i++) {
		const struct kp_plugin *plugin = registry->plugins[i];
		if (plugin->note)
			n += plugin->note->n_kernels;
		else if (plugin->in_table)
			n += kp_registry_kernels(registry, plugin).count;
	}
	return n;
}

static const char *old_operation(const struct kp_table *table, size_t kernel)
{
	size_t operation =
		kp_load32(kp_table_kernel(table, kernel) + KP_KERNEL_OPERATION);
	return kp_table_text(table,
		kp_load32(kp_table_record(table, KP_SECTION_OPERATIONS, operation) +
			  KP_OPERATION_NAME));
}

static void add_note(struct sources *sources, const struct kp_note *note, uint32_t plugin)
{
	for (size_t i = 0; i < note->n_kernels; i++) {
		const struct kp_spec *spec = &note->kernels[i];
		sources->items[sources->count++] =
			(struct source){spec->operation, spec->name, spec, plugin, 0};
	}
}

static void add_old(
	struct sources *sources, const struct kp_registry *registry, uint32_t plugin)
{
	struct kp_list kernels = kp_registry_kernels(registry, registry->plugins[plugin]);

	for (size_t i = 0; i < kernels.count; i++) {
		uint32_t old = kp_list_get(kernels, i);
		sources->items[sources->count++] = (struct source){
			old_operation(&registry->latest, old),
			kp_table_kernel_name(&registry->latest, old), NULL, plugin, old};
	}
}

/* Plugins are in byte order of name: their numbers order as they do. */
static int compare_sources(const void *a, const void *b)
{
	const struct source *x = a;
	const struct source *y = b;
	int order = strcmp(x->operation, y->operation);

	if (order == 0 && x->plugin != y->plugin)
		order = x->plugin < y->plugin ? -1 : 1;
	return order ? order : strcmp(x->name, y->name);
}

static int collect(const struct kp_registry *registry, struct sources *sources)
{
	sources->count = 0;
	sources->items = calloc(count_kernels(registry) + 1, sizeof(*sources->items));
	if (!sources->items)
		return -1;
	for (size_t i = 0; i < registry->count; i++) {
		const struct kp_plugin *plugin = registry->plugins[i];
		if (plugin->note)
			add_note(sources, plugin->note, (uint32_t)i);
		else if (plugin->in_table)
			add_old(sources, registry, (uint32_t)i);
	}
	qsort(sources->items, sources->count, sizeof(*sources->items), compare_sources);
	return 0;
}

static int policy_of(const struct kp_registry *registry, const char *id)
{
	for (size_t i = 0; i < registry->n_policies; i++)
		if (strcmp(registry->policies[i].kernel, id) == 0)
			return registry->policies[i].score;
	return NEUTRAL_POLICY;
}

static int compare_availability(const void *name, const void *item)
{
	const struct kp_availability *said = item;
	return strcmp(name, said->kernel);
}

/* What the probe said of a kernel of a new verdict; they are sorted. */
static struct kp_reason probe_said(const struct kp_plugin *plugin, const char *kernel)
{
	const struct kp_verdict *verdict = &plugin->verdict;
	const struct kp_availability *said =
		verdict->n_kernels ? bsearch(kernel, verdict->kernels, verdict->n_kernels,
					     sizeof(*said), compare_availability)
				   : NULL;

	if (!said || said->available)
		return (struct kp_reason){NULL, NULL, NULL};
	return (struct kp_reason){
		said->code[0] ? said->code : "unavailable", said->message, "machine"};
}

static struct kp_reason said_before(const struct kp_table *table, size_t kernel)
{
	struct kp_reason reason;
	kp_table_reason(table,
		kp_load32(kp_table_kernel(table, kernel) + KP_KERNEL_UNAVAILABLE),
		&reason.code, &reason.message, &reason.source);
	return reason;
}

/* A kernel of an active plugin that is turned off by itself. */
static void stand_kernel(const struct kp_registry *registry,
	const struct kp_plugin *plugin, const struct kp_spec *spec, const char *id,
	struct kp_standing *standing)
{
	const struct kp_disabled *disabled =
		kp_registry_kernel_decision(registry, plugin, id);
	const struct kp_rule *rule = kp_decisions_find_rule(
		&registry->decisions, spec->operation, spec->solution);
	const struct kp_quarantine *quarantine = kp_decisions_find_quarantine(
		&registry->decisions, id,
		plugin->has_verdict ? plugin->verdict.digest : NULL, KP_QUARANTINE_ALL);

	if (disabled) {
		kp_standing_disabled(standing, disabled, id);
	} else if (rule) {
		kp_standing_ruled(standing, rule);
	} else if (quarantine) {
		kp_standing_quarantined(standing, quarantine);
	} else if (spec->flags & KP_FLAG_UNPROVEN &&
		   !kp_decisions_is_proven(&registry->decisions, id)) {
		standing->state = KP_STATE_DISABLED;
		standing->code = "unproven";
		standing->message = "its author says that no machine has run it yet; an "
				    "operator may enable it";
		standing->source = "kernel";
	}
}

static int write_kernel(const struct kp_registry *registry, struct kp_build *build,
	const struct source *source)
{
	const struct kp_plugin *plugin = registry->plugins[source->plugin];
	struct kp_standing standing;
	struct kp_entry_state state;
	struct kp_spec spec;
	void *memory = NULL;
	char id[KP_PLUGIN_ID_BYTES];

	if (source->spec)
		spec = *source->spec;
	else if (kp_table_spec(&registry->latest, source->old, &spec, &state, &memory) <
		 0)
		return -1;
	(void)snprintf(id, sizeof(id), "%s/%s", plugin->name, spec.name);
	kp_plugin_settled(registry, plugin, &standing);
	if (standing.state == KP_STATE_ACTIVE)
		stand_kernel(registry, plugin, &spec, id, &standing);
	struct kp_kernel_facts facts = {
		.plugin = source->plugin,
		.policy = policy_of(registry, id),
		.state = standing.state,
		.off = {standing.code, standing.message, standing.source},
		.unavailable = source->spec ? probe_said(plugin, spec.name)
					    : said_before(&registry->latest, source->old),
	};
	kp_build_kernel(build, &spec, &facts);
	free(memory);
	return 0;
}

static void write_plugin(struct kp_build *build, const struct kp_plugin *plugin)
{
	const struct kp_verdict *verdict = plugin->has_verdict ? &plugin->verdict : NULL;
	char *config = plugin->has_manifest && plugin->manifest.config
			       ? kp_json_dumps(plugin->manifest.config,
					 JSON_COMPACT | JSON_SORT_KEYS)
			       : NULL;
	struct kp_plugin_facts facts = {
		.name = plugin->name,
		.package = plugin->package,
		.version = plugin->version,
		.stored = verdict ? verdict->stored : NULL,
		.digest = verdict ? verdict->digest : NULL,
		.closure = verdict ? verdict->closure : NULL,
		.config = config,
		.machine = plugin->machine,
		.state = plugin->state,
		.reason = {plugin->code, plugin->message, plugin->source},
		.verdict = verdict ? verdict->state : KP_STATE_PENDING,
	};

	if (verdict && verdict->state != KP_STATE_ACTIVE)
		facts.found =
			(struct kp_reason){verdict->code, verdict->message, "daemon"};
	kp_build_plugin(build, &facts);
	free(config);
}

static int write_all(const struct kp_registry *registry, struct kp_build *build,
	const struct sources *sources)
{
	kp_build_families(build, registry->families);
	kp_build_platform(build, registry->platform);
	/* Before the plugins: what is said of one that has no kernel moves nothing here.
	 */
	for (size_t i = 0; i < sources->count; i++)
		if (write_kernel(registry, build, &sources->items[i]) < 0)
			return -1;
	for (size_t i = 0; i < registry->count; i++)
		write_plugin(build, registry->plugins[i]);
	for (size_t i = 0; i < registry->decisions.n_pins; i++)
		kp_build_pin(build, &registry->decisions.pins[i]);
	for (size_t i = 0; i < registry->decisions.n_guards; i++)
		kp_build_guard(build, registry->decisions.guards[i].operation,
			registry->decisions.guards[i].every);
	return 0;
}

/* The kernels are in the table now: their notes can go. */
static void settle_into(struct kp_registry *registry, void *bytes, size_t size)
{
	free(registry->bytes);
	registry->bytes = bytes;
	registry->latest = (struct kp_table){bytes, size};
	registry->dirty = false;
	for (size_t i = 0; i < registry->count; i++) {
		struct kp_plugin *plugin = registry->plugins[i];
		if (!plugin->note)
			continue;
		plugin->in_table = true;
		kp_note_finish(plugin->note);
		free(plugin->note);
		plugin->note = NULL;
		for (size_t k = 0; k < plugin->verdict.n_kernels; k++) {
			free(plugin->verdict.kernels[k].kernel);
			free(plugin->verdict.kernels[k].message);
		}
		free(plugin->verdict.kernels);
		plugin->verdict.kernels = NULL;
		plugin->verdict.n_kernels = 0;
	}
}

int kp_registry_publish(
	struct kp_registry *registry, uint64_t generation, struct kp_diag *diag)
{
	struct kp_build build = {.failed = false};
	struct kp_table table;
	struct sources sources;
	void *bytes;
	size_t size;

	if (collect(registry, &sources) < 0)
		return kp_diag_no_memory(diag);
	if (write_all(registry, &build, &sources) < 0)
		build.failed = true;
	free(sources.items);
	if (kp_build_finish(&build, generation, &bytes, &size, diag) < 0)
		return -1;
	if (kp_table_open(bytes, size, &table, diag) < 0) {
		free(bytes);
		return -1;
	}
	settle_into(registry, bytes, size);
	return 0;
}

int kp_registry_table(struct kp_registry *registry, uint64_t generation, void **bytes,
	size_t *size, struct kp_diag *diag)
{
	if (kp_registry_publish(registry, generation, diag) < 0)
		return -1;
	void *copy = malloc(registry->latest.size);
	if (!copy)
		return kp_diag_no_memory(diag);
	memcpy(copy, registry->latest.bytes, registry->latest.size);
	*bytes = copy;
	*size = registry->latest.size;
	return 0;
}
