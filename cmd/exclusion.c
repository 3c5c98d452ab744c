/* SPDX-License-Identifier: MIT */
/* Printing of an Exclusion of the interface. */
#include "cmd/exclusion.h"

#include <stdio.h>

#include "cmd/field.h"

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
