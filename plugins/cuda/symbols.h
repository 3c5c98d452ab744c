/* SPDX-License-Identifier: MIT */
/* The functions of a library that was opened, in a struct of pointers to them. */
#ifndef PLUGIN_SYMBOLS_H
#define PLUGIN_SYMBOLS_H

#include <stddef.h>

struct symbol {
	const char *name;
	size_t offset; /* of the pointer in the struct */
};

/* Fills *functions; NULL, or the name of the first that is missing. */
const char *symbols_find(
	void *library, const struct symbol *symbols, size_t count, void *functions);

#endif
