/* SPDX-License-Identifier: MIT */
/*
 * Tables that fit the terminal. Where the columns do not fit, the last one is
 * wrapped; where even that would be too narrow, each row becomes a block of
 * lines, title and value. Without a terminal nothing is cut or wrapped.
 */
#ifndef CMD_GRID_H
#define CMD_GRID_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/output.h"

struct grid_column {
	const char *title; /* NULL in all columns: a list of keys and values */
	bool right;	   /* aligned */
};

struct grid_cell {
	char *text;
	enum tone tone;
};

/* Set columns, n_columns and indent; the rest is zero. */
struct grid {
	const struct grid_column *columns;
	size_t n_columns;
	size_t indent;
	struct grid_cell *cells; /* row after row */
	size_t n_cells, room;
	bool failed; /* memory */
};

/* The next cell, cleaned; rows fill up from left to right. */
void grid_add(struct grid *grid, enum tone tone, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* A row of two columns: a key and its value. */
void grid_pair(struct grid *grid, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Prints and frees all rows. KP_EXIT_OK, or what output_no_memory returns. */
int grid_print(struct grid *grid, const struct output *output);

extern const struct grid_column grid_pairs[2];

#endif
