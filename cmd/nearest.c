/* SPDX-License-Identifier: MIT */
/* Asking for the candidates, and telling the nearest few. */
#include "cmd/nearest.h"

#include "cmd/command.h"
#include "cmd/exclusion.h"
#include "cmd/field.h"
#include "lib/base/text.h"

enum { SHOWN = 5, PREDICATES = 16 };

const struct question nearest_question = {
	"Explain", {{"operation", KP_JSON_STRING, true},
			   {"selected", KP_JSON_STRING | KP_JSON_NULL, true},
			   {"candidates", KP_JSON_ARRAY, true}}};

/* Which of the given options `pluginctl why` takes, too: " with the same --sig --on". */
static const char *same_options(
	const struct arguments *arguments, char *text, size_t size)
{
	const struct option *option = why_command.options;
	size_t used = 0;
	text[0] = '\0';
	for (; option->name; option++)
		if (arguments_has(arguments, option->name))
			used = kp_text_add(text, size, used, "%s --%s",
				used ? "" : " with the same", option->name);
	return text;
}

/* One line each, those that fail by the fewest predicates first. */
static void put(
	const struct session *session, const char *operation, const json_t *candidates)
{
	char same[256];
	size_t shown = 0;
	size_t count = json_array_size(candidates);
	for (size_t failing = 0; failing < PREDICATES && shown < SHOWN; failing++)
		for (size_t i = 0; i < count && shown < SHOWN; i++) {
			const json_t *candidate = json_array_get(candidates, i);
			const json_t *reasons = json_object_get(candidate, "reasons");
			if (json_array_size(reasons) != failing)
				continue;
			owned_text text = exclusion_print(json_array_get(reasons, 0));
			output_remark(&session->output, "  %s  %s",
				field_text(candidate, "kernel", "?"), text ? text : "");
			shown++;
		}
	if (count > shown)
		output_remark(&session->output,
			"  and %zu more; see `pluginctl why %s`%s", count - shown,
			operation, same_options(&session->arguments, same, sizeof(same)));
	else if (count > 0)
		output_remark(&session->output,
			"  `pluginctl why %s`%s has every predicate", operation,
			same_options(&session->arguments, same, sizeof(same)));
}

int nearest_put(struct session *session, const json_t *request)
{
	owned_json *reply = NULL;
	char *error = NULL;
	if (session->output.quiet)
		return KP_EXIT_NO;
	int status = session_try(session, &nearest_question,
		json_pack("{s:O}", "request", request), &reply, &error);
	if (status == KP_EXIT_OK && !error) {
		put(session, field_text(reply, "operation", "OPERATION"),
			json_object_get(reply, "candidates"));
		session_remark_pending(session, reply);
	}
	free(error);
	return status == KP_EXIT_OK ? KP_EXIT_NO : status;
}
