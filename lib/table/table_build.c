/* SPDX-License-Identifier: MIT */
/* Sections of a table from plugins, kernels, devices, pins and guards. */
#include "lib/table/table_build.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/text.h"
#include "lib/select/select.h"

enum { CLEAN_BYTES = 2048 };

uint32_t kp_build_text(struct kp_build *build, const char *text)
{
	char clean[CLEAN_BYTES];
	uint32_t offset = 0;

	if (!text || !text[0])
		return 0;
	if (!kp_text_is_utf8(text, strlen(text))) {
		kp_text_clean(text, clean, sizeof(clean));
		text = clean;
	}
	struct kp_intern *strings = &build->sections[KP_SECTION_STRINGS];
	/* Offset 0 is "none": nothing else may start there. */
	if (strings->size == 0 && !kp_intern_append(strings, "", 1, &offset))
		build->failed = true;
	if (!kp_intern_add(strings, text, strlen(text) + 1, &offset))
		build->failed = true;
	return offset;
}

uint32_t kp_build_symbol(struct kp_build *build, const char *text)
{
	uint32_t offset = kp_build_text(build, text);
	unsigned char record[KP_SYMBOL_RECORD];

	kp_store32(record, offset);
	if (offset)
		kp_build_shared(build, KP_SECTION_SYMBOLS, record, sizeof(record));
	return offset;
}

uint32_t kp_build_record(struct kp_build *build, enum kp_section section,
	const unsigned char *record, size_t size)
{
	uint32_t offset = 0;
	if (!kp_intern_append(&build->sections[section], record, size, &offset))
		build->failed = true;
	return (uint32_t)(offset / size);
}

uint32_t kp_build_shared(struct kp_build *build, enum kp_section section,
	const unsigned char *record, size_t size)
{
	uint32_t offset = 0;
	if (!kp_intern_add(&build->sections[section], record, size, &offset))
		build->failed = true;
	return (uint32_t)(offset / size);
}

uint32_t kp_build_list(struct kp_build *build, const uint32_t *words, size_t count)
{
	size_t size = 4 * (count + 1);
	unsigned char *list = malloc(size);
	uint32_t offset = 0;

	if (!list) {
		build->failed = true;
		return 0;
	}
	kp_store32(list, (uint32_t)count);
	for (size_t i = 0; i < count; i++)
		kp_store32(list + 4 * (i + 1), words[i]);
	if (!kp_intern_add(&build->sections[KP_SECTION_WORDS], list, size, &offset))
		build->failed = true;
	free(list);
	return offset / 4;
}

uint32_t kp_build_scalar(struct kp_build *build, const struct kp_scalar *scalar)
{
	unsigned char record[KP_SCALAR_RECORD] = {0};

	if (scalar->kind == KP_SCALAR_TEXT)
		kp_store32(
			record + KP_SCALAR_STRING, kp_build_symbol(build, scalar->text));
	else
		kp_store_double(record + KP_SCALAR_VALUE, scalar->number);
	record[KP_SCALAR_KIND] = (unsigned char)scalar->kind;
	return kp_build_shared(build, KP_SECTION_SCALARS, record, sizeof(record));
}

/* A link. */
static uint32_t add_reason(struct kp_build *build, const struct kp_reason *reason)
{
	unsigned char record[KP_REASON_RECORD];

	if (!reason->code || !reason->code[0])
		return 0;
	kp_store32(record + KP_REASON_CODE, kp_build_text(build, reason->code));
	kp_store32(record + KP_REASON_MESSAGE, kp_build_text(build, reason->message));
	kp_store32(record + KP_REASON_SOURCE, kp_build_text(build, reason->source));
	return kp_build_shared(build, KP_SECTION_REASONS, record, sizeof(record)) + 1;
}

enum list_order { AS_GIVEN, AS_SET };

/* A list of texts, each once. A set is sorted, so that equal sets are one list. */
static uint32_t add_texts(
	struct kp_build *build, const struct kp_strings *strings, enum list_order order)
{
	const char **items = calloc(strings->count + 1, sizeof(*items));
	uint32_t *words = calloc(strings->count + 1, sizeof(*words));
	size_t count = 0;
	uint32_t list = 0;

	if (items && words) {
		if (strings->count > 0)
			memcpy(items, strings->items, strings->count * sizeof(*items));
		if (order == AS_SET)
			qsort(items, strings->count, sizeof(*items), kp_text_compare);
		for (size_t i = 0; i < strings->count; i++) {
			uint32_t word = kp_build_symbol(build, items[i]);
			bool again = false;
			for (size_t j = 0; j < count && !again; j++)
				again = words[j] == word;
			if (!again)
				words[count++] = word;
		}
		list = kp_build_list(build, words, count);
	} else {
		build->failed = true;
	}
	free(items);
	free(words);
	return list;
}

static void store_arch(unsigned char *at, const struct kp_arch *arch)
{
	kp_store32(at, arch->known ? (uint32_t)arch->major : 0);
	kp_store32(at + 4, arch->known ? (uint32_t)arch->minor : 0);
}

static uint32_t add_capability(
	struct kp_build *build, const struct kp_capability *capability)
{
	unsigned char record[KP_CAPABILITY_RECORD] = {0};

	kp_store32(record + KP_CAPABILITY_VENDORS,
		add_texts(build, &capability->vendors, AS_SET));
	kp_store32(record + KP_CAPABILITY_FEATURES,
		add_texts(build, &capability->features, AS_SET));
	store_arch(record + KP_CAPABILITY_MIN, &capability->min_arch);
	store_arch(record + KP_CAPABILITY_MAX, &capability->max_arch);
	record[KP_CAPABILITY_DEVICE] = (unsigned char)capability->device;
	record[KP_CAPABILITY_BOUNDS] =
		(unsigned char)((capability->min_arch.known ? KP_BOUND_MIN : 0) |
				(capability->max_arch.known ? KP_BOUND_MAX : 0));
	return kp_build_shared(build, KP_SECTION_CAPABILITIES, record, sizeof(record));
}

static uint32_t add_profile(struct kp_build *build, const struct kp_spec *spec)
{
	unsigned char record[KP_PROFILE_RECORD];

	kp_store32(record + KP_PROFILE_SOLUTION, kp_build_symbol(build, spec->solution));
	kp_store32(
		record + KP_PROFILE_CAPABILITY, add_capability(build, &spec->capability));
	kp_store32(record + KP_PROFILE_TAGS, add_texts(build, &spec->tags, AS_SET));
	kp_store32(
		record + KP_PROFILE_FEATURES, add_texts(build, &spec->features, AS_SET));
	kp_store32(record + KP_PROFILE_NEEDS, add_texts(build, &spec->needs, AS_SET));
	kp_store32(record + KP_PROFILE_LAYOUTS, add_texts(build, &spec->layouts, AS_SET));
	kp_store32(record + KP_PROFILE_REVISION, spec->revision);
	kp_store32(record + KP_PROFILE_FLAGS, spec->flags);
	return kp_build_shared(build, KP_SECTION_PROFILES, record, sizeof(record));
}

static uint32_t add_trait(struct kp_build *build, const struct kp_trait *trait)
{
	unsigned char record[KP_TRAIT_RECORD] = {0};
	uint32_t *in = calloc(trait->n_in + 1, sizeof(*in));

	if (!in) {
		build->failed = true;
		return 0;
	}
	for (size_t i = 0; i < trait->n_in; i++)
		in[i] = kp_build_scalar(build, &trait->in[i]);
	kp_store_double(record + KP_TRAIT_MIN, trait->has_min ? trait->min : 0);
	kp_store_double(record + KP_TRAIT_MAX, trait->has_max ? trait->max : 0);
	kp_store_double(
		record + KP_TRAIT_MULTIPLE, trait->has_multiple ? trait->multiple_of : 0);
	kp_store32(record + KP_TRAIT_NAME, kp_build_symbol(build, trait->name));
	kp_store32(record + KP_TRAIT_IN, kp_build_list(build, in, trait->n_in));
	record[KP_TRAIT_BITS] =
		(unsigned char)((trait->has_min ? KP_TRAIT_HAS_MIN : 0) |
				(trait->has_max ? KP_TRAIT_HAS_MAX : 0) |
				(trait->has_multiple ? KP_TRAIT_HAS_MULTIPLE : 0) |
				(trait->required ? KP_TRAIT_REQUIRED : 0));
	free(in);
	return kp_build_shared(build, KP_SECTION_TRAITS, record, sizeof(record));
}

static int compare_traits(const void *a, const void *b)
{
	const struct kp_trait *const *x = a;
	const struct kp_trait *const *y = b;
	return strcmp((*x)->name, (*y)->name);
}

static uint32_t add_traits(struct kp_build *build, const struct kp_spec *spec)
{
	const struct kp_trait **sorted = calloc(spec->n_traits + 1, sizeof(const void *));
	uint32_t *words = calloc(spec->n_traits + 1, sizeof(*words));
	uint32_t list = 0;

	if (sorted && words) {
		for (size_t i = 0; i < spec->n_traits; i++)
			sorted[i] = &spec->traits[i];
		qsort(sorted, spec->n_traits, sizeof(const void *), compare_traits);
		for (size_t i = 0; i < spec->n_traits; i++)
			words[i] = add_trait(build, sorted[i]);
		list = kp_build_list(build, words, spec->n_traits);
	} else {
		build->failed = true;
	}
	free(sorted);
	free(words);
	return list;
}

/* The objectives that a tag serves. */
static unsigned char objectives(const struct kp_strings *tags)
{
	static const struct {
		const char *tag;
		unsigned bits;
	} served[] = {
		{"latency", 1u << KP_OBJECTIVE_LATENCY},
		{"throughput", 1u << KP_OBJECTIVE_THROUGHPUT},
		{"portability", 1u << KP_OBJECTIVE_PORTABILITY},
		{"determinism",
			1u << KP_OBJECTIVE_DETERMINISM | 1u << KP_OBJECTIVE_DEBUG},
	};
	unsigned bits = 0;

	for (size_t i = 0; i < tags->count; i++)
		for (size_t t = 0; t < sizeof(served) / sizeof(served[0]); t++)
			if (strcmp(tags->items[i], served[t].tag) == 0)
				bits |= served[t].bits;
	return (unsigned char)bits;
}

void kp_build_kernel(struct kp_build *build, const struct kp_spec *spec,
	const struct kp_kernel_facts *facts)
{
	unsigned char record[KP_KERNEL_RECORD];

	kp_store32(record + KP_KERNEL_NAME, kp_build_text(build, spec->name));
	kp_store32(record + KP_KERNEL_PLUGIN, (uint32_t)facts->plugin);
	/* Until kp_build_index the text of the operation. */
	kp_store32(record + KP_KERNEL_OPERATION, kp_build_text(build, spec->operation));
	kp_store32(record + KP_KERNEL_PROFILE, add_profile(build, spec));
	kp_store32(record + KP_KERNEL_SIGNATURES,
		add_texts(build, &spec->signatures, AS_GIVEN));
	kp_store32(record + KP_KERNEL_TRAITS, add_traits(build, spec));
	kp_store32(
		record + KP_KERNEL_UNAVAILABLE, add_reason(build, &facts->unavailable));
	kp_store32(record + KP_KERNEL_OFF, add_reason(build, &facts->off));
	record[KP_KERNEL_PRIORITY] = (unsigned char)spec->priority;
	record[KP_KERNEL_POLICY] = (unsigned char)facts->policy;
	record[KP_KERNEL_STATE] = (unsigned char)facts->state;
	record[KP_KERNEL_OBJECTIVES] = objectives(&spec->tags);
	kp_build_record(build, KP_SECTION_KERNELS, record, sizeof(record));
}

void kp_build_plugin(struct kp_build *build, const struct kp_plugin_facts *facts)
{
	unsigned char record[KP_PLUGIN_RECORD] = {0};

	kp_store32(record + KP_PLUGIN_NAME, kp_build_text(build, facts->name));
	kp_store32(record + KP_PLUGIN_PACKAGE, kp_build_text(build, facts->package));
	kp_store32(record + KP_PLUGIN_VERSION, kp_build_text(build, facts->version));
	kp_store32(record + KP_PLUGIN_STORED, kp_build_text(build, facts->stored));
	kp_store32(record + KP_PLUGIN_DIGEST, kp_build_text(build, facts->digest));
	kp_store32(record + KP_PLUGIN_CLOSURE, kp_build_text(build, facts->closure));
	kp_store32(record + KP_PLUGIN_CONFIG, kp_build_text(build, facts->config));
	kp_store32(record + KP_PLUGIN_REASON, add_reason(build, &facts->reason));
	kp_store32(record + KP_PLUGIN_FOUND, add_reason(build, &facts->found));
	kp_store32(record + KP_PLUGIN_MACHINE, kp_build_symbol(build, facts->machine));
	record[KP_PLUGIN_STATE] = (unsigned char)facts->state;
	record[KP_PLUGIN_VERDICT] = (unsigned char)facts->verdict;
	kp_build_record(build, KP_SECTION_PLUGINS, record, sizeof(record));
}

static uint32_t add_device_features(
	struct kp_build *build, const struct kp_device_facts *device)
{
	const char *items[KP_DEVICE_FEATURES];
	for (size_t i = 0; i < device->n_features; i++)
		items[i] = device->features[i];
	return add_texts(build, &(struct kp_strings){device->n_features, items}, AS_SET);
}

void kp_build_platform(struct kp_build *build, const struct kp_platform *platform)
{
	for (size_t i = 0; i < platform->n_devices && i < KP_TABLE_DEVICES; i++) {
		const struct kp_device_facts *device = &platform->devices[i];
		unsigned char record[KP_DEVICE_RECORD] = {0};
		kp_store32(record + KP_DEVICE_ID, kp_build_text(build, device->id));
		kp_store32(record + KP_DEVICE_VENDOR,
			kp_build_symbol(build, device->vendor));
		kp_store32(record + KP_DEVICE_NAME, kp_build_text(build, device->name));
		kp_store32(record + KP_DEVICE_FEATURE_LIST,
			add_device_features(build, device));
		store_arch(record + KP_DEVICE_ARCH, &device->arch);
		record[KP_DEVICE_KIND] = (unsigned char)device->kind;
		record[KP_DEVICE_ARCH_KNOWN] = device->arch.known;
		kp_build_record(build, KP_SECTION_DEVICES, record, sizeof(record));
	}
}

void kp_build_pin(struct kp_build *build, const struct kp_pin *pin)
{
	unsigned char record[KP_PIN_RECORD] = {0};

	kp_store32(record + KP_PIN_OPERATION, kp_build_text(build, pin->operation));
	kp_store32(record + KP_PIN_CHOICE, kp_build_text(build, pin->choice));
	kp_store32(record + KP_PIN_BITS, pin->force ? KP_PIN_FORCE : 0);
	kp_build_record(build, KP_SECTION_PINS, record, sizeof(record));
}

void kp_build_guard(struct kp_build *build, const char *operation, uint32_t every)
{
	unsigned char record[KP_GUARD_RECORD] = {0};

	kp_store32(record + KP_GUARD_OPERATION, kp_build_text(build, operation));
	kp_store32(record + KP_GUARD_EVERY, every);
	kp_build_record(build, KP_SECTION_GUARDS, record, sizeof(record));
}
