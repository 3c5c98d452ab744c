/* SPDX-License-Identifier: MIT */
/* dlsym(3) for a table of names. */
#include "daemon/worker/symbols.h"

#include <dlfcn.h>
#include <string.h>

/* C has no cast from data to a function; POSIX says that the address fits. */
static void *put(void *member, void *symbol)
{
	memcpy(member, &symbol, sizeof(symbol));
	return symbol;
}

const char *symbols_find(
	void *library, const struct symbol *symbols, size_t count, void *functions)
{
	const char *missing = NULL;

	for (size_t i = 0; i < count; i++)
		if (!put((char *)functions + symbols[i].member,
			    dlsym(library, symbols[i].name)) &&
			!missing)
			missing = symbols[i].name;
	return missing;
}
