/* SPDX-License-Identifier: MIT */
/* Walks the chained records of versions, which have one layout in all classes. */
#include "daemon/worker/elf_versions.h"

#include <string.h>

enum { VERSIONS_MOST = 4096 };

/* The versions that are needed of one library. */
static void walk_library(const struct elf_image *image, uint64_t at, unsigned count,
	const char *library,
	void (*take)(void *context, const struct elf_version *version), void *context)
{
	for (unsigned i = 0; i < count && i < VERSIONS_MOST; i++) {
		const GElf_Vernaux *item =
			elf_image_read(image, at, sizeof(*item), ELF_T_BYTE);
		const char *name = item ? elf_image_string(image, item->vna_name) : NULL;
		if (name)
			take(context,
				&(struct elf_version){library, name, item->vna_other,
					(item->vna_flags & VER_FLG_WEAK) != 0});
		if (!item || item->vna_next == 0)
			break;
		at += item->vna_next;
	}
}

void elf_versions_needed(const struct elf_image *image,
	void (*take)(void *context, const struct elf_version *version), void *context)
{
	uint64_t at =
		elf_image_offset(image, elf_image_dynamic(image, DT_VERNEED, UINT64_MAX));
	uint64_t count = elf_image_dynamic(image, DT_VERNEEDNUM, 0);
	for (uint64_t i = 0; i < count && i < VERSIONS_MOST; i++) {
		const GElf_Verneed *need =
			elf_image_read(image, at, sizeof(*need), ELF_T_BYTE);
		const char *library =
			need ? elf_image_string(image, need->vn_file) : NULL;
		if (library)
			walk_library(image, at + need->vn_aux, need->vn_cnt, library,
				take, context);
		if (!need || need->vn_next == 0)
			break;
		at += need->vn_next;
	}
}

/* The name of the next record of what it has; *at is 0 behind the last. */
static const char *next_defined(const struct elf_image *image, uint64_t *at)
{
	const GElf_Verdef *record =
		elf_image_read(image, *at, sizeof(*record), ELF_T_BYTE);
	if (!record) {
		*at = 0;
		return NULL;
	}
	const GElf_Verdaux *name =
		elf_image_read(image, *at + record->vd_aux, sizeof(*name), ELF_T_BYTE);
	*at = record->vd_next ? *at + record->vd_next : 0;
	return name ? elf_image_string(image, name->vda_name) : NULL;
}

static uint64_t first_defined(const struct elf_image *image)
{
	uint64_t at =
		elf_image_offset(image, elf_image_dynamic(image, DT_VERDEF, UINT64_MAX));
	return at == UINT64_MAX ? 0 : at;
}

bool elf_versions_any(const struct elf_image *image)
{
	return first_defined(image) != 0;
}

bool elf_versions_has(const struct elf_image *image, const char *name)
{
	uint64_t at = first_defined(image);
	for (int i = 0; at != 0 && i < VERSIONS_MOST; i++) {
		const char *known = next_defined(image, &at);
		if (known && strcmp(known, name) == 0)
			return true;
	}
	return false;
}

const char *elf_versions_highest(const struct elf_image *image, const char *like)
{
	size_t letters = strcspn(like, "0123456789");
	uint64_t at = first_defined(image);
	const char *highest = NULL;
	for (int i = 0; at != 0 && i < VERSIONS_MOST; i++) {
		const char *known = next_defined(image, &at);
		if (known && strncmp(known, like, letters) == 0 &&
			strchr("0123456789", known[letters]) &&
			(!highest || strverscmp(highest, known) < 0))
			highest = known;
	}
	return highest;
}
