/* SPDX-License-Identifier: MIT */
/* Looks at relocations and constructors. */
#include "daemon/worker/elf_load.h"

#include <string.h>

#include "daemon/worker/elf_table.h"

enum {
	RELOCATIONS_MOST = 1 << 24,
	CONSTRUCTORS_MOST = 1024,
	CODE = 96,	/* bytes of a function that are looked at */
	FLUSH = 0x8040, /* MXCSR: flush to zero, denormals are zero */
	FROM_CRT = 2,	/* _init and frame_dummy */
};

/* Relocations that call a function, and those that add where the library lies. */
static bool is_resolver(const struct elf_image *image, uint64_t type)
{
	return image->header.e_machine == EM_X86_64    ? type == R_X86_64_IRELATIVE
	       : image->header.e_machine == EM_AARCH64 ? type == R_AARCH64_IRELATIVE
						       : false;
}

static bool is_relative(const struct elf_image *image, uint64_t type)
{
	return image->header.e_machine == EM_X86_64    ? type == R_X86_64_RELATIVE
	       : image->header.e_machine == EM_AARCH64 ? type == R_AARCH64_RELATIVE
						       : false;
}

/* Addresses of constructors: from the file, or what relocations put there. */
struct constructors {
	uint64_t at, count;
	uint64_t address[CONSTRUCTORS_MOST];
};

static void read_constructors(const struct elf_image *image, struct constructors *list)
{
	uint64_t at = elf_image_dynamic(image, DT_INIT_ARRAY, UINT64_MAX);
	uint64_t size = elf_image_dynamic(image, DT_INIT_ARRAYSZ, 0);
	uint64_t count = size / sizeof(uint64_t);

	*list = (struct constructors){.at = at};
	if (at == UINT64_MAX || image->header.e_ident[EI_CLASS] != ELFCLASS64)
		return;
	list->count = count < CONSTRUCTORS_MOST ? count : CONSTRUCTORS_MOST;
	const uint64_t *words = elf_image_read(image, elf_image_offset(image, at),
		list->count * sizeof(uint64_t), ELF_T_XWORD);
	for (uint64_t i = 0; words && i < list->count; i++)
		list->address[i] = words[i];
}

static void relocate(struct constructors *list, const GElf_Rela *rela)
{
	uint64_t index = (rela->r_offset - list->at) / sizeof(uint64_t);

	if (rela->r_offset >= list->at && index < list->count && rela->r_addend)
		list->address[index] = (uint64_t)rela->r_addend;
}

static void walk(const struct elf_image *image, int64_t table, int64_t length,
	struct constructors *list, struct elf_load *load)
{
	uint64_t at =
		elf_image_offset(image, elf_image_dynamic(image, table, UINT64_MAX));
	uint64_t size = elf_image_dynamic(image, length, 0);
	size_t each = gelf_fsize(image->elf, ELF_T_RELA, 1, EV_CURRENT);

	if (at > image->size || size > image->size - at ||
		size / each > RELOCATIONS_MOST || size < each)
		return;
	Elf_Data *data = elf_getdata_rawchunk(image->elf, (int64_t)at, size, ELF_T_RELA);
	for (size_t i = 0; data && i < size / each; i++) {
		GElf_Rela rela;
		if (!gelf_getrela(data, (int)i, &rela))
			return;
		if (is_resolver(image, GELF_R_TYPE(rela.r_info)))
			load->ifuncs++;
		else if (is_relative(image, GELF_R_TYPE(rela.r_info)))
			relocate(list, &rela);
	}
}

/* Symbols that others bind to by a resolver of this library. */
static size_t count_ifuncs(const struct elf_image *image)
{
	struct elf_table table;
	struct kp_diag diag;
	GElf_Sym symbol;
	const char *name;
	size_t count = 0;

	if (elf_table_open(image, &table, &diag) < 0)
		return 0;
	for (uint64_t i = 1; i < table.count; i++)
		count += elf_table_symbol(&table, i, &symbol, &name) &&
			 symbol.st_shndx != SHN_UNDEF &&
			 GELF_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC;
	return count;
}

/* ---- code ------------------------------------------------------------------------ */

/*
 * Where the function ends, as far as that can be told without decoding: at its return, or
 * where it begins with a jump to another one (frame_dummy does).
 */
static size_t length_of(const unsigned char *code, size_t size)
{
	static const unsigned char endbr[] = {0xf3, 0x0f, 0x1e, 0xfa};
	size_t first = size > sizeof(endbr) && memcmp(code, endbr, sizeof(endbr)) == 0
			       ? sizeof(endbr)
			       : 0;
	const unsigned char *end = memchr(code, 0xc3, size);

	if (code[first] == 0xe9 || code[first] == 0xeb)
		return first;
	return end ? (size_t)(end - code) : size;
}

/* (v)ldmxcsr is 0f ae /2 or c5 f8 ae /2, of memory; the mask is an immediate before. */
static bool sets_mxcsr(const unsigned char *code, size_t size)
{
	bool mask = false;

	for (size_t i = 1; i + 1 < size; i++) {
		uint32_t word;
		if (i + sizeof(word) <= size) {
			memcpy(&word, code + i, sizeof(word));
			mask = mask || word == FLUSH;
		}
		bool is_load = code[i] == 0xae &&
			       (code[i - 1] == 0x0f || code[i - 1] == 0xf8) &&
			       (code[i + 1] >> 3 & 7) == 2 && code[i + 1] >> 6 != 3;
		if (is_load && mask)
			return true;
	}
	return false;
}

/* msr fpcr, x0 to x30. */
static bool sets_fpcr(const unsigned char *code, size_t size)
{
	for (size_t i = 0; i + 4 <= size; i += 4) {
		uint32_t word;
		memcpy(&word, code + i, sizeof(word));
		if ((word & 0xffffffe0) == 0xd51b4400)
			return true;
	}
	return false;
}

static bool sets_float(const struct elf_image *image, uint64_t address)
{
	uint64_t at = elf_image_offset(image, address);
	uint64_t left = at < image->size ? image->size - at : 0;
	size_t size = left < CODE ? (size_t)left : CODE;
	const unsigned char *code = elf_image_read(image, at, size, ELF_T_BYTE);

	if (!code)
		return false;
	return image->header.e_machine == EM_X86_64
		       ? sets_mxcsr(code, length_of(code, size))
	       : image->header.e_machine == EM_AARCH64 ? sets_fpcr(code, size)
						       : false;
}

void elf_load_read(const struct elf_image *image, struct elf_load *load)
{
	struct constructors list;

	*load = (struct elf_load){0};
	read_constructors(image, &list);
	walk(image, DT_RELA, DT_RELASZ, &list, load);
	walk(image, DT_JMPREL, DT_PLTRELSZ, &list, load);
	size_t symbols = count_ifuncs(image);
	load->ifuncs = load->ifuncs > symbols ? load->ifuncs : symbols;
	size_t functions = list.count + (elf_image_dynamic(image, DT_INIT, 0) != 0);
	load->constructors = functions > FROM_CRT ? functions - FROM_CRT : 0;
	for (uint64_t i = 0; i < list.count && !load->sets_float; i++)
		load->sets_float = sets_float(image, list.address[i]);
}
