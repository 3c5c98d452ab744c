/* SPDX-License-Identifier: MIT */
/* Printing of an Exclusion of the interface. */
#include "cmd/exclusion.h"

#include <stdio.h>

#include "cmd/field.h"
#include "cmd/grid.h"

char *exclusion_print(const json_t *exclusion)
{
	char *text = NULL;
	const char *required = field_text(exclusion, "required", "");
	const char *actual = field_text(exclusion, "actual", "");
	const char *source = field_text(exclusion, "source", "");
	if (asprintf(&text, "%s%s%s%s%s%s%s%s", field_text(exclusion, "code", "?"),
		    *required ? ": required " : "", required,
		    *actual ? (*required ? ", actual " : ": ") : "", actual,
		    *source ? " (" : "", source, *source ? ")" : "") < 0)
		return NULL;
	return text;
}

void exclusion_add(struct grid *grid, const json_t *reasons)
{
	for (size_t i = 0; i < json_array_size(reasons); i++) {
		owned_text text = exclusion_print(json_array_get(reasons, i));
		for (size_t c = 0; i > 0 && c + 1 < grid->n_columns; c++)
			grid_add(grid, TONE_PLAIN, "%s", "");
		grid_add(grid, TONE_WARN, "%s", text ? text : "");
	}
}
