/* SPDX-License-Identifier: MIT */
/* Checks entries of the dynamic section, and the names that it leads to. */
#include "daemon/worker/elf_trusted.h"

#include <stdbool.h>
#include <stdio.h>

#include "daemon/worker/elf_table.h"
#include "lib/base/owned.h"

enum { VERSIONS_MOST = 4096 };

static const uint64_t none = UINT64_MAX;

static bool has(const struct elf_image *image, int64_t tag)
{
	return elf_image_dynamic(image, tag, none) != none;
}

/* ---- entries --------------------------------------------------------------------- */

/* The loader takes the last of several, others the first. */
static int check_single(const struct elf_image *image, struct kp_diag *diag)
{
	char text[96];

	for (size_t i = 0; i < image->n_dynamic; i++) {
		int64_t tag = image->dynamic[i].d_tag;
		if (tag == DT_NEEDED || tag == DT_AUXILIARY || tag == DT_FILTER)
			continue;
		for (size_t k = 0; k < i; k++) {
			if (image->dynamic[k].d_tag != tag)
				continue;
			(void)snprintf(text, sizeof(text),
				"its dynamic section has two entries of kind 0x%llx",
				(unsigned long long)tag);
			return elf_damaged(image, text, diag);
		}
	}
	return 0;
}

static const struct {
	int64_t tag, other;
	const char *what;
} companions[] = {
	{DT_RELA, DT_RELASZ, "its relocations have no length"},
	{DT_RELASZ, DT_RELA, "its relocations are not there"},
	{DT_RELA, DT_RELAENT, "its relocations have no size"},
	{DT_REL, DT_RELSZ, "its relocations have no length"},
	{DT_RELSZ, DT_REL, "its relocations are not there"},
	{DT_REL, DT_RELENT, "its relocations have no size"},
	{DT_JMPREL, DT_PLTREL, "its function relocations are of no kind"},
	{DT_JMPREL, DT_PLTRELSZ, "its function relocations have no length"},
	{DT_PLTRELSZ, DT_JMPREL, "its function relocations are not there"},
	{DT_VERNEED, DT_VERSYM, "its symbols have no versions, which it needs"},
	{DT_VERDEF, DT_VERSYM, "its symbols have no versions, which it has"},
	{DT_INIT_ARRAYSZ, DT_INIT_ARRAY, "its constructors are not there"},
	{DT_FINI_ARRAYSZ, DT_FINI_ARRAY, "its destructors are not there"},
};

static int check_companions(const struct elf_image *image, struct kp_diag *diag)
{
	for (size_t i = 0; i < KP_COUNT(companions); i++)
		if (has(image, companions[i].tag) && !has(image, companions[i].other))
			return elf_damaged(image, companions[i].what, diag);
	if (!has(image, DT_SYMTAB))
		return elf_damaged(image, "it has no symbol table", diag);
	if (has(image, DT_VERSYM) && !has(image, DT_VERNEED) && !has(image, DT_VERDEF))
		return elf_damaged(image, "its symbols' versions are not there", diag);
	uint64_t kind = elf_image_dynamic(image, DT_PLTREL, DT_RELA);
	if (kind != DT_RELA && kind != DT_REL)
		return elf_damaged(
			image, "its function relocations are of an unknown kind", diag);
	return 0;
}

static int check_strings(const struct elf_image *image, struct kp_diag *diag)
{
	for (size_t i = 0; i < image->n_dynamic; i++) {
		const GElf_Dyn *entry = &image->dynamic[i];
		bool is_string = entry->d_tag == DT_NEEDED || entry->d_tag == DT_SONAME ||
				 entry->d_tag == DT_RPATH || entry->d_tag == DT_RUNPATH;
		if (is_string && !elf_image_string(image, entry->d_un.d_val))
			return elf_damaged(image,
				"a name of its dynamic section lies outside of the "
				"string table",
				diag);
	}
	return 0;
}

/* What is called by its address. */
static int check_code(const struct elf_image *image, struct kp_diag *diag)
{
	static const int64_t functions[] = {DT_INIT, DT_FINI};

	for (size_t i = 0; i < KP_COUNT(functions); i++) {
		uint64_t at = elf_image_dynamic(image, functions[i], none);
		const GElf_Phdr *segment = elf_image_loaded(image, at);
		if (at != none && (!segment || !(segment->p_flags & PF_X)))
			return elf_damaged(image,
				"what it runs when it is loaded or unloaded is no code",
				diag);
	}
	return 0;
}

int elf_trusted_entries(const struct elf_image *image, struct kp_diag *diag)
{
	return check_single(image, diag) < 0 || check_companions(image, diag) < 0 ||
			       check_strings(image, diag) < 0 ||
			       check_code(image, diag) < 0
		       ? -1
		       : 0;
}

/* ---- names ----------------------------------------------------------------------- */

static int check_symbols(const struct elf_image *image, struct kp_diag *diag)
{
	struct elf_table table;
	GElf_Sym symbol;
	const char *name;

	if (elf_table_open(image, &table, diag) < 0)
		return -1;
	for (uint64_t i = 1; i < table.count; i++) {
		if (!elf_table_symbol(&table, i, &symbol, &name))
			return elf_damaged(image,
				"the name of a symbol lies outside of the string table",
				diag);
		if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= SHN_LORESERVE ||
			GELF_ST_TYPE(symbol.st_info) == STT_TLS)
			continue;
		/* Linkers' marks may stand at the very end. */
		if (!elf_image_loaded(image, symbol.st_value) &&
			!elf_image_loaded(image, symbol.st_value - 1))
			return elf_damaged(image, "a symbol lies outside of it", diag);
	}
	return 0;
}

static int bad_versions(const struct elf_image *image, struct kp_diag *diag)
{
	return elf_damaged(image, "its table of versions needed is damaged", diag);
}

/* left: how many more records are looked at, of all libraries together. */
static int check_needed(const struct elf_image *image, uint64_t at,
	const GElf_Verneed *need, unsigned *left, struct kp_diag *diag)
{
	at += need->vn_aux;
	for (unsigned i = 0; i < need->vn_cnt; i++) {
		const GElf_Vernaux *item =
			elf_image_read(image, at, sizeof(*item), ELF_T_BYTE);
		if (!item || (*left)-- == 0 || !elf_image_string(image, item->vna_name) ||
			(item->vna_next == 0 && i + 1 < need->vn_cnt))
			return bad_versions(image, diag);
		at += item->vna_next;
	}
	return 0;
}

/* The loader follows the chain, whatever is said of its length. */
static int check_versions(const struct elf_image *image, struct kp_diag *diag)
{
	uint64_t at = elf_image_dynamic(image, DT_VERNEED, none);
	unsigned left = VERSIONS_MOST;

	if (at == none)
		return 0;
	at = elf_image_offset(image, at);
	while (left-- > 0) {
		const GElf_Verneed *need =
			elf_image_read(image, at, sizeof(*need), ELF_T_BYTE);
		if (!need || need->vn_version != VER_NEED_CURRENT ||
			!elf_image_string(image, need->vn_file) ||
			check_needed(image, at, need, &left, diag) < 0)
			return bad_versions(image, diag);
		if (need->vn_next == 0)
			return 0;
		at += need->vn_next;
	}
	return bad_versions(image, diag);
}

int elf_trusted_names(const struct elf_image *image, struct kp_diag *diag)
{
	return check_symbols(image, diag) < 0 || check_versions(image, diag) < 0 ? -1 : 0;
}
