/* SPDX-License-Identifier: MIT */
/* Signs in the words of glibc's loader. */
#include "lib/plugin/loader.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "lib/base/owned.h"
#include "lib/base/text.h"

/* "FILE: cannot create shared object descriptor: Cannot allocate memory", and its kin. */
static bool is_starved(const char *words)
{
	static const char *const verbs[] = {
		": cannot create ", ": cannot allocate ", ": cannot extend "};

	if (strncmp(words, "out of memory", strlen("out of memory")) == 0)
		return true;
	if (!kp_text_ends_with(words, ": Cannot allocate memory"))
		return false;
	for (size_t i = 0; i < KP_COUNT(verbs); i++)
		if (strstr(words, verbs[i]))
			return true;
	return false;
}

const char *kp_loader_code(const char *words, const char **name)
{
	static const struct {
		const char *sign, *code;
		bool is_before; /* the name stands before the sign */
	} causes[] = {
		{"undefined symbol: ", "missing_symbol", false},
		{"version `", "missing_version", false},
		{"cannot open shared object file", "missing_library", true},
	};

	*name = NULL;
	if (is_starved(words))
		return "no_memory";
	for (size_t i = 0; i < KP_COUNT(causes); i++) {
		const char *at = strstr(words, causes[i].sign);
		if (!at)
			continue;
		*name = causes[i].is_before ? words : at + strlen(causes[i].sign);
		return causes[i].code;
	}
	return "load_failed";
}
