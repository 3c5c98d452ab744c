/* SPDX-License-Identifier: MIT */
/* Prints findings. */
#include "cmd/findings.h"

#include <stdio.h>

#include "cmd/field.h"

int findings_status(const struct kp_lint *lint, bool warnings_count)
{
	bool bad = lint->counts[KP_SEVERITY_ERROR] > 0 ||
		   (warnings_count && lint->counts[KP_SEVERITY_WARNING] > 0);
	return bad ? KP_EXIT_NO : KP_EXIT_OK;
}

static enum tone tone_of(const json_t *finding)
{
	return field_is(finding, "severity", "error")	  ? TONE_BAD
	       : field_is(finding, "severity", "warning") ? TONE_WARN
							  : TONE_PLAIN;
}

/* As much of the place as is known. */
static void put_finding(const struct output *output, const json_t *finding)
{
	const json_t *line = json_object_get(finding, "line");
	const char *file = field_text(finding, "file", NULL);
	char place[48] = "";
	if (json_is_integer(line))
		(void)snprintf(place, sizeof(place), ":%lld:%lld",
			(long long)json_integer_value(line),
			(long long)field_int(finding, "column"));
	output_line(output, tone_of(finding), "%s%s%s%s: %s: %s", file ? file : "",
		file ? place : "", file ? ": " : "", field_text(finding, "severity", "?"),
		field_text(finding, "code", "?"), field_text(finding, "message", "?"));
	output_line(output, TONE_FAINT, "    %s", field_text(finding, "remedy", ""));
}

/* Quiet is what makes no difference to the status. */
static bool is_put(
	const struct output *output, const json_t *finding, bool warnings_count)
{
	return !output->quiet || field_is(finding, "severity", "error") ||
	       (warnings_count && field_is(finding, "severity", "warning"));
}

void findings_put(
	const struct output *output, const struct kp_lint *lint, bool warnings_count)
{
	size_t i;
	json_t *finding;
	json_array_foreach (lint->findings, i, finding)
		if (is_put(output, finding, warnings_count))
			put_finding(output, finding);
	if (lint->dropped > 0)
		output_warn(output, "%zu more findings are not shown", lint->dropped);
}

json_t *findings_json(const struct kp_lint *lint)
{
	const size_t *counts = lint->counts;
	return json_pack("{s:o, s:{s:I, s:I, s:I}, s:I}", "findings",
		lint->findings ? json_incref(lint->findings) : json_array(), "counts",
		"error", (json_int_t)counts[KP_SEVERITY_ERROR], "warning",
		(json_int_t)counts[KP_SEVERITY_WARNING], "note",
		(json_int_t)counts[KP_SEVERITY_NOTE], "dropped",
		(json_int_t)lint->dropped);
}

static const char *plural(size_t count)
{
	return count == 1 ? "" : "s";
}

const char *findings_counts(const struct kp_lint *lint, char text[FINDINGS_COUNTS])
{
	const size_t *counts = lint->counts;
	(void)snprintf(text, FINDINGS_COUNTS, "%zu error%s, %zu warning%s, %zu note%s",
		counts[KP_SEVERITY_ERROR], plural(counts[KP_SEVERITY_ERROR]),
		counts[KP_SEVERITY_WARNING], plural(counts[KP_SEVERITY_WARNING]),
		counts[KP_SEVERITY_NOTE], plural(counts[KP_SEVERITY_NOTE]));
	return text;
}
