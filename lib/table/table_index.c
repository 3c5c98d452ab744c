/* SPDX-License-Identifier: MIT */
/*
 * The last step of building a table: operations, the index by operation and
 * signature, and the final bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/table/table_build.h"

/* A signature of a kernel, and the kernel's place in the order of rank. */
struct entry {
	uint32_t operation, text, rank, kernel;
};

static unsigned char *record_at(
	struct kp_build *build, enum kp_section section, size_t i, size_t size)
{
	return build->sections[section].bytes + i * size;
}

static const char *text_at(const struct kp_build *build, uint32_t offset)
{
	return (const char *)build->sections[KP_SECTION_STRINGS].bytes + offset;
}

static size_t kernel_count(const struct kp_build *build)
{
	return build->sections[KP_SECTION_KERNELS].size / KP_KERNEL_RECORD;
}

static unsigned char *kernel_at(struct kp_build *build, size_t i)
{
	return record_at(build, KP_SECTION_KERNELS, i, KP_KERNEL_RECORD);
}

/* The operation of family f, or NULL behind the last. */
static const char *family_operation(struct kp_build *build, size_t f)
{
	if (f >= build->sections[KP_SECTION_FAMILIES].size / KP_FAMILY_RECORD)
		return NULL;
	return text_at(build,
		kp_load32(record_at(build, KP_SECTION_FAMILIES, f, KP_FAMILY_RECORD) +
			  KP_FAMILY_OPERATION));
}

static const char *kernel_operation(struct kp_build *build, size_t k)
{
	if (k >= kernel_count(build))
		return NULL;
	return text_at(build, kp_load32(kernel_at(build, k) + KP_KERNEL_OPERATION));
}

/* Merges the operations of families and kernels, both in byte order. */
static void add_operations(struct kp_build *build)
{
	size_t f = 0;
	size_t k = 0;

	for (uint32_t index = 0; !build->failed; index++) {
		const char *of_family = family_operation(build, f);
		const char *of_kernel = kernel_operation(build, k);
		if (!of_family && !of_kernel)
			return;
		int order = !of_family	 ? 1
			    : !of_kernel ? -1
					 : strcmp(of_family, of_kernel);
		const char *name = order <= 0 ? of_family : of_kernel;
		unsigned char record[KP_OPERATION_RECORD] = {0};
		size_t first = k;

		kp_store32(record + KP_OPERATION_NAME, kp_build_text(build, name));
		if (order <= 0)
			kp_store32(record + KP_OPERATION_FAMILY, (uint32_t)++f);
		uint32_t text = kp_load32(record + KP_OPERATION_NAME);
		while (k < kernel_count(build) &&
			kp_load32(kernel_at(build, k) + KP_KERNEL_OPERATION) == text)
			kp_store32(kernel_at(build, k++) + KP_KERNEL_OPERATION, index);
		kp_store32(record + KP_OPERATION_KERNELS, (uint32_t)first);
		kp_store32(record + KP_OPERATION_KERNELS + 4, (uint32_t)(k - first));
		kp_build_record(build, KP_SECTION_OPERATIONS, record, sizeof(record));
	}
}

/* Policy, then priority descending; kernels are in byte order of their names already. */
static int compare_ranks(const void *a, const void *b, void *context)
{
	struct kp_build *build = context;
	uint32_t i = *(const uint32_t *)a;
	uint32_t j = *(const uint32_t *)b;
	const unsigned char *x = kernel_at(build, i);
	const unsigned char *y = kernel_at(build, j);

	if (x[KP_KERNEL_POLICY] != y[KP_KERNEL_POLICY])
		return x[KP_KERNEL_POLICY] < y[KP_KERNEL_POLICY] ? 1 : -1;
	if (x[KP_KERNEL_PRIORITY] != y[KP_KERNEL_PRIORITY])
		return x[KP_KERNEL_PRIORITY] < y[KP_KERNEL_PRIORITY] ? 1 : -1;
	return i < j ? -1 : i > j;
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a;
	const struct entry *y = b;

	if (x->operation != y->operation)
		return x->operation < y->operation ? -1 : 1;
	if (x->text != y->text)
		return x->text < y->text ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static const unsigned char *signatures_of(struct kp_build *build, size_t kernel)
{
	uint32_t list = kp_load32(kernel_at(build, kernel) + KP_KERNEL_SIGNATURES);
	return build->sections[KP_SECTION_WORDS].bytes + 4 * (size_t)list;
}

/* Every signature of every kernel, in order; NULL when memory is exhausted. */
static struct entry *collect(struct kp_build *build, size_t *n)
{
	size_t kernels = kernel_count(build);
	size_t total = 0;
	for (size_t i = 0; i < kernels; i++)
		total += kp_load32(signatures_of(build, i));
	uint32_t *order = calloc(kernels + 1, sizeof(*order));
	struct entry *entries = calloc(total + 1, sizeof(*entries));
	if (!order || !entries) {
		free(order);
		free(entries);
		return NULL;
	}
	for (size_t i = 0; i < kernels; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, kernels, sizeof(*order), compare_ranks, build);
	size_t count = 0;
	for (size_t rank = 0; rank < kernels; rank++) {
		const unsigned char *list = signatures_of(build, order[rank]);
		uint32_t operation =
			kp_load32(kernel_at(build, order[rank]) + KP_KERNEL_OPERATION);
		for (size_t s = 0; s < kp_load32(list); s++)
			entries[count++] =
				(struct entry){operation, kp_load32(list + 4 * (s + 1)),
					(uint32_t)rank, order[rank]};
	}
	free(order);
	qsort(entries, count, sizeof(*entries), compare_entries);
	*n = count;
	return entries;
}

/* All that decides whether a kernel fits a request: see kp_predicate_passes. */
static void write_fit(struct kp_build *build, size_t kernel, unsigned char piece[12])
{
	const unsigned char *record = kernel_at(build, kernel);
	const unsigned char *plugin = record_at(build, KP_SECTION_PLUGINS,
		kp_load32(record + KP_KERNEL_PLUGIN), KP_PLUGIN_RECORD);

	memcpy(piece, record + KP_KERNEL_PROFILE, 4);
	memcpy(piece + 4, record + KP_KERNEL_TRAITS, 4);
	memcpy(piece + 8, plugin + KP_PLUGIN_MACHINE, 4);
}

/* For each kernel the first one that fits like it; NULL when memory is exhausted. */
static uint32_t *find_fits(struct kp_build *build)
{
	size_t count = kernel_count(build);
	uint32_t *fits = calloc(count + 1, sizeof(*fits));
	uint32_t *firsts = calloc(count + 1, sizeof(*firsts));
	struct kp_intern pieces = {0};
	bool failed = !fits || !firsts;
	size_t distinct = 0;

	for (size_t i = 0; i < count && !failed; i++) {
		unsigned char piece[12];
		uint32_t offset;
		write_fit(build, i, piece);
		failed = !kp_intern_add(&pieces, piece, sizeof(piece), &offset);
		if (failed)
			break;
		if (offset / sizeof(piece) == distinct)
			firsts[distinct++] = (uint32_t)i;
		fits[i] = firsts[offset / sizeof(piece)];
	}
	kp_intern_finish(&pieces);
	free(firsts);
	if (!failed)
		return fits;
	free(fits);
	return NULL;
}

/* One signature: the entries [first, end) have the same operation and text. */
static void add_signature(struct kp_build *build, const struct entry *entries,
	size_t first, size_t end, const uint32_t *fits)
{
	unsigned char record[KP_SIGNATURE_RECORD];
	uint32_t *kernels = calloc(end - first, sizeof(*kernels));

	if (!kernels) {
		build->failed = true;
		return;
	}
	for (size_t i = first; i < end; i++)
		kernels[i - first] = fits[entries[i].kernel];
	kp_store32(
		record + KP_SIGNATURE_FITS, kp_build_list(build, kernels, end - first));
	for (size_t i = first; i < end; i++)
		kernels[i - first] = entries[i].kernel;
	kp_store32(record + KP_SIGNATURE_OPERATION, entries[first].operation);
	kp_store32(record + KP_SIGNATURE_TEXT, entries[first].text);
	kp_store32(record + KP_SIGNATURE_KERNELS,
		kp_build_list(build, kernels, end - first));
	kp_build_record(build, KP_SECTION_SIGNATURES, record, sizeof(record));
	free(kernels);
}

static void add_signatures(struct kp_build *build)
{
	size_t count = 0;
	struct entry *entries = collect(build, &count);
	uint32_t *fits = find_fits(build);

	build->failed |= !entries || !fits;
	if (build->failed)
		count = 0;
	for (size_t first = 0, end; first < count; first = end) {
		end = first + 1;
		while (end < count &&
			entries[end].operation == entries[first].operation &&
			entries[end].text == entries[first].text)
			end++;
		add_signature(build, entries, first, end, fits);
	}
	free(fits);
	free(entries);
}

/* Open addressing, at most half full: a search always meets a free slot. */
static void add_slots(struct kp_build *build)
{
	size_t count = build->sections[KP_SECTION_SIGNATURES].size / KP_SIGNATURE_RECORD;
	size_t slots = 2;
	while (slots < 2 * count)
		slots *= 2;
	static const unsigned char empty[KP_SLOT_RECORD];
	for (size_t i = 0; i < slots; i++)
		kp_build_record(build, KP_SECTION_SLOTS, empty, sizeof(empty));
	for (size_t s = 0; s < count && !build->failed; s++) {
		const unsigned char *signature =
			record_at(build, KP_SECTION_SIGNATURES, s, KP_SIGNATURE_RECORD);
		const unsigned char *operation = record_at(build, KP_SECTION_OPERATIONS,
			kp_load32(signature + KP_SIGNATURE_OPERATION),
			KP_OPERATION_RECORD);
		size_t at = kp_hash_signature(
			text_at(build, kp_load32(operation + KP_OPERATION_NAME)),
			text_at(build, kp_load32(signature + KP_SIGNATURE_TEXT)));
		unsigned char *slot;
		do
			slot = record_at(build, KP_SECTION_SLOTS, at++ & (slots - 1),
				KP_SLOT_RECORD);
		while (kp_load32(slot));
		kp_store32(slot, (uint32_t)s + 1);
	}
}

static void add_plugin_lists(struct kp_build *build)
{
	size_t plugins = build->sections[KP_SECTION_PLUGINS].size / KP_PLUGIN_RECORD;
	size_t kernels = kernel_count(build);
	uint32_t *end = calloc(plugins + 1, sizeof(*end));
	uint32_t *words = calloc(kernels + 1, sizeof(*words));

	if (!end || !words) {
		build->failed = true;
		goto done;
	}
	for (size_t i = 0; i < kernels; i++)
		end[kp_load32(kernel_at(build, i) + KP_KERNEL_PLUGIN)]++;
	for (size_t p = 1; p < plugins; p++)
		end[p] += end[p - 1];
	/* Backwards, so that each list ascends and end[p] becomes its start. */
	for (size_t i = kernels; i-- > 0;)
		words[--end[kp_load32(kernel_at(build, i) + KP_KERNEL_PLUGIN)]] =
			(uint32_t)i;
	for (size_t p = 0; p < plugins; p++) {
		size_t stop = p + 1 < plugins ? end[p + 1] : kernels;
		kp_store32(record_at(build, KP_SECTION_PLUGINS, p, KP_PLUGIN_RECORD) +
				   KP_PLUGIN_KERNEL_LIST,
			kp_build_list(build, words + end[p], stop - end[p]));
	}
done:
	free(end);
	free(words);
}

static int compare_symbols(const void *a, const void *b, void *context)
{
	return strcmp(text_at(context, kp_load32(a)), text_at(context, kp_load32(b)));
}

void kp_build_index(struct kp_build *build)
{
	struct kp_intern *symbols = &build->sections[KP_SECTION_SYMBOLS];

	add_operations(build);
	if (!build->failed)
		add_signatures(build);
	if (!build->failed)
		add_slots(build);
	if (!build->failed)
		add_plugin_lists(build);
	if (!build->failed && symbols->size > 0)
		qsort_r(symbols->bytes, symbols->size / KP_SYMBOL_RECORD,
			KP_SYMBOL_RECORD, compare_symbols, build);
}
