/* SPDX-License-Identifier: MIT */
/* Looking up codes in the tables. */
#include "lib/lint/code.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/owned.h"

static const struct kp_code_table *const tables[] = {&kp_codes_of_text,
	&kp_codes_of_library, &kp_codes_of_probe, &kp_codes_of_machine};

const char *kp_severity_name(enum kp_severity severity)
{
	static const char *const names[KP_SEVERITIES] = {"note", "warning", "error"};
	return names[severity];
}

static int compare(const void *code, const void *row)
{
	return strcmp(code, ((const struct kp_code *)row)->code);
}

static const struct kp_code *find(const char *code)
{
	const struct kp_code *row = NULL;

	for (size_t i = 0; !row && i < KP_COUNT(tables); i++)
		row = bsearch(code, tables[i]->rows, tables[i]->count,
			sizeof(*tables[i]->rows), compare);
	return row;
}

const struct kp_code *kp_code_at(size_t index)
{
	for (size_t i = 0; i < KP_COUNT(tables); i++) {
		if (index < tables[i]->count)
			return &tables[i]->rows[index];
		index -= tables[i]->count;
	}
	return NULL;
}

const struct kp_code *kp_code_find(const char *code)
{
	const struct kp_code *row = find(code);
	return row ? row : find("failed");
}
