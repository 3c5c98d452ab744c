/* SPDX-License-Identifier: MIT */
/* Interning: one rung a library, kernel and number. */
#include "lib/host/rung.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/host/local.h"
#include "lib/host/signals.h"
#include "lib/host/site.h"

static const unsigned char *plugin_of(const struct kp_table *table, size_t kernel)
{
	return kp_table_record(table, KP_SECTION_PLUGINS,
		kp_load32(kp_table_kernel(table, kernel) + KP_KERNEL_PLUGIN));
}

static const char *text(
	const struct kp_table *table, const unsigned char *record, unsigned field)
{
	return kp_table_text(table, kp_load32(record + field));
}

/* Loads the code of the kernel's plugin. */
static int load(struct kp_inner_site *site, const struct kp_table *table, size_t kernel,
	const struct kp_loaded **loaded, struct kp_diag *diag)
{
	const unsigned char *plugin = plugin_of(table, kernel);
	struct kp_list list =
		kp_table_list(table, kp_load32(plugin + KP_PLUGIN_KERNEL_LIST));
	const char **names = calloc(list.count + 1, sizeof(*names));

	if (!names)
		return kp_diag_no_memory(diag);
	for (size_t i = 0; i < list.count; i++)
		names[i] = kp_table_kernel_name(table, kp_list_get(list, i));
	const struct kp_code_wanted wanted = {
		.plugin = text(table, plugin, KP_PLUGIN_NAME),
		.stored = text(table, plugin, KP_PLUGIN_STORED),
		.closure = text(table, plugin, KP_PLUGIN_CLOSURE),
		.config = text(table, plugin, KP_PLUGIN_CONFIG),
		.kernels = {list.count, names},
	};
	int result = kp_code_load(&wanted, kp_table_kernel_name(table, kernel),
		&site->device->device, loaded, diag);
	free(names);
	return result;
}

/* One without a number is in some kernel, nobody knows which. */
static uint64_t slot_value(const struct kp_inner_site *site, const struct kp_sight *sight,
	uint32_t number, bool is_local)
{
	uint64_t boot = sight->boot << 32;
	uint64_t value = is_local ? KP_SLOT_OWN
			 : number == KP_CONTROL_NONE
				 ? boot
				 : kp_slot_kernel(sight->boot, number);

	return kp_slot_labelled(value, kp_signals_label(site->label));
}

static const struct kp_inner_rung *find(const struct kp_inner_site *site,
	const char *name, const char *stored, uint64_t value)
{
	const struct kp_inner_rung *rung = site->rungs;

	while (rung && (rung->front.kernel != value || strcmp(rung->name, name) != 0 ||
			       strcmp(rung->stored, stored) != 0))
		rung = rung->next;
	return rung;
}

/* A local kernel's: another function may have had its name before. */
static const struct kp_inner_rung *find_loaded(
	const struct kp_inner_site *site, const struct kp_loaded *loaded)
{
	const struct kp_inner_rung *rung = site->rungs;

	while (rung && rung->loaded != loaded)
		rung = rung->next;
	return rung;
}

static struct kp_inner_rung *make(const char *name, const char *stored, uint64_t value)
{
	struct kp_inner_rung *rung = calloc(1, sizeof(*rung));

	if (!rung || !(rung->stored = strdup(stored))) {
		free(rung);
		return NULL;
	}
	(void)snprintf(rung->name, sizeof(rung->name), "%s", name);
	rung->front.name = rung->name;
	rung->front.kernel = value;
	return rung;
}

/* The last one unloads it. */
static void drop(const struct kp_inner_site *site, const struct kp_loaded *loaded,
	uint64_t value, bool lost)
{
	uint64_t outer = kp_thread_inside(site->handle->slots, value);

	kp_code_drop(loaded, lost);
	kp_thread_outside(outer);
}

int kp_rung_get(struct kp_inner_site *site, const struct kp_sight *sight, size_t kernel,
	const struct kp_inner_rung **got, struct kp_diag *diag)
{
	const struct kp_table *table = &sight->table;
	const char *stored = text(table, plugin_of(table, kernel), KP_PLUGIN_STORED);
	uint32_t number = kp_sight_number(sight, kernel);
	bool local = kp_local_is(table, kernel);
	uint64_t value = slot_value(site, sight, number, local);
	char name[KP_KERNEL_ID_BYTES];
	const struct kp_loaded *loaded;

	(void)kp_table_kernel_id(table, kernel, name, sizeof(name));
	*got = local ? NULL : find(site, name, stored, value);
	if (*got)
		return 0;
	uint64_t outer = kp_thread_inside(site->handle->slots, value);
	int result = local ? kp_local_load(site->handle, name, &site->device->device,
				     &loaded, diag)
			   : load(site, table, kernel, &loaded, diag);
	kp_thread_outside(outer);
	if (result < 0)
		return -1;
	*got = local ? find_loaded(site, loaded) : NULL;
	if (*got) {
		drop(site, loaded, value, false);
		return 0;
	}
	struct kp_inner_rung *rung = make(name, stored, value);
	if (!rung) {
		drop(site, loaded, value, false);
		return kp_diag_no_memory(diag);
	}
	rung->loaded = loaded;
	(void)snprintf(rung->digest, sizeof(rung->digest), "%s",
		text(table, plugin_of(table, kernel), KP_PLUGIN_DIGEST));
	rung->number = number;
	rung->flags = kp_load32(kp_table_profile(table, kp_table_kernel(table, kernel)) +
				KP_PROFILE_FLAGS);
	rung->front.run = loaded->functions.run;
	rung->front.state = loaded->state;
	rung->front.device_state = loaded->device_state;
	rung->next = site->rungs;
	site->rungs = rung;
	*got = rung;
	return 0;
}

void kp_rungs_free(struct kp_inner_site *site, bool lost)
{
	while (site->rungs) {
		struct kp_inner_rung *rung = site->rungs;
		site->rungs = rung->next;
		drop(site, rung->loaded, rung->front.kernel, lost);
		free(rung->stored);
		free(rung);
	}
}
