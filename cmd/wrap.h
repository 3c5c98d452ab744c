/* SPDX-License-Identifier: MIT */
/* How much text goes on a line of a terminal. Prints nothing. */
#ifndef CMD_WRAP_H
#define CMD_WRAP_H

#include <stddef.h>

/* Columns that `size` bytes of UTF-8 take. */
size_t wrap_width(const char *text, size_t size);

/*
 * How many bytes of `text` go on a line of `columns` (at least 1 character):
 * whole words, or as much of a word that is longer than a line. *rest is where
 * the next line starts, the end when this was all.
 */
size_t wrap_line(const char *text, size_t columns, const char **rest);

#endif
