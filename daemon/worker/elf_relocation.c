/* SPDX-License-Identifier: MIT */
/* Walks relocations, as the loader does before anything of a library runs. */
#include <stdbool.h>
#include <stdint.h>

#include "daemon/worker/elf_trusted.h"
#include "lib/base/owned.h"

enum { RELOCATIONS_MOST = 1 << 24 };

struct relocations {
	const struct elf_image *image;
	uint64_t symbols, each_symbol; /* where they are loaded, and the size of one */
	bool changes_text;
};

static bool is_relative(const struct elf_image *image, uint64_t type)
{
	return image->header.e_machine == EM_X86_64    ? type == R_X86_64_RELATIVE
	       : image->header.e_machine == EM_AARCH64 ? type == R_AARCH64_RELATIVE
						       : true;
}

/* 0 is a relocation that does nothing, everywhere. */
static const char *what_is_wrong(
	const struct relocations *relocations, const GElf_Rela *rela)
{
	const struct elf_image *image = relocations->image;
	uint64_t type = GELF_R_TYPE(rela->r_info), symbol = GELF_R_SYM(rela->r_info);
	const GElf_Phdr *segment = elf_image_loaded(image, rela->r_offset);
	uint64_t at;

	if (type == 0)
		return NULL;
	if (!segment)
		return "a relocation changes memory outside of it";
	if (!(segment->p_flags & PF_W) && !relocations->changes_text)
		return "a relocation changes what may only be read";
	if (symbol > 0 &&
		(__builtin_mul_overflow(symbol, relocations->each_symbol, &at) ||
			__builtin_add_overflow(at, relocations->symbols, &at) ||
			!elf_image_loaded(image, at)))
		return "a relocation is by a symbol that it does not have";
	return NULL;
}

static bool get(Elf_Data *data, Elf_Type type, int index, GElf_Rela *rela)
{
	GElf_Rel rel;

	if (type == ELF_T_RELA)
		return gelf_getrela(data, index, rela) != NULL;
	if (!gelf_getrel(data, index, &rel))
		return false;
	*rela = (GElf_Rela){.r_offset = rel.r_offset, .r_info = rel.r_info};
	return true;
}

/* relative: so many first ones are said to be of that kind. */
static int check_table(const struct relocations *relocations, uint64_t at, uint64_t size,
	Elf_Type type, uint64_t relative, struct kp_diag *diag)
{
	const struct elf_image *image = relocations->image;
	uint64_t count = size / gelf_fsize(image->elf, type, 1, EV_CURRENT);
	uint64_t offset = elf_image_offset(image, at);
	Elf_Data *data = NULL;

	if (relative > count)
		return elf_damaged(image, "it has fewer relocations than it says", diag);
	if (count == 0)
		return 0;
	if (offset <= image->size && size <= image->size - offset &&
		count <= RELOCATIONS_MOST)
		data = elf_getdata_rawchunk(image->elf, (int64_t)offset, size, type);
	for (uint64_t i = 0; i < count; i++) {
		GElf_Rela rela;
		if (!data || !get(data, type, (int)i, &rela))
			return elf_damaged(image, "its relocations are cut", diag);
		const char *wrong = what_is_wrong(relocations, &rela);
		if (i < relative && !is_relative(image, GELF_R_TYPE(rela.r_info)))
			wrong = "a relocation is not of the kind that it says";
		if (wrong)
			return elf_damaged(image, wrong, diag);
	}
	return 0;
}

int elf_trusted_relocations(const struct elf_image *image, struct kp_diag *diag)
{
	const struct relocations relocations = {image,
		elf_image_dynamic(image, DT_SYMTAB, 0),
		gelf_fsize(image->elf, ELF_T_SYM, 1, EV_CURRENT),
		elf_image_dynamic(image, DT_TEXTREL, UINT64_MAX) != UINT64_MAX ||
			(elf_image_dynamic(image, DT_FLAGS, 0) & DF_TEXTREL)};
	const struct {
		int64_t at, size, relative;
		Elf_Type type;
	} tables[] = {
		{DT_RELA, DT_RELASZ, DT_RELACOUNT, ELF_T_RELA},
		{DT_REL, DT_RELSZ, DT_RELCOUNT, ELF_T_REL},
		{DT_JMPREL, DT_PLTRELSZ, 0,
			elf_image_dynamic(image, DT_PLTREL, DT_RELA) == DT_REL
				? ELF_T_REL
				: ELF_T_RELA},
	};

	for (size_t i = 0; i < KP_COUNT(tables); i++) {
		uint64_t relative = tables[i].relative ? elf_image_dynamic(image,
								 tables[i].relative, 0)
						       : 0;
		if (check_table(&relocations,
			    elf_image_dynamic(image, tables[i].at, UINT64_MAX),
			    elf_image_dynamic(image, tables[i].size, 0), tables[i].type,
			    relative, diag) < 0)
			return -1;
	}
	return 0;
}
