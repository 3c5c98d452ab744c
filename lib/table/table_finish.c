/* SPDX-License-Identifier: MIT */
/* Puts the sections of a build together: header, directory, checksum. */
#include <stdlib.h>
#include <string.h>

#include "lib/table/table_build.h"

/* Sections start at multiples of 8. */
static size_t padded(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

static void write_header(unsigned char *bytes, uint64_t generation, size_t size)
{
	static const unsigned char magic[8] = {'K', 'P', 'L', 'U', 'G', 'T', 'B', '1'};

	memcpy(bytes, magic, sizeof(magic));
	kp_store32(bytes + KP_HEADER_MAJOR, KP_TABLE_MAJOR | KP_TABLE_MINOR << 16);
	kp_store32(bytes + KP_HEADER_SECTIONS, KP_SECTIONS);
	kp_store64(bytes + KP_HEADER_GENERATION, generation);
	kp_store64(bytes + KP_HEADER_SIZE, size);
}

static void write_sections(const struct kp_build *build, unsigned char *bytes)
{
	size_t at = KP_TABLE_HEADER + KP_TABLE_DIRECTORY * (size_t)KP_SECTIONS;

	for (unsigned s = 0; s < KP_SECTIONS; s++) {
		const struct kp_intern *section = &build->sections[s];
		unsigned char *directory =
			bytes + KP_TABLE_HEADER + KP_TABLE_DIRECTORY * (size_t)s;
		kp_store32(directory, (uint32_t)at);
		kp_store32(directory + 4, (uint32_t)(section->size / kp_record_sizes[s]));
		kp_store32(directory + 8, kp_record_sizes[s]);
		if (section->size > 0)
			memcpy(bytes + at, section->bytes, section->size);
		at += padded(section->size);
	}
}

/* Without memory, or with more than a section holds. */
static int say_why_failed(const struct kp_build *build, struct kp_diag *diag)
{
	for (unsigned s = 0; s < KP_SECTIONS; s++)
		if (build->sections[s].is_full)
			return kp_diag_set(diag, "table_too_large", NULL,
				"a section of the table would have more than %d bytes",
				KP_INTERN_MOST);
	return kp_diag_no_memory(diag);
}

static int write_table(const struct kp_build *build, uint64_t generation, void **bytes,
	size_t *size, struct kp_diag *diag)
{
	size_t total = KP_TABLE_HEADER + KP_TABLE_DIRECTORY * (size_t)KP_SECTIONS;

	for (unsigned s = 0; s < KP_SECTIONS; s++)
		total += padded(build->sections[s].size);
	if (total > KP_TABLE_MOST)
		return kp_diag_set(diag, "table_too_large", NULL,
			"the table would have %zu bytes, at most %d are possible", total,
			KP_TABLE_MOST);
	unsigned char *table = calloc(1, total);
	if (!table)
		return kp_diag_no_memory(diag);
	write_header(table, generation, total);
	write_sections(build, table);
	kp_store64(table + KP_HEADER_CHECKSUM, kp_table_checksum(table, total));
	*bytes = table;
	*size = total;
	return 0;
}

void kp_build_free(struct kp_build *build)
{
	for (unsigned s = 0; s < KP_SECTIONS; s++)
		kp_intern_finish(&build->sections[s]);
	build->failed = false;
}

int kp_build_finish(struct kp_build *build, uint64_t generation, void **bytes,
	size_t *size, struct kp_diag *diag)
{
	struct kp_intern *strings = &build->sections[KP_SECTION_STRINGS];
	uint32_t offset;
	int result = -1;

	if (strings->size == 0 && !kp_intern_append(strings, "", 1, &offset))
		build->failed = true;
	if (!build->failed)
		kp_build_index(build);
	if (build->failed)
		say_why_failed(build, diag);
	else
		result = write_table(build, generation, bytes, size, diag);
	kp_build_free(build);
	return result;
}
