/* SPDX-License-Identifier: MIT */
/* Formats by name and number. */
#include "lib/base/versioned.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/json.h"

/* The number behind the name that ends at `slash` of newest; 0: it is another format. */
static long number_of(const char *format, const char *newest, const char *slash)
{
	size_t length = (size_t)(slash - newest) + 1;
	char *end = NULL;
	long number = strncmp(format, newest, length) == 0
			      ? strtol(format + length, &end, 10)
			      : 0;

	return end && !*end && number > 0 ? number : 0;
}

int kp_versioned_check(
	const json_t *root, const char *newest, const char *wrong, struct kp_diag *diag)
{
	const char *format = kp_json_text(root, "format");
	const char *slash = strrchr(newest, '/');

	if (!json_is_object(root) || !format)
		return kp_diag_set(diag, wrong, "format",
			"format: %s expected, the key is missing or no text", newest);
	long number = number_of(format, newest, slash);
	if (number == 0)
		return kp_diag_set(diag, wrong, "format", "format: %s expected, not %s",
			newest, format);
	if (number > strtol(slash + 1, NULL, 10))
		return kp_diag_set(diag, "newer_format", "format",
			"the file has format %s, this kplug reads up to %s: use a newer "
			"kplug, or set the file aside",
			format, newest);
	return 0;
}
