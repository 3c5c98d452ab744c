/* SPDX-License-Identifier: MIT */
/* Words of workers weighed, ends of workers explained. */
#include "daemon/bench/bench_verdict.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGE = 1024 }; /* bytes of it, whoever says it */

/* ---- verdicts ---------------------------------------------------------------------- */

static const char *const verdicts[] = {"ok", "unverified", "wrong", "out_of_bounds",
	"unavailable", "unsupported", "error"};

/* A worker's word, if it is one that we know. */
static const char *reported_verdict(const json_t *report)
{
	const char *verdict = json_string_value(json_object_get(report, "verdict"));

	for (size_t i = 0; verdict && i < sizeof(verdicts) / sizeof(verdicts[0]); i++)
		if (strcmp(verdicts[i], verdict) == 0)
			return verdicts[i];
	return "error";
}

const char *bench_verdict(const struct bench_row *row, const struct bench_words *words,
	const struct kp_worker_result *result)
{
	if (!result)
		return row->verdict ? row->verdict : "error";
	switch (result->end) {
	case KP_WORKER_DONE:
		return reported_verdict(words->report);
	case KP_WORKER_TIMED_OUT:
		return "hung";
	case KP_WORKER_KILLED:
	case KP_WORKER_EXITED:
	case KP_WORKER_KILLED_PARENT:
	case KP_WORKER_REFUSED:
		return words->fault ? "out_of_bounds" : "crashed";
	default:
		return "error";
	}
}

static const char *side_text(const char *side)
{
	return strcmp(side, "inside") == 0   ? "wrote to the input"
	       : strcmp(side, "before") == 0 ? "touched memory before"
					     : "touched memory behind";
}

/* "touched memory behind c, 1 byte from it; killed by SIGSEGV during timing". */
static char *fault_text(const json_t *fault, const struct kp_worker_result *result)
{
	const char *name = "", *side = "";
	json_int_t distance = 0;
	char *text;

	(void)json_unpack((json_t *)fault, "{s:s, s:s, s:I}", "name", &name, "side",
		&side, "distance", &distance);
	if (asprintf(&text, "%s %.64s (%s %lld); %s", side_text(side), name,
		    strcmp(side, "inside") == 0 ? "at byte" : "bytes from it:",
		    (long long)distance, result->diag.message) < 0)
		return NULL;
	return text;
}

/* What it wrote last, for a death that nothing else explains: "free(): invalid ...". */
static char *death_text(const struct kp_worker_result *result)
{
	const char *output = result->output;
	size_t length = strlen(output);
	char *text;

	while (length > 0 && output[length - 1] == '\n')
		length--;
	size_t start = length;
	while (start > 0 && output[start - 1] != '\n')
		start--;
	if (asprintf(&text, "%s%s%.*s", result->diag.message, length ? ": " : "",
		    (int)(length - start), output + start) < 0)
		return NULL;
	return text;
}

char *bench_message_copy(const char *text)
{
	return text ? strndup(text, MESSAGE) : NULL;
}

char *bench_message(const struct bench_row *row, const struct bench_words *words,
	const struct kp_worker_result *result)
{
	if (!result)
		return bench_message_copy(row->message);
	if (result->end == KP_WORKER_DONE)
		return bench_message_copy(
			json_string_value(json_object_get(words->report, "message")));
	return words->fault ? fault_text(words->fault, result) : death_text(result);
}
