/* SPDX-License-Identifier: MIT */
/* One sentence for list, info, status and history. */
#include "cmd/rolled.h"

#include <stdio.h>

#include "cmd/field.h"

char *rolled_print(const json_t *rolled_back)
{
	const char *reason = field_text(rolled_back, "reason", "");
	char *text;

	if (!json_is_object(rolled_back) ||
		asprintf(&text, "rolled back to generation %lld%s%s",
			(long long)field_int(rolled_back, "number"), *reason ? ": " : "",
			reason) < 0)
		return NULL;
	return text;
}
