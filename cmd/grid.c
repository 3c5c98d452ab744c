/* SPDX-License-Identifier: MIT */
/* Measuring, laying out and printing of tables. */
#include "cmd/grid.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/wrap.h"

enum { GAP = 2, COLUMNS = 16, CELLS_AT_FIRST = 64, LEAST_LAST = 16, LEAST_LINE = 8 };

const struct grid_column grid_pairs[2] = {{NULL, false}, {NULL, false}};

/* What the columns are printed with. */
struct layout {
	size_t widths[COLUMNS];
	size_t last; /* columns that the last one may take; 0: any number */
	bool blocks;
};

static bool make_room(struct grid *grid)
{
	if (grid->n_cells < grid->room)
		return true;
	size_t room = grid->room ? grid->room * 2 : CELLS_AT_FIRST;
	struct grid_cell *cells = reallocarray(grid->cells, room, sizeof(*cells));
	if (!cells)
		return false;
	grid->cells = cells;
	grid->room = room;
	return true;
}

static void add(struct grid *grid, enum tone tone, const char *format, va_list arguments)
{
	char *raw = NULL;
	if (vasprintf(&raw, format, arguments) < 0)
		raw = NULL;
	char *text = raw ? output_clean(raw) : NULL;
	free(raw);
	if (!text || !make_room(grid)) {
		free(text);
		grid->failed = true;
		return;
	}
	grid->cells[grid->n_cells++] = (struct grid_cell){text, tone};
}

void grid_add(struct grid *grid, enum tone tone, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	add(grid, tone, format, arguments);
	va_end(arguments);
}

void grid_pair(struct grid *grid, const char *key, const char *format, ...)
{
	va_list arguments;
	grid_add(grid, TONE_FAINT, "%s", key);
	va_start(arguments, format);
	add(grid, TONE_PLAIN, format, arguments);
	va_end(arguments);
}

static size_t title_width(const struct grid *grid, size_t column)
{
	const char *title = grid->columns[column].title;
	return title ? wrap_width(title, strlen(title)) : 0;
}

static void measure(const struct grid *grid, struct layout *layout)
{
	assert(grid->n_columns > 0 && grid->n_columns <= COLUMNS);
	for (size_t c = 0; c < grid->n_columns; c++)
		layout->widths[c] = title_width(grid, c);
	for (size_t i = 0; i < grid->n_cells; i++) {
		size_t c = i % grid->n_columns;
		const char *text = grid->cells[i].text;
		size_t width = wrap_width(text, strlen(text));
		if (width > layout->widths[c])
			layout->widths[c] = width;
	}
}

static void lay_out(const struct grid *grid, size_t width, struct layout *layout)
{
	size_t last = grid->n_columns - 1;
	size_t before = grid->indent + last * GAP;
	*layout = (struct layout){0};
	measure(grid, layout);
	for (size_t c = 0; c < last; c++)
		before += layout->widths[c];
	if (width == 0 || before + layout->widths[last] <= width)
		return;
	layout->last = width > before ? width - before : 0;
	layout->blocks = layout->last < LEAST_LAST;
}

static void put_padded(const struct output *output, const struct grid_column *column,
	enum tone tone, const char *text, size_t width, bool last)
{
	size_t size = strlen(text);
	size_t columns = wrap_width(text, size);
	size_t pad = width > columns ? width - columns : 0;
	if (column->right)
		output_spaces(pad);
	output_put(output, tone, text, size);
	if (!column->right && !last)
		output_spaces(pad);
	if (!last)
		output_spaces(GAP);
}

/* The wrapped rest of a text: each line behind `indent` columns. */
static void put_wrapped(const struct output *output, enum tone tone, const char *text,
	size_t columns, size_t indent)
{
	const char *rest;
	size_t size = wrap_line(text, columns, &rest);
	output_put(output, tone, text, size);
	output_end_line();
	while (*rest) {
		const char *line = rest;
		size = wrap_line(line, columns, &rest);
		output_spaces(indent);
		output_put(output, tone, line, size);
		output_end_line();
	}
}

/* The last cell that has text: nothing is padded behind it. */
static size_t last_filled(const struct grid_cell *cells, size_t count)
{
	while (count > 1 && !cells[count - 1].text[0])
		count--;
	return count - 1;
}

static void put_row(const struct grid *grid, const struct output *output,
	const struct layout *layout, const struct grid_cell *cells)
{
	size_t end = last_filled(cells, grid->n_columns);
	size_t indent = grid->indent;
	output_spaces(grid->indent);
	for (size_t c = 0; c <= end; c++) {
		if (c + 1 == grid->n_columns && layout->last) {
			put_wrapped(output, cells[c].tone, cells[c].text, layout->last,
				indent);
			return;
		}
		put_padded(output, &grid->columns[c], cells[c].tone, cells[c].text,
			layout->widths[c], c == end);
		indent += layout->widths[c] + GAP;
	}
	output_end_line();
}

static void put_titles(
	const struct grid *grid, const struct output *output, const struct layout *layout)
{
	output_spaces(grid->indent);
	for (size_t c = 0; c < grid->n_columns; c++)
		put_padded(output, &grid->columns[c], TONE_TITLE, grid->columns[c].title,
			layout->widths[c], c + 1 == grid->n_columns);
	output_end_line();
}

static size_t columns_behind(const struct output *output, size_t indent)
{
	return output->width > indent + LEAST_LINE ? output->width - indent : LEAST_LINE;
}

/* A row as lines: the first cell, then title and value of each other one. */
static void put_block(const struct grid *grid, const struct output *output,
	const struct grid_cell *cells)
{
	size_t titles = 0;
	size_t inside = grid->indent + GAP;
	for (size_t c = 1; c < grid->n_columns; c++)
		if (title_width(grid, c) > titles)
			titles = title_width(grid, c);
	size_t indent = inside + titles + (titles ? GAP : 0);
	if (cells[0].text[0]) {
		output_spaces(grid->indent);
		put_wrapped(output, titles ? TONE_TITLE : cells[0].tone, cells[0].text,
			columns_behind(output, grid->indent), grid->indent);
	}
	for (size_t c = 1; c < grid->n_columns; c++) {
		if (!cells[c].text[0])
			continue;
		output_spaces(inside);
		if (titles) {
			struct grid_column left = {0};
			put_padded(output, &left, TONE_FAINT, grid->columns[c].title,
				titles, false);
		}
		put_wrapped(output, cells[c].tone, cells[c].text,
			columns_behind(output, indent), indent);
	}
}

static void empty(struct grid *grid)
{
	for (size_t i = 0; i < grid->n_cells; i++)
		free(grid->cells[i].text);
	free(grid->cells);
	grid->cells = NULL;
	grid->n_cells = grid->room = 0;
}

int grid_print(struct grid *grid, const struct output *output)
{
	struct layout layout;
	if (grid->failed) {
		empty(grid);
		return output_no_memory(output);
	}
	lay_out(grid, output->width, &layout);
	if (grid->columns[0].title && !layout.blocks && !output->quiet)
		put_titles(grid, output, &layout);
	for (size_t i = 0; i + grid->n_columns <= grid->n_cells; i += grid->n_columns) {
		if (layout.blocks)
			put_block(grid, output, grid->cells + i);
		else
			put_row(grid, output, &layout, grid->cells + i);
	}
	empty(grid);
	return KP_EXIT_OK;
}
