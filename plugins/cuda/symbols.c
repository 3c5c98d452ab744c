/* SPDX-License-Identifier: MIT */
/* dlsym(3) for a table of names. */
#include "symbols.h"

#include <dlfcn.h>
#include <string.h>

/* Copied, since C has no cast from data to a function; POSIX allows it. */
static void *put(void *member, void *symbol)
{
	memcpy(member, &symbol, sizeof(symbol));
	return symbol;
}

const char *symbols_find(
	void *library, const struct symbol *symbols, size_t count, void *functions)
{
	for (size_t i = 0; i < count; i++)
		if (!put((char *)functions + symbols[i].offset,
			    dlsym(library, symbols[i].name)))
			return symbols[i].name;
	return NULL;
}
