/* SPDX-License-Identifier: MIT */
/*
 * The dynamic symbol table of a library, found as the loader finds it: by its hash
 * table, for there need be no sections.
 */
#ifndef KP_WORKER_ELF_TABLE_H
#define KP_WORKER_ELF_TABLE_H

#include <stdbool.h>

#include "daemon/worker/elf_image.h"

struct elf_table {
	const struct elf_image *image; /* borrowed */
	uint64_t count;		       /* with the empty one at 0 */
	Elf_Data *data;
	const uint16_t *versions; /* an index a symbol; NULL: it has none */
};

/* Valid while the image is. Code elf_damaged. */
int elf_table_open(const struct elf_image *image, struct elf_table *table,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/* The symbol and its name; false: the table or the name is cut. */
bool elf_table_symbol(const struct elf_table *table, uint64_t index, GElf_Sym *symbol,
	const char **name);

/* Does it define the symbol for others? */
bool elf_symbol_is_exported(const GElf_Sym *symbol);
/* Does it use the symbol of others, and cannot do without? */
bool elf_symbol_is_wanted(const GElf_Sym *symbol);

#endif
