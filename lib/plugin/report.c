/* SPDX-License-Identifier: MIT */
/* Lines of a report: their mark, their bounds, their JSON. */
#include "lib/plugin/report.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "lib/base/json.h"

int kp_report_mark(struct kp_report_terms *terms)
{
	uint64_t words[2];

	/* So few bytes come at once, or not at all. */
	if (getrandom(words, sizeof(words), 0) != (ssize_t)sizeof(words))
		return -1;
	(void)snprintf(terms->mark, sizeof(terms->mark), "%016llx%016llx",
		(unsigned long long)words[0], (unsigned long long)words[1]);
	return 0;
}

void kp_report_finish(struct kp_report *report)
{
	free(report->line);
	report->line = NULL;
}

static int garbled(struct kp_report *report, const char *what)
{
	(void)snprintf(report->why, sizeof(report->why), "%s", what);
	return -1;
}

static int exhausted(struct kp_report *report)
{
	report->no_memory = true;
	return garbled(report, "no memory is left for a line");
}

/* ---- bounds -------------------------------------------------------------------- */

static size_t report_most(const struct kp_report_terms *terms)
{
	return terms->identifies ? KP_REPORT_IDENTIFY
				 : KP_REPORT_MORE + terms->kernels * KP_REPORT_KERNEL;
}

static size_t line_most(const struct kp_report *report, const char *line, size_t size)
{
	static const char note[] = "{\"note\":";
	size_t skip = strlen(report->terms.mark);

	if (!report->terms.identifies)
		return KP_REPORT_LINE;
	skip += skip > 0;
	return size >= skip + strlen(note) && memcmp(line + skip, note, strlen(note)) == 0
		       ? KP_REPORT_NOTE
		       : KP_REPORT_FACTS;
}

/* Each value but the first follows one of these. */
size_t kp_report_values(const char *text, size_t size)
{
	bool quoted = false;
	size_t count = 1;

	for (size_t i = 0; i < size; i++) {
		if (text[i] == '"')
			quoted = !quoted;
		else if (quoted)
			i += text[i] == '\\';
		else if (text[i] == ',' || text[i] == '[' || text[i] == '{')
			count++;
	}
	return count;
}

/* ---- lines --------------------------------------------------------------------- */

/* Behind the mark, or NULL. */
static const char *behind_mark(
	const struct kp_report *report, const char *line, size_t size)
{
	const char *mark = report->terms.mark;
	size_t length = strlen(mark);

	if (length == 0)
		return line;
	if (size <= length || memcmp(line, mark, length) != 0 || line[length] != ' ')
		return NULL;
	return line + length + 1;
}

/*
 * Not kp_json_parse: a line wraps a note, and a note alone may have all that
 * kp_json_parse accepts.
 */
static int take_line(struct kp_report *report, size_t size,
	const char *(*take)(void *context, json_t *line), void *context)
{
	const char *text = behind_mark(report, report->line, size);
	json_error_t error;
	bool no_memory;

	if (!text)
		return garbled(report, "a line is not the worker's own");
	size -= (size_t)(text - report->line);
	if (kp_report_values(text, size) > KP_REPORT_VALUES)
		return garbled(report, "a line has more than 524288 values");
	json_t *line =
		kp_json_load(text, size, JSON_REJECT_DUPLICATES, &error, &no_memory);
	if (no_memory)
		return exhausted(report);
	const char *why = !line			  ? error.text
			  : !json_is_object(line) ? "a line is not an object"
						  : take(context, line);
	json_decref(line);
	return why ? garbled(report, why) : 0;
}

static bool make_room(struct kp_report *report, size_t more)
{
	if (report->used + more <= report->room)
		return true;
	size_t room = (report->used + more) * 2;
	char *line = realloc(report->line, room);
	if (!line)
		return false;
	report->line = line;
	report->room = room;
	return true;
}

static int append(struct kp_report *report, const char *bytes, size_t size)
{
	char what[64];

	/* One more, so that there is a line also when it is empty. */
	if (!make_room(report, size + 1))
		return exhausted(report);
	memcpy(report->line + report->used, bytes, size);
	report->used += size;
	size_t most = line_most(report, report->line, report->used);
	if (report->used <= most)
		return 0;
	(void)snprintf(what, sizeof(what), "a line is longer than %zu KiB", most >> 10);
	return garbled(report, what);
}

int kp_report_take(struct kp_report *report, const char *bytes, size_t size,
	const char *(*take)(void *context, json_t *line), void *context)
{
	char what[64];
	size_t most = report_most(&report->terms);

	report->total += size;
	if (report->total > most) {
		(void)snprintf(
			what, sizeof(what), "it is longer than %zu KiB", most >> 10);
		return garbled(report, what);
	}
	while (size > 0) {
		const char *end = memchr(bytes, '\n', size);
		size_t n = end ? (size_t)(end - bytes) : size;
		if (append(report, bytes, n) < 0)
			return -1;
		if (!end)
			return 0;
		size_t length = report->used;
		report->used = 0;
		if (take_line(report, length, take, context) < 0)
			return -1;
		bytes += n + 1;
		size -= n + 1;
	}
	return 0;
}
