/* SPDX-License-Identifier: MIT */
/* What a plugin's library exports. */
#include "daemon/worker/elf_symbols.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/worker/elf_table.h"
#include "lib/base/text.h"

enum { NAMES_SHOWN = 600 };

static const char plugin_symbol[] = "kplug_plugin";

struct exports {
	bool plugin;	      /* it is there ... */
	bool plugin_is_other; /* ... but not as an object */
	size_t others;
	char names[NAMES_SHOWN]; /* of the others, as many as fit */
};

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

static void take(struct exports *exports, const GElf_Sym *symbol, const char *name)
{
	if (strcmp(name, plugin_symbol) == 0) {
		exports->plugin = true;
		exports->plugin_is_other = GELF_ST_TYPE(symbol->st_info) != STT_OBJECT;
	} else if (!is_linkers(symbol, name)) {
		note_other(exports, name);
	}
}

static int read_exports(
	const struct elf_image *image, struct exports *exports, struct kp_diag *diag)
{
	struct elf_table table;
	GElf_Sym symbol;
	const char *name;

	if (elf_table_open(image, &table, diag) < 0)
		return -1;
	for (uint64_t i = 1; i < table.count; i++) {
		bool whole = elf_table_symbol(&table, i, &symbol, &name);
		if (!whole && elf_symbol_is_exported(&symbol))
			return elf_damaged(image, "the name of a symbol is cut", diag);
		if (whole && elf_symbol_is_exported(&symbol))
			take(exports, &symbol, name);
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
