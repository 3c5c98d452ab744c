/* SPDX-License-Identifier: MIT */
/* Into a text and back. */
#include "lib/plugin/told.h"

#include <string.h>

#include "lib/base/json.h"

char *kp_told_print(
	const json_t *about, const json_t *warnings, const struct kp_verdict *verdict)
{
	json_t *all = json_pack("{s:o, s:o, s:o, s:o, s:o}", "about",
		kp_json_or_null(about), "elf", kp_json_or_null(verdict->elf), "evidence",
		kp_json_or_null(verdict->evidence), "signature",
		kp_json_or_null(verdict->signature), "warnings",
		kp_json_or_null(warnings));
	char *text = all ? kp_json_dumps(all, JSON_COMPACT) : NULL;

	json_decref(all);
	return text;
}

/* It is our own text: it was printed from values that were checked. */
json_t *kp_told_read(const char *text)
{
	json_error_t why;
	bool no_memory;

	if (text)
		return kp_json_load(text, strlen(text), JSON_ALLOW_NUL, &why, &no_memory);
	return json_pack("{s:n, s:n, s:n, s:n, s:n}", "about", "elf", "evidence",
		"signature", "warnings");
}
