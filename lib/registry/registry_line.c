/* SPDX-License-Identifier: MIT */
/* A plugin as lists show it, the Plugin of the interface: written, not built of values.
 */
#include <stdlib.h>

#include "lib/base/json.h"
#include "lib/base/json_write.h"
#include "lib/registry/registry_plugin.h"

struct kp_list kp_registry_kernels(
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

enum which { ALL_KERNELS, DISABLED_KERNELS, QUARANTINED_KERNELS };

/* Is its solution off? */
static bool is_ruled(const struct kp_registry *registry, size_t kernel)
{
	const struct kp_table *table = &registry->latest;
	const unsigned char *record = kp_table_kernel(table, kernel);
	const unsigned char *operation = kp_table_record(
		table, KP_SECTION_OPERATIONS, kp_load32(record + KP_KERNEL_OPERATION));
	const unsigned char *profile = kp_table_profile(table, record);

	return registry->decisions.n_rules > 0 &&
	       kp_decisions_find_rule(&registry->decisions,
		       kp_table_text(table, kp_load32(operation + KP_OPERATION_NAME)),
		       kp_table_text(table, kp_load32(profile + KP_PROFILE_SOLUTION)));
}

/* Is the kernel itself off by a decision? Of others `unproven` and the like are told. */
static bool is_disabled(
	const struct kp_registry *registry, const struct kp_plugin *plugin, size_t kernel)
{
	char id[KP_PLUGIN_ID_BYTES];

	kp_table_kernel_id(&registry->latest, kernel, id, sizeof(id));
	return kp_registry_kernel_decision(registry, plugin, id) != NULL ||
	       is_ruled(registry, kernel);
}

static bool is_quarantined(const struct kp_registry *registry, size_t kernel)
{
	return kp_table_kernel(&registry->latest, kernel)[KP_KERNEL_STATE] ==
	       KP_STATE_QUARANTINED;
}

static bool is_in(const struct kp_registry *registry, const struct kp_plugin *plugin,
	enum which which, size_t kernel)
{
	switch (which) {
	case DISABLED_KERNELS:
		return is_disabled(registry, plugin, kernel);
	case QUARANTINED_KERNELS:
		return is_quarantined(registry, kernel);
	case ALL_KERNELS:
		break;
	}
	return true;
}

static void write_names(struct kp_json_writer *writer, const struct kp_registry *registry,
	const struct kp_plugin *plugin, struct kp_list kernels, enum which which)
{
	kp_json_write_begin(writer, '[');
	for (size_t i = 0; i < kernels.count; i++) {
		size_t kernel = kp_list_get(kernels, i);
		if (is_in(registry, plugin, which, kernel))
			kp_json_write_string(
				writer, kp_table_kernel_name(&registry->latest, kernel));
	}
	kp_json_write_end(writer, ']');
}

static void write_kernels(struct kp_json_writer *writer,
	const struct kp_registry *registry, const struct kp_plugin *plugin)
{
	static const char *const keys[] = {[ALL_KERNELS] = "kernels",
		[DISABLED_KERNELS] = "disabled_kernels",
		[QUARANTINED_KERNELS] = "quarantined_kernels"};
	struct kp_list kernels = lists_kernels(plugin)
					 ? kp_registry_kernels(registry, plugin)
					 : (struct kp_list){NULL, 0};

	for (int i = ALL_KERNELS; i <= QUARANTINED_KERNELS; i++) {
		kp_json_write_key(writer, keys[i]);
		write_names(writer, registry, plugin, kernels, (enum which)i);
	}
}

static void write_text(struct kp_json_writer *writer, const char *key, const char *text)
{
	kp_json_write_key(writer, key);
	kp_json_write_string(writer, text && text[0] ? text : NULL);
}

static void write_reason(struct kp_json_writer *writer, const struct kp_plugin *plugin)
{
	kp_json_write_key(writer, "reason");
	if (!plugin->code) {
		kp_json_write_string(writer, NULL);
		return;
	}
	kp_json_write_begin(writer, '{');
	kp_json_write_key(writer, "code");
	kp_json_write_string(writer, plugin->code);
	kp_json_write_key(writer, "message");
	kp_json_write_string(writer, plugin->message ? plugin->message : "");
	kp_json_write_end(writer, '}');
}

static void write_since(struct kp_json_writer *writer, const struct kp_plugin *plugin)
{
	kp_json_write_key(writer, "since");
	if (plugin->since)
		kp_json_write_integer(writer, plugin->since);
	else
		kp_json_write_string(writer, NULL);
}

static void write_plugin(struct kp_json_writer *writer,
	const struct kp_registry *registry, const struct kp_plugin *plugin)
{
	kp_json_write_begin(writer, '{');
	write_text(writer, "name", plugin->name);
	write_text(writer, "package", plugin->package);
	write_text(writer, "version", plugin->version);
	write_text(writer, "state", kp_state_name(plugin->state));
	write_reason(writer, plugin);
	write_since(writer, plugin);
	write_kernels(writer, registry, plugin);
	write_text(writer, "origin", kp_plugin_origin(registry, plugin));
	kp_json_write_key(writer, "rolled_back");
	kp_json_write_value(writer, kp_rollback_json(kp_decisions_find_rollback(
					    &registry->decisions, plugin->name)));
	kp_json_write_end(writer, '}');
}

void kp_registry_plugin_write(
	const struct kp_registry *registry, size_t i, struct kp_json_writer *writer)
{
	write_plugin(writer, registry, registry->plugins[i]);
}

json_t *kp_registry_plugin_json(const struct kp_registry *registry, const char *plugin)
{
	const struct kp_plugin *found = kp_registry_find(registry, plugin);
	struct kp_json_writer writer = {0};
	json_error_t error;
	bool no_memory;
	size_t size;

	if (!found)
		return NULL;
	write_plugin(&writer, registry, found);
	char *text = kp_json_write_finish(&writer, &size);
	json_t *json = text ? kp_json_load(text, size, 0, &error, &no_memory) : NULL;
	free(text);
	return json;
}
