/* SPDX-License-Identifier: MIT */
/* Reads the dynamic symbol table by its hash table. */
#include "daemon/worker/elf_table.h"

#include <string.h>

enum { SYMBOLS_MOST = 1 << 22 };

static const uint32_t *read_words(
	const struct elf_image *image, uint64_t offset, uint64_t count)
{
	uint64_t size;
	if (__builtin_mul_overflow(count, sizeof(uint32_t), &size))
		return NULL;
	return elf_image_read(image, offset, size, ELF_T_WORD);
}

/* One chain of DT_HASH is as long as the symbol table. */
static bool count_by_hash(const struct elf_image *image, uint64_t at, uint64_t *count)
{
	*count = 0;
	const uint32_t *header = read_words(image, at, 2);
	if (header)
		*count = header[1];
	return header != NULL;
}

/* The highest symbol of all buckets, then to the end of its chain. */
static bool count_by_gnu_hash(const struct elf_image *image, uint64_t at, uint64_t *count)
{
	*count = 0;
	const uint32_t *header = read_words(image, at, 4);
	if (!header || header[0] > SYMBOLS_MOST || header[2] > SYMBOLS_MOST)
		return false;
	uint64_t word = image->header.e_ident[EI_CLASS] == ELFCLASS64 ? 8 : 4;
	uint64_t buckets_at = at + 16 + header[2] * word;
	const uint32_t *buckets = read_words(image, buckets_at, header[0]);
	uint64_t last = 0;
	if (!buckets)
		return false;
	for (uint32_t i = 0; i < header[0]; i++)
		last = buckets[i] > last ? buckets[i] : last;
	if (last < header[1]) {
		*count = header[1];
		return true;
	}
	uint64_t chain = buckets_at + (uint64_t)header[0] * 4 + (last - header[1]) * 4;
	for (; last < SYMBOLS_MOST; last++, chain += 4) {
		const uint32_t *hash = read_words(image, chain, 1);
		if (!hash)
			return false;
		if (*hash & 1) {
			*count = last + 1;
			return true;
		}
	}
	return false;
}

static bool count_symbols(const struct elf_image *image, uint64_t *count)
{
	uint64_t none = UINT64_MAX;
	uint64_t hash = elf_image_dynamic(image, DT_HASH, none);
	uint64_t gnu = elf_image_dynamic(image, DT_GNU_HASH, none);
	if (hash != none)
		return count_by_hash(image, elf_image_offset(image, hash), count);
	if (gnu != none)
		return count_by_gnu_hash(image, elf_image_offset(image, gnu), count);
	/* The loader finds nothing in it either. */
	*count = 0;
	return true;
}

int elf_table_open(
	const struct elf_image *image, struct elf_table *table, struct kp_diag *diag)
{
	uint64_t at =
		elf_image_offset(image, elf_image_dynamic(image, DT_SYMTAB, UINT64_MAX));
	uint64_t versions =
		elf_image_offset(image, elf_image_dynamic(image, DT_VERSYM, UINT64_MAX));
	uint64_t count;

	*table = (struct elf_table){.image = image};
	if (!count_symbols(image, &count) || count > SYMBOLS_MOST)
		return elf_damaged(image, "its symbol hash table is cut", diag);
	if (count == 0)
		return 0;
	size_t each = gelf_fsize(image->elf, ELF_T_SYM, 1, EV_CURRENT);
	if (at <= image->size && count * each <= image->size - at)
		table->data = elf_getdata_rawchunk(
			image->elf, (int64_t)at, count * each, ELF_T_SYM);
	if (!table->data)
		return elf_damaged(image, "its symbol table is cut", diag);
	if (versions != UINT64_MAX)
		table->versions = elf_image_read(
			image, versions, count * sizeof(uint16_t), ELF_T_HALF);
	table->count = count;
	return 0;
}

bool elf_table_symbol(const struct elf_table *table, uint64_t index, GElf_Sym *symbol,
	const char **name)
{
	if (!gelf_getsym(table->data, (int)index, symbol))
		return false;
	*name = elf_image_string(table->image, symbol->st_name);
	return *name != NULL;
}

bool elf_symbol_is_exported(const GElf_Sym *symbol)
{
	unsigned bind = GELF_ST_BIND(symbol->st_info);
	unsigned type = GELF_ST_TYPE(symbol->st_info);
	unsigned sight = GELF_ST_VISIBILITY(symbol->st_other);
	return symbol->st_shndx != SHN_UNDEF &&
	       (bind == STB_GLOBAL || bind == STB_WEAK || bind == STB_GNU_UNIQUE) &&
	       (sight == STV_DEFAULT || sight == STV_PROTECTED) && type != STT_SECTION &&
	       type != STT_FILE;
}

bool elf_symbol_is_wanted(const GElf_Sym *symbol)
{
	unsigned bind = GELF_ST_BIND(symbol->st_info);
	unsigned type = GELF_ST_TYPE(symbol->st_info);
	return symbol->st_shndx == SHN_UNDEF &&
	       (bind == STB_GLOBAL || bind == STB_GNU_UNIQUE) && type != STT_SECTION &&
	       type != STT_FILE;
}
