/* SPDX-License-Identifier: MIT */
/* The functions of a library that was opened, in a struct of pointers to them. */
#ifndef KP_WORKER_SYMBOLS_H
#define KP_WORKER_SYMBOLS_H

#include <stddef.h>

struct symbol {
	const char *name;
	size_t member; /* offsetof the pointer */
};

/* Fills *functions, with NULL for what is missing: NULL, or the first name that is. */
const char *symbols_find(
	void *library, const struct symbol *symbols, size_t count, void *functions);

#endif
