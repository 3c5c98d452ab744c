/* SPDX-License-Identifier: MIT */
/* The devices of a query: the table's own, or those of a platform that is asked for. */
#include <string.h>

#include "lib/base/text.h"
#include "lib/select/query.h"

/* A device by its id, or all of a kind; NULL: all. */
static bool is_wanted(const char *wanted, const char *id, enum kp_device_kind kind)
{
	return !wanted || kp_text_is(wanted, id) ||
	       kp_text_is(wanted, kp_device_kind_name(kind));
}

static void add_own(struct kp_query *query, const unsigned char *record)
{
	const struct kp_table *table = query->table;
	const char *id = kp_table_text(table, kp_load32(record + KP_DEVICE_ID));
	enum kp_device_kind kind = record[KP_DEVICE_KIND];

	if (!is_wanted(query->request->device, id, kind))
		return;
	struct kp_query_device *device = &query->devices[query->n_devices++];
	device->kind = kind;
	device->vendor = kp_load32(record + KP_DEVICE_VENDOR);
	device->arch.known = record[KP_DEVICE_ARCH_KNOWN];
	device->arch.major = (int32_t)kp_load32(record + KP_DEVICE_ARCH);
	device->arch.minor = (int32_t)kp_load32(record + KP_DEVICE_ARCH + 4);
	device->features =
		kp_table_list(table, kp_load32(record + KP_DEVICE_FEATURE_LIST));
	device->id = id;
	device->vendor_text = kp_table_text(table, device->vendor);
}

/* Features that no kernel asks for have no symbol and are left out. */
static struct kp_list store_features(
	struct kp_query *query, size_t at, const struct kp_device_facts *facts)
{
	unsigned char *items = query->on_features + at * KP_DEVICE_FEATURES * 4;
	struct kp_list list = {items, 0};

	for (size_t i = 0; i < facts->n_features && i < KP_DEVICE_FEATURES; i++) {
		uint32_t symbol = kp_table_symbol(query->table, facts->features[i]);
		if (symbol)
			kp_store32(items + 4 * list.count++, symbol);
	}
	return list;
}

static void add_given(struct kp_query *query, const struct kp_device_facts *facts)
{
	if (!is_wanted(query->request->device, facts->id, facts->kind))
		return;
	size_t at = query->n_devices++;
	struct kp_query_device *device = &query->devices[at];
	device->kind = facts->kind;
	device->vendor = kp_table_symbol(query->table, facts->vendor);
	device->arch = facts->arch;
	device->features = store_features(query, at, facts);
	device->id = facts->id;
	device->vendor_text = facts->vendor;
}

int kp_query_devices(struct kp_query *query, struct kp_diag *diag)
{
	const struct kp_platform *on = query->request->on;
	const char *wanted = query->request->device;

	if (on) {
		for (size_t i = 0; i < on->n_devices && i < KP_PLATFORM_DEVICES; i++)
			add_given(query, &on->devices[i]);
	} else {
		size_t count = kp_table_count(query->table, KP_SECTION_DEVICES);
		for (size_t i = 0; i < count; i++)
			add_own(query,
				kp_table_record(query->table, KP_SECTION_DEVICES, i));
	}
	if (wanted && query->n_devices == 0)
		return kp_diag_set(diag, "unknown_device", wanted,
			"there is no device %s; write its id, cpu or gpu", wanted);
	return 0;
}
