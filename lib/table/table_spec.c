/* SPDX-License-Identifier: MIT */
/* Decoding a kernel of a table back into what its note said. */
#include <stdlib.h>
#include <string.h>

#include "lib/table/table_read.h"

/* Arrays are cut from one allocation, those with the widest alignment first. */
struct cutter {
	struct kp_trait *traits;
	struct kp_scalar *scalars;
	const char **texts;
};

static struct kp_list list_at(
	const struct kp_table *table, const unsigned char *record, unsigned field)
{
	return kp_table_list(table, kp_load32(record + field));
}

static const unsigned char *trait_at(
	const struct kp_table *table, struct kp_list traits, size_t i)
{
	return kp_table_record(table, KP_SECTION_TRAITS, kp_list_get(traits, i));
}

static size_t count_scalars(const struct kp_table *table, struct kp_list traits)
{
	size_t n = 0;
	for (size_t i = 0; i < traits.count; i++)
		n += list_at(table, trait_at(table, traits, i), KP_TRAIT_IN).count;
	return n;
}

static size_t count_texts(const struct kp_table *table, const unsigned char *kernel,
	const unsigned char *profile, const unsigned char *capability)
{
	return list_at(table, kernel, KP_KERNEL_SIGNATURES).count +
	       list_at(table, profile, KP_PROFILE_TAGS).count +
	       list_at(table, profile, KP_PROFILE_FEATURES).count +
	       list_at(table, profile, KP_PROFILE_NEEDS).count +
	       list_at(table, profile, KP_PROFILE_LAYOUTS).count +
	       list_at(table, capability, KP_CAPABILITY_VENDORS).count +
	       list_at(table, capability, KP_CAPABILITY_FEATURES).count;
}

static struct kp_strings cut_texts(
	const struct kp_table *table, struct kp_list list, struct cutter *cutter)
{
	struct kp_strings strings = {list.count, cutter->texts};
	for (size_t i = 0; i < list.count; i++)
		*cutter->texts++ = kp_table_text(table, kp_list_get(list, i));
	return strings;
}

static void cut_trait(
	const struct kp_table *table, const unsigned char *record, struct cutter *cutter)
{
	cutter->scalars += kp_table_trait(
		table, record, cutter->scalars, SIZE_MAX, cutter->traits++);
}

static struct kp_arch load_arch(const unsigned char *at, bool known)
{
	return (struct kp_arch){
		known, (int32_t)kp_load32(at), (int32_t)kp_load32(at + 4)};
}

static void load_capability(const struct kp_table *table, const unsigned char *record,
	struct kp_capability *capability, struct cutter *cutter)
{
	unsigned bounds = record[KP_CAPABILITY_BOUNDS];

	capability->device = record[KP_CAPABILITY_DEVICE];
	capability->vendors =
		cut_texts(table, list_at(table, record, KP_CAPABILITY_VENDORS), cutter);
	capability->features =
		cut_texts(table, list_at(table, record, KP_CAPABILITY_FEATURES), cutter);
	capability->min_arch =
		load_arch(record + KP_CAPABILITY_MIN, bounds & KP_BOUND_MIN);
	capability->max_arch =
		load_arch(record + KP_CAPABILITY_MAX, bounds & KP_BOUND_MAX);
}

static void load_profile(const struct kp_table *table, const unsigned char *profile,
	struct kp_spec *spec, struct cutter *cutter)
{
	spec->solution =
		kp_table_text_or_null(table, kp_load32(profile + KP_PROFILE_SOLUTION));
	spec->revision = kp_load32(profile + KP_PROFILE_REVISION);
	spec->flags = kp_load32(profile + KP_PROFILE_FLAGS);
	spec->tags = cut_texts(table, list_at(table, profile, KP_PROFILE_TAGS), cutter);
	spec->features =
		cut_texts(table, list_at(table, profile, KP_PROFILE_FEATURES), cutter);
	spec->needs = cut_texts(table, list_at(table, profile, KP_PROFILE_NEEDS), cutter);
	spec->layouts =
		cut_texts(table, list_at(table, profile, KP_PROFILE_LAYOUTS), cutter);
}

static void load_state(const struct kp_table *table, const unsigned char *kernel,
	size_t i, struct kp_entry_state *state)
{
	uint32_t off = kp_load32(kernel + KP_KERNEL_OFF);
	uint32_t unavailable = kp_load32(kernel + KP_KERNEL_UNAVAILABLE);

	state->plugin = kp_table_kernel_plugin(table, i);
	state->state = kernel[KP_KERNEL_STATE];
	state->available = unavailable == 0;
	state->policy = kernel[KP_KERNEL_POLICY];
	kp_table_reason(table, off ? off : unavailable, &state->code, &state->message,
		&state->source);
}

int kp_table_spec(const struct kp_table *table, size_t i, struct kp_spec *spec,
	struct kp_entry_state *state, void **memory)
{
	const unsigned char *kernel = kp_table_kernel(table, i);
	const unsigned char *profile = kp_table_profile(table, kernel);
	const unsigned char *capability = kp_table_record(table, KP_SECTION_CAPABILITIES,
		kp_load32(profile + KP_PROFILE_CAPABILITY));
	struct kp_list traits = list_at(table, kernel, KP_KERNEL_TRAITS);
	size_t n_scalars = count_scalars(table, traits);
	size_t n_texts = count_texts(table, kernel, profile, capability);
	struct cutter cutter;

	/* The counts come from at most KP_TABLE_MOST bytes: no overflow. */
	char *bytes = malloc(traits.count * sizeof(struct kp_trait) +
			     n_scalars * sizeof(struct kp_scalar) +
			     n_texts * sizeof(char *) + 1);
	if (!bytes)
		return -1;
	cutter.traits = (struct kp_trait *)(void *)bytes;
	cutter.scalars = (struct kp_scalar *)(void *)(cutter.traits + traits.count);
	cutter.texts = (const char **)(void *)(cutter.scalars + n_scalars);
	*spec = (struct kp_spec){
		.name = kp_table_kernel_name(table, i),
		.operation = kp_table_text(table,
			kp_load32(kp_table_record(table, KP_SECTION_OPERATIONS,
					  kp_load32(kernel + KP_KERNEL_OPERATION)) +
				  KP_OPERATION_NAME)),
		.priority = kernel[KP_KERNEL_PRIORITY],
		.n_traits = traits.count,
		.traits = cutter.traits,
	};
	for (size_t t = 0; t < traits.count; t++)
		cut_trait(table, trait_at(table, traits, t), &cutter);
	spec->signatures =
		cut_texts(table, list_at(table, kernel, KP_KERNEL_SIGNATURES), &cutter);
	load_profile(table, profile, spec, &cutter);
	load_capability(table, capability, &spec->capability, &cutter);
	load_state(table, kernel, i, state);
	*memory = bytes;
	return 0;
}
