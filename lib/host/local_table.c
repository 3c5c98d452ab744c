/* SPDX-License-Identifier: MIT */
/* plugind's table written anew, with one plugin more. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/host/handle.h"
#include "lib/host/local.h"
#include "lib/table/table_build.h"
#include "lib/table/table_read.h"

static const char PLUGIN[] = "local";
enum { NEUTRAL_POLICY = 10 };

/* A kernel to write: number `old` of the table, or a local one. */
struct source {
	const char *operation, *plugin, *name;
	const struct kp_spec *spec;
	uint32_t old;
};

struct writing {
	struct kp_handle *handle;
	const struct kp_table *table;
	struct kp_build build;
	struct source *sources;
	size_t count;
	size_t place; /* of the plugin among the table's */
	uint32_t *numbers;
};

static const char *text(
	const struct kp_table *table, const unsigned char *record, unsigned field)
{
	return kp_table_text_or_null(table, kp_load32(record + field));
}

static struct kp_reason reason(
	const struct kp_table *table, const unsigned char *record, unsigned field)
{
	struct kp_reason said;

	kp_table_reason(table, kp_load32(record + field), &said.code, &said.message,
		&said.source);
	return said;
}

/* ---- families, devices, pins, guards ---------------------------------------------- */

/* What has a family in the table; shallow copies, in its order. */
static int write_families(struct writing *w, struct kp_diag *diag)
{
	size_t count = kp_table_count(w->table, KP_SECTION_OPERATIONS);
	struct kp_families families = {0, calloc(count + 1, sizeof(struct kp_family))};
	int result = families.items ? 0 : kp_diag_no_memory(diag);

	for (size_t i = 0; result == 0 && i < count; i++) {
		const unsigned char *record =
			kp_table_record(w->table, KP_SECTION_OPERATIONS, i);
		if (!kp_load32(record + KP_OPERATION_FAMILY))
			continue;
		const struct kp_contract *contract =
			kp_contract_get(&w->handle->contracts, w->handle->attach,
				text(w->table, record, KP_OPERATION_NAME), diag);
		if (!contract)
			result = -1;
		else if (contract->described)
			families.items[families.count++] = contract->family;
	}
	if (result == 0)
		kp_build_families(&w->build, &families);
	free(families.items);
	return result;
}

static void read_device(const struct kp_table *table, const unsigned char *record,
	struct kp_device_facts *facts)
{
	struct kp_list features =
		kp_table_list(table, kp_load32(record + KP_DEVICE_FEATURE_LIST));
	const char *id = text(table, record, KP_DEVICE_ID);
	const char *vendor = text(table, record, KP_DEVICE_VENDOR);
	const char *name = text(table, record, KP_DEVICE_NAME);

	*facts = (struct kp_device_facts){
		.kind = record[KP_DEVICE_KIND],
		.arch = {record[KP_DEVICE_ARCH_KNOWN],
			(int32_t)kp_load32(record + KP_DEVICE_ARCH),
			(int32_t)kp_load32(record + KP_DEVICE_ARCH + 4)},
	};
	(void)snprintf(facts->id, sizeof(facts->id), "%s", id ? id : "");
	(void)snprintf(facts->vendor, sizeof(facts->vendor), "%s", vendor ? vendor : "");
	(void)snprintf(facts->name, sizeof(facts->name), "%s", name ? name : "");
	for (size_t i = 0; i < features.count && i < KP_DEVICE_FEATURES; i++)
		(void)snprintf(facts->features[facts->n_features++],
			sizeof(facts->features[0]), "%s",
			kp_table_text(table, kp_list_get(features, i)));
}

static int write_platform(struct writing *w, struct kp_diag *diag)
{
	struct kp_platform platform = {
		.n_devices = kp_table_count(w->table, KP_SECTION_DEVICES)};

	platform.devices = calloc(platform.n_devices + 1, sizeof(*platform.devices));
	if (!platform.devices)
		return kp_diag_no_memory(diag);
	for (size_t i = 0; i < platform.n_devices; i++)
		read_device(w->table, kp_table_record(w->table, KP_SECTION_DEVICES, i),
			&platform.devices[i]);
	kp_build_platform(&w->build, &platform);
	free(platform.devices);
	return 0;
}

static void write_pins(struct writing *w)
{
	for (size_t i = 0; i < kp_table_count(w->table, KP_SECTION_PINS); i++) {
		const unsigned char *record =
			kp_table_record(w->table, KP_SECTION_PINS, i);
		const struct kp_pin pin = {
			.operation = (char *)(uintptr_t)text(
				w->table, record, KP_PIN_OPERATION),
			.choice =
				(char *)(uintptr_t)text(w->table, record, KP_PIN_CHOICE),
			.force = kp_load32(record + KP_PIN_BITS) & KP_PIN_FORCE,
		};
		kp_build_pin(&w->build, &pin);
	}
}

static void write_guards(struct writing *w)
{
	size_t count = kp_table_has(w->table, KP_SECTION_GUARDS)
			       ? kp_table_count(w->table, KP_SECTION_GUARDS)
			       : 0;

	for (size_t i = 0; i < count; i++) {
		const unsigned char *record =
			kp_table_record(w->table, KP_SECTION_GUARDS, i);
		kp_build_guard(&w->build, text(w->table, record, KP_GUARD_OPERATION),
			kp_load32(record + KP_GUARD_EVERY));
	}
}

/* ---- plugins ------------------------------------------------------------------------
 */

static void write_plugin(struct writing *w, size_t i)
{
	const struct kp_table *table = w->table;
	const unsigned char *record = kp_table_record(table, KP_SECTION_PLUGINS, i);
	const struct kp_plugin_facts facts = {
		.name = text(table, record, KP_PLUGIN_NAME),
		.package = text(table, record, KP_PLUGIN_PACKAGE),
		.version = text(table, record, KP_PLUGIN_VERSION),
		.stored = text(table, record, KP_PLUGIN_STORED),
		.digest = text(table, record, KP_PLUGIN_DIGEST),
		.closure = text(table, record, KP_PLUGIN_CLOSURE),
		.config = text(table, record, KP_PLUGIN_CONFIG),
		.machine = text(table, record, KP_PLUGIN_MACHINE),
		.state = record[KP_PLUGIN_STATE],
		.verdict = record[KP_PLUGIN_VERDICT],
		.reason = reason(table, record, KP_PLUGIN_REASON),
		.found = reason(table, record, KP_PLUGIN_FOUND),
	};

	kp_build_plugin(&w->build, &facts);
}

static void write_plugins(struct writing *w)
{
	const struct kp_plugin_facts local = {.name = PLUGIN,
		.package = PLUGIN,
		.version = "0.0.0",
		.state = KP_STATE_ACTIVE,
		.verdict = KP_STATE_ACTIVE};

	for (size_t i = 0; i <= kp_table_plugins(w->table); i++) {
		if (i == w->place)
			kp_build_plugin(&w->build, &local);
		if (i < kp_table_plugins(w->table))
			write_plugin(w, i);
	}
}

static const char *name_at(const struct writing *w, size_t plugin)
{
	const unsigned char *record =
		kp_table_record(w->table, KP_SECTION_PLUGINS, plugin);

	return kp_table_text(w->table, kp_load32(record + KP_PLUGIN_NAME));
}

/* Where it comes in byte order of name. */
static int find_place(struct writing *w, struct kp_diag *diag)
{
	if (kp_table_plugin(w->table, PLUGIN) != SIZE_MAX)
		return kp_diag_set(diag, "local_taken", PLUGIN,
			"plugind has a plugin named local: kernels of this process "
			"cannot be told from its");
	while (w->place < kp_table_plugins(w->table) &&
		strcmp(name_at(w, w->place), PLUGIN) < 0)
		w->place++;
	return 0;
}

/* ---- kernels ------------------------------------------------------------------------
 */

static int compare(const void *a, const void *b)
{
	const struct source *x = a, *y = b;
	int order = strcmp(x->operation, y->operation);

	if (order == 0)
		order = strcmp(x->plugin, y->plugin);
	return order ? order : strcmp(x->name, y->name);
}

static int collect(struct writing *w, struct kp_diag *diag)
{
	size_t old = kp_table_kernels(w->table), count = old;

	for (const struct kp_locals *l = w->handle->locals; l; l = l->next)
		count += !l->removed;
	w->sources = calloc(count + 1, sizeof(*w->sources));
	w->numbers = calloc(count + 1, sizeof(*w->numbers));
	if (!w->sources || !w->numbers)
		return kp_diag_no_memory(diag);
	for (uint32_t i = 0; i < old; i++) {
		const unsigned char *operation = kp_table_record(w->table,
			KP_SECTION_OPERATIONS,
			kp_load32(kp_table_kernel(w->table, i) + KP_KERNEL_OPERATION));
		w->sources[w->count++] =
			(struct source){text(w->table, operation, KP_OPERATION_NAME),
				kp_table_kernel_plugin(w->table, i),
				kp_table_kernel_name(w->table, i), NULL, i};
	}
	for (const struct kp_locals *l = w->handle->locals; l; l = l->next)
		if (!l->removed)
			w->sources[w->count++] =
				(struct source){l->note.kernels[0].operation, PLUGIN,
					l->note.kernels[0].name, &l->note.kernels[0], 0};
	qsort(w->sources, w->count, sizeof(*w->sources), compare);
	return 0;
}

static void write_local(struct writing *w, const struct source *source)
{
	const struct kp_kernel_facts facts = {
		.plugin = w->place, .policy = NEUTRAL_POLICY, .state = KP_STATE_ACTIVE};

	kp_build_kernel(&w->build, source->spec, &facts);
}

static int write_old(struct writing *w, const struct source *source)
{
	const unsigned char *record = kp_table_kernel(w->table, source->old);
	size_t plugin = kp_load32(record + KP_KERNEL_PLUGIN);
	struct kp_entry_state state;
	struct kp_spec spec;
	void *memory;

	if (kp_table_spec(w->table, source->old, &spec, &state, &memory) < 0)
		return -1;
	const struct kp_kernel_facts facts = {
		.plugin = plugin + (plugin >= w->place),
		.policy = record[KP_KERNEL_POLICY],
		.state = record[KP_KERNEL_STATE],
		.off = reason(w->table, record, KP_KERNEL_OFF),
		.unavailable = reason(w->table, record, KP_KERNEL_UNAVAILABLE),
	};
	kp_build_kernel(&w->build, &spec, &facts);
	free(memory);
	return 0;
}

static int write_kernels(
	struct writing *w, const struct kp_sight *sight, struct kp_diag *diag)
{
	for (size_t i = 0; i < w->count; i++) {
		const struct source *source = &w->sources[i];
		w->numbers[i] = source->spec ? KP_CONTROL_NONE
					     : kp_sight_number(sight, source->old);
		if (source->spec)
			write_local(w, source);
		else if (write_old(w, source) < 0)
			return kp_diag_no_memory(diag);
	}
	return 0;
}

/* ---- the whole --------------------------------------------------------------------- */

static int write_all(
	struct writing *w, const struct kp_sight *sight, struct kp_diag *diag)
{
	if (find_place(w, diag) < 0 || collect(w, diag) < 0 ||
		write_families(w, diag) < 0 || write_platform(w, diag) < 0 ||
		write_kernels(w, sight, diag) < 0)
		return -1;
	write_plugins(w);
	write_pins(w);
	write_guards(w);
	return 0;
}

static bool has_any(const struct kp_locals *locals)
{
	while (locals && locals->removed)
		locals = locals->next;
	return locals != NULL;
}

int kp_local_extend(
	struct kp_handle *handle, struct kp_sight *sight, struct kp_diag *diag)
{
	struct writing w = {.handle = handle, .table = &sight->table};
	void *bytes = NULL;
	size_t size = 0;

	if (!has_any(handle->locals))
		return 0;
	int result = write_all(&w, sight, diag);
	if (result == 0)
		result =
			kp_build_finish(&w.build, sight->generation, &bytes, &size, diag);
	else
		kp_build_free(&w.build);
	free(w.sources);
	if (result == 0)
		result = kp_table_open(bytes, size, &sight->table, diag);
	if (result < 0) {
		free(bytes);
		free(w.numbers);
		return -1;
	}
	sight->bytes = bytes;
	sight->own = w.numbers;
	sight->numbers = w.numbers;
	sight->count = w.count;
	return 0;
}
