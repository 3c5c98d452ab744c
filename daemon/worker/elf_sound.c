/* SPDX-License-Identifier: MIT */
/* Checks headers, segments and the tables of the dynamic section. */
#include "daemon/worker/elf_sound.h"

#include <stdbool.h>
#include <stdio.h>

#include "lib/base/owned.h"

enum { PAGE_LEAST = 4096 };

int elf_sound_header(const struct elf_image *image, struct kp_diag *diag)
{
	const GElf_Ehdr *header = &image->header;

	if (header->e_ident[EI_VERSION] != EV_CURRENT || header->e_version != EV_CURRENT)
		return elf_damaged(image, "its version is not 1", diag);
	if (header->e_ehsize != gelf_fsize(image->elf, ELF_T_EHDR, 1, EV_CURRENT))
		return elf_damaged(image, "the size of its header is wrong", diag);
	if (header->e_phentsize != gelf_fsize(image->elf, ELF_T_PHDR, 1, EV_CURRENT))
		return elf_damaged(
			image, "the size of a segment's header is wrong", diag);
	if (header->e_shnum == 0)
		return 0;
	if (header->e_shentsize != gelf_fsize(image->elf, ELF_T_SHDR, 1, EV_CURRENT))
		return elf_damaged(
			image, "the size of a section's header is wrong", diag);
	if (header->e_shstrndx != SHN_XINDEX && header->e_shstrndx >= header->e_shnum)
		return elf_damaged(image,
			"the section with the names of sections does not exist", diag);
	return 0;
}

/* ---- segments -------------------------------------------------------------------- */

static int bad_segment(const struct elf_image *image, size_t index, const char *what,
	struct kp_diag *diag)
{
	char text[160];

	(void)snprintf(text, sizeof(text), "its segment %zu %s", index, what);
	return elf_damaged(image, text, diag);
}

static bool is_power(uint64_t number)
{
	return (number & (number - 1)) == 0;
}

static int check_segment(
	const struct elf_image *image, size_t index, struct kp_diag *diag)
{
	const GElf_Phdr *segment = &image->segments[index];
	uint64_t end;

	if (!is_power(segment->p_align))
		return bad_segment(image, index, "has an impossible alignment", diag);
	if (segment->p_type != PT_LOAD && segment->p_type != PT_TLS)
		return 0;
	if (segment->p_filesz > segment->p_memsz)
		return bad_segment(
			image, index, "has more in the file than in memory", diag);
	if (__builtin_add_overflow(segment->p_vaddr, segment->p_memsz, &end))
		return bad_segment(image, index, "wraps around", diag);
	if (segment->p_type == PT_LOAD && segment->p_align > 1 &&
		(segment->p_vaddr - segment->p_offset) % segment->p_align != 0)
		return bad_segment(image, index,
			"cannot be mapped: address and offset differ modulo its "
			"alignment",
			diag);
	return 0;
}

/* The loader asks for ascending order, and maps later ones over earlier ones. */
static int check_order(const struct elf_image *image, struct kp_diag *diag)
{
	uint64_t end = 0;
	size_t loaded = 0;

	for (size_t i = 0; i < image->n_segments; i++) {
		const GElf_Phdr *segment = &image->segments[i];
		if (segment->p_type != PT_LOAD)
			continue;
		if (loaded++ > 0 && segment->p_vaddr < end)
			return bad_segment(image, i,
				"overlaps the one before, or stands before it", diag);
		end = segment->p_vaddr + segment->p_memsz;
	}
	return loaded > 0 ? 0 : elf_damaged(image, "no segment of it is loaded", diag);
}

static int check_single(const struct elf_image *image, uint32_t type, const char *what,
	struct kp_diag *diag)
{
	char text[96];
	size_t count = 0;

	for (size_t i = 0; i < image->n_segments; i++)
		count += image->segments[i].p_type == type;
	if (count < 2)
		return 0;
	(void)snprintf(text, sizeof(text), "it has %zu segments for %s", count, what);
	return elf_damaged(image, text, diag);
}

/* What is made read-only again once it is relocated: linkers round it up to a page. */
static int check_relro(const struct elf_image *image, struct kp_diag *diag)
{
	const GElf_Phdr *relro = elf_image_segment(image, PT_GNU_RELRO);
	const GElf_Phdr *at = relro ? elf_image_loaded(image, relro->p_vaddr) : NULL;
	uint64_t page, end;

	if (!relro || relro->p_memsz == 0)
		return 0;
	if (!at)
		return elf_damaged(image,
			"what is to be read-only after loading is not loaded", diag);
	page = at->p_align > PAGE_LEAST ? at->p_align : PAGE_LEAST;
	end = (at->p_vaddr + at->p_memsz + page - 1) & ~(page - 1);
	if (relro->p_memsz > end - relro->p_vaddr)
		return elf_damaged(image,
			"what is to be read-only after loading is more than is loaded",
			diag);
	return 0;
}

int elf_sound_segments(const struct elf_image *image, struct kp_diag *diag)
{
	for (size_t i = 0; i < image->n_segments; i++)
		if (check_segment(image, i, diag) < 0)
			return -1;
	if (check_order(image, diag) < 0 ||
		check_single(image, PT_DYNAMIC, "the dynamic section", diag) < 0 ||
		check_single(image, PT_TLS, "thread-local storage", diag) < 0 ||
		check_single(image, PT_GNU_STACK, "the stack", diag) < 0 ||
		check_relro(image, diag) < 0)
		return -1;
	const GElf_Phdr *dynamic = elf_image_segment(image, PT_DYNAMIC);
	if (dynamic && elf_image_offset(image, dynamic->p_vaddr) != dynamic->p_offset)
		return elf_damaged(
			image, "its dynamic section is not where it is loaded", diag);
	return 0;
}

/* ---- tables ---------------------------------------------------------------------- */

/* Where a table is and how long; `each`: the size of an entry, 0: any. */
static const struct {
	int64_t at, size, each;
	Elf_Type type;
	const char *what;
} tables[] = {
	{DT_STRTAB, DT_STRSZ, 0, ELF_T_BYTE, "dynamic string table"},
	{DT_RELA, DT_RELASZ, DT_RELAENT, ELF_T_RELA, "table of relocations"},
	{DT_REL, DT_RELSZ, DT_RELENT, ELF_T_REL, "table of relocations"},
	{DT_JMPREL, DT_PLTRELSZ, 0, ELF_T_BYTE, "table of function relocations"},
	{DT_INIT_ARRAY, DT_INIT_ARRAYSZ, 0, ELF_T_ADDR, "list of constructors"},
	{DT_FINI_ARRAY, DT_FINI_ARRAYSZ, 0, ELF_T_ADDR, "list of destructors"},
	{DT_SYMTAB, 0, DT_SYMENT, ELF_T_SYM, "symbol table"},
	{DT_HASH, 0, 0, ELF_T_BYTE, "symbol hash table"},
	{DT_GNU_HASH, 0, 0, ELF_T_BYTE, "symbol hash table"},
	{DT_VERSYM, 0, 0, ELF_T_BYTE, "table of symbols' versions"},
	{DT_VERNEED, 0, 0, ELF_T_BYTE, "table of versions needed"},
	{DT_VERDEF, 0, 0, ELF_T_BYTE, "table of versions"},
};

static int bad_table(const struct elf_image *image, const char *table, const char *what,
	struct kp_diag *diag)
{
	char text[128];

	(void)snprintf(text, sizeof(text), "its %s %s", table, what);
	return elf_damaged(image, text, diag);
}

/* All of it inside one segment: the loader reads on where the next one lies. */
static bool is_loaded(const struct elf_image *image, uint64_t address, uint64_t size)
{
	const GElf_Phdr *at = elf_image_loaded(image, address);

	return at && size <= at->p_memsz - (address - at->p_vaddr);
}

static int check_table(const struct elf_image *image, size_t row, struct kp_diag *diag)
{
	uint64_t none = UINT64_MAX;
	uint64_t at = elf_image_dynamic(image, tables[row].at, none);
	uint64_t size =
		tables[row].size ? elf_image_dynamic(image, tables[row].size, none) : 1;
	uint64_t entry = gelf_fsize(image->elf, tables[row].type, 1, EV_CURRENT);

	if (at == none)
		return 0;
	if (size == none)
		return bad_table(image, tables[row].what, "has no length", diag);
	if (tables[row].each &&
		elf_image_dynamic(image, tables[row].each, entry) != entry)
		return bad_table(
			image, tables[row].what, "has entries of another size", diag);
	if (tables[row].size && size % entry != 0)
		return bad_table(
			image, tables[row].what, "ends inside of an entry", diag);
	if (size > 0 && !is_loaded(image, at, size))
		return bad_table(image, tables[row].what, "is not loaded", diag);
	return 0;
}

int elf_sound_tables(const struct elf_image *image, struct kp_diag *diag)
{
	for (size_t row = 0; row < KP_COUNT(tables); row++)
		if (check_table(image, row, diag) < 0)
			return -1;
	return 0;
}
