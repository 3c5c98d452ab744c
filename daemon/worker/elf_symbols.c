/* SPDX-License-Identifier: MIT */
/* Reads the dynamic symbol table by its hash table; there need be no sections. */
#include "daemon/worker/elf_symbols.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/text.h"

enum { SYMBOLS_MOST = 1 << 22, NAMES_SHOWN = 600 };

static const char plugin_symbol[] = "kplug_plugin";

struct exports {
	bool plugin;	      /* it is there ... */
	bool plugin_is_other; /* ... but not as an object */
	size_t others;
	char names[NAMES_SHOWN]; /* of the others, as many as fit */
};

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

static bool is_exported(const GElf_Sym *symbol)
{
	unsigned bind = GELF_ST_BIND(symbol->st_info);
	unsigned type = GELF_ST_TYPE(symbol->st_info);
	unsigned sight = GELF_ST_VISIBILITY(symbol->st_other);
	return symbol->st_shndx != SHN_UNDEF &&
	       (bind == STB_GLOBAL || bind == STB_WEAK || bind == STB_GNU_UNIQUE) &&
	       (sight == STV_DEFAULT || sight == STV_PROTECTED) && type != STT_SECTION &&
	       type != STT_FILE;
}

/* Names of versions are absolute symbols without a size. */
static bool is_linkers(const GElf_Sym *symbol, const char *name)
{
	static const char *const names[] = {"_init", "_fini", "_edata", "edata", "_end",
		"end", "_etext", "etext", "__bss_start", "__bss_start__", "__bss_end__",
		"_bss_end__", "__end__"};
	if (symbol->st_shndx == SHN_ABS && symbol->st_size == 0)
		return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static void note_other(struct exports *exports, const char *name)
{
	char safe[256];
	size_t used = strlen(exports->names);
	exports->others++;
	kp_text_clean(name, safe, sizeof(safe));
	if (used + strlen(safe) + 3 < sizeof(exports->names))
		snprintf(exports->names + used, sizeof(exports->names) - used, "%s%s",
			used ? ", " : "", safe);
}

static int read_exports(
	const struct elf_image *image, struct exports *exports, struct kp_diag *diag)
{
	uint64_t count;
	uint64_t at =
		elf_image_offset(image, elf_image_dynamic(image, DT_SYMTAB, UINT64_MAX));
	if (!count_symbols(image, &count) || count > SYMBOLS_MOST)
		return elf_damaged(image, "its symbol hash table is cut", diag);
	size_t each = gelf_fsize(image->elf, ELF_T_SYM, 1, EV_CURRENT);
	Elf_Data *data = count == 0 || at > image->size || count * each > image->size - at
				 ? NULL
				 : elf_getdata_rawchunk(image->elf, (int64_t)at,
					   count * each, ELF_T_SYM);
	if (count > 0 && !data)
		return elf_damaged(image, "its symbol table is cut", diag);
	for (uint64_t i = 1; i < count; i++) {
		GElf_Sym symbol;
		if (!gelf_getsym(data, (int)i, &symbol))
			return elf_damaged(image, "its symbol table is cut", diag);
		if (!is_exported(&symbol))
			continue;
		const char *name = elf_image_string(image, symbol.st_name);
		if (!name)
			return elf_damaged(image, "the name of a symbol is cut", diag);
		if (strcmp(name, plugin_symbol) == 0) {
			exports->plugin = true;
			exports->plugin_is_other =
				GELF_ST_TYPE(symbol.st_info) != STT_OBJECT;
		} else if (!is_linkers(&symbol, name)) {
			note_other(exports, name);
		}
	}
	return 0;
}

int elf_symbols_check(const struct elf_image *image, struct kp_diag *diag)
{
	struct exports exports = {.names = ""};
	if (read_exports(image, &exports, diag) < 0)
		return -1;
	if (!exports.plugin)
		return kp_diag_set(diag, "no_plugin_symbol", image->name,
			"%s does not export the symbol %s: define it with default "
			"visibility, as C",
			image->name, plugin_symbol);
	if (exports.plugin_is_other)
		return kp_diag_set(diag, "no_plugin_symbol", image->name,
			"%s exports %s, but not as an object: it must be a struct "
			"kp_plugin",
			image->name, plugin_symbol);
	if (exports.others > 0)
		return kp_diag_set(diag, "exports_more", image->name,
			"%s exports %zu more than %s: %s; link with kplug/plugin.map",
			image->name, exports.others, plugin_symbol, exports.names);
	return 0;
}
