/* SPDX-License-Identifier: MIT */
/* Does one of the devices have what the kernel needs? */
#include <stdio.h>

#include "lib/base/text.h"
#include "lib/select/predicate.h"

/* How far a device got; the one that got furthest is named in the explanation. */
enum progress {
	NO_DEVICE,
	WRONG_KIND,
	WRONG_VENDOR,
	WRONG_MACHINE,
	WRONG_ARCH,
	LACKS_FEATURES,
	PASSES
};

/* What a kernel says that it needs, and the CPUs its library is for: a symbol or 0. */
struct needs {
	const unsigned char *capability;
	uint32_t machine;
};

static struct kp_arch bound(const unsigned char *capability, unsigned field)
{
	return (struct kp_arch){true, (int32_t)kp_load32(capability + field),
		(int32_t)kp_load32(capability + field + 4)};
}

static const char *arch_code(
	const unsigned char *capability, const struct kp_query_device *device)
{
	unsigned bounds = capability[KP_CAPABILITY_BOUNDS];
	struct kp_arch min = bound(capability, KP_CAPABILITY_MIN);
	struct kp_arch max = bound(capability, KP_CAPABILITY_MAX);

	if (!bounds)
		return NULL;
	if (!device->arch.known)
		return "arch_unknown";
	if (bounds & KP_BOUND_MIN && kp_arch_compare(&device->arch, &min) < 0)
		return "min_arch";
	if (bounds & KP_BOUND_MAX && kp_arch_compare(&device->arch, &max) > 0)
		return "max_arch";
	return NULL;
}

static bool has_features(struct kp_list needed, const struct kp_query_device *device)
{
	for (size_t i = 0; i < needed.count; i++)
		if (!kp_list_has(device->features, kp_list_get(needed, i)))
			return false;
	return true;
}

static enum progress examine(const struct kp_query *query, const struct needs *needs,
	const struct kp_query_device *device)
{
	const unsigned char *capability = needs->capability;
	enum kp_device_kind kind = capability[KP_CAPABILITY_DEVICE];
	struct kp_list vendors = kp_table_list(
		query->table, kp_load32(capability + KP_CAPABILITY_VENDORS));

	if (kind != KP_ANY_DEVICE && kind != device->kind)
		return WRONG_KIND;
	if (vendors.count > 0 && !kp_list_has(vendors, device->vendor))
		return WRONG_VENDOR;
	/* The code for a GPU is data of its library; whose host code runs is not asked.
	 */
	if (device->kind == KP_CPU && needs->machine && needs->machine != device->vendor)
		return WRONG_MACHINE;
	if (arch_code(capability, device))
		return WRONG_ARCH;
	if (!has_features(kp_table_list(query->table,
				  kp_load32(capability + KP_CAPABILITY_FEATURES)),
		    device))
		return LACKS_FEATURES;
	return PASSES;
}

static void explain_arch(const unsigned char *capability,
	const struct kp_query_device *device, struct kp_exclusions *out)
{
	const char *code = arch_code(capability, device);
	unsigned bounds = capability[KP_CAPABILITY_BOUNDS];
	struct kp_arch min = bound(capability, KP_CAPABILITY_MIN);
	struct kp_arch max = bound(capability, KP_CAPABILITY_MAX);
	char text[24];
	size_t used = 0;

	struct kp_exclusion *e = code ? kp_exclude(out, code, "kernel") : NULL;
	if (!e)
		return;
	if (bounds & KP_BOUND_MIN)
		used = kp_text_add(e->required, sizeof(e->required), 0, ">= %s",
			kp_arch_print(&min, text, sizeof(text)));
	if (bounds & KP_BOUND_MAX)
		kp_text_add(e->required, sizeof(e->required), used, "%s<= %s",
			used ? " and " : "", kp_arch_print(&max, text, sizeof(text)));
	(void)snprintf(e->actual, sizeof(e->actual), "%s of %s",
		device->arch.known ? kp_arch_print(&device->arch, text, sizeof(text))
				   : "not known",
		device->id);
}

static void explain_features(const struct kp_query *query,
	const unsigned char *capability, const struct kp_query_device *device,
	struct kp_exclusions *out)
{
	struct kp_list needed = kp_table_list(
		query->table, kp_load32(capability + KP_CAPABILITY_FEATURES));
	size_t used = 0;

	if (has_features(needed, device))
		return;
	struct kp_exclusion *e = kp_exclude(out, "missing_device_feature", "kernel");
	if (!e)
		return;
	kp_predicate_join(query->table, needed, e->required, sizeof(e->required));
	used = kp_text_add(e->actual, sizeof(e->actual), 0, "%s lacks ", device->id);
	bool first = true;
	for (size_t i = 0; i < needed.count; i++) {
		uint32_t feature = kp_list_get(needed, i);
		if (kp_list_has(device->features, feature))
			continue;
		used = kp_text_add(e->actual, sizeof(e->actual), used, "%s%s",
			first ? "" : ", ", kp_table_text(query->table, feature));
		first = false;
	}
}

static void explain_machine(const struct kp_query *query, uint32_t machine,
	const struct kp_query_device *device, struct kp_exclusions *out)
{
	struct kp_exclusion *e = kp_exclude(out, "machine", "machine");

	if (!e)
		return;
	(void)snprintf(e->required, sizeof(e->required), "%s",
		kp_table_text(query->table, machine));
	(void)snprintf(e->actual, sizeof(e->actual), "%s", device->vendor_text);
}

static void explain(const struct kp_query *query, const struct needs *needs,
	const struct kp_query_device *device, enum progress progress,
	struct kp_exclusions *out)
{
	const unsigned char *capability = needs->capability;
	struct kp_exclusion *e;

	if (progress == WRONG_MACHINE) {
		explain_machine(query, needs->machine, device, out);
		return;
	}
	if (progress >= WRONG_ARCH) {
		explain_arch(capability, device, out);
		explain_features(query, capability, device, out);
		return;
	}
	e = kp_exclude(
		out, progress == WRONG_VENDOR ? "vendor" : "device_kind", "kernel");
	if (!e)
		return;
	if (progress == WRONG_VENDOR) {
		kp_predicate_join(query->table,
			kp_table_list(query->table,
				kp_load32(capability + KP_CAPABILITY_VENDORS)),
			e->required, sizeof(e->required));
		(void)snprintf(e->actual, sizeof(e->actual), "%s", device->vendor_text);
		return;
	}
	(void)snprintf(e->required, sizeof(e->required), "%s",
		kp_device_kind_name(capability[KP_CAPABILITY_DEVICE]));
	(void)snprintf(e->actual, sizeof(e->actual), "%s",
		progress == NO_DEVICE ? "no device" : kp_device_kind_name(device->kind));
}

bool kp_predicate_device(const struct kp_query *query, struct kp_subject *subject,
	struct kp_exclusions *out)
{
	const unsigned char *plugin = kp_table_record(query->table, KP_SECTION_PLUGINS,
		kp_load32(subject->kernel + KP_KERNEL_PLUGIN));
	const struct needs needs = {
		kp_table_record(query->table, KP_SECTION_CAPABILITIES,
			kp_load32(subject->profile + KP_PROFILE_CAPABILITY)),
		kp_load32(plugin + KP_PLUGIN_MACHINE),
	};
	enum progress best = NO_DEVICE;
	size_t closest = 0;

	for (size_t i = 0; i < query->n_devices; i++) {
		enum progress progress = examine(query, &needs, &query->devices[i]);
		if (progress == PASSES) {
			subject->device = i;
			return true;
		}
		if (progress > best) {
			best = progress;
			closest = i;
		}
	}
	if (out)
		explain(query, &needs, &query->devices[closest], best, out);
	return false;
}
