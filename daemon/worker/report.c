/* SPDX-License-Identifier: MIT */
/* Writes report lines; knows nothing of what they are about. */
#include "daemon/worker/report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/file.h"
#include "lib/base/json.h"

/*
 * The last that is said, without a heap: whatever was to be told, it would lack a part,
 * or be taken for the plugin's fault.
 */
_Noreturn static void end_starved(const struct report *report)
{
	char line[256];
	int size = snprintf(line, sizeof(line),
		"%s%s{\"failed\":{\"code\":\"no_memory\",\"message\":\"memory is "
		"exhausted\",\"object\":null},\"state\":\"failed\"}\n",
		report->mark, *report->mark ? " " : "");

	(void)!write(report->fd, line, (size_t)size);
	_exit(EXIT_FAILURE);
}

/* Without a reader there is nothing left to do, and no code of others to run. */
void report_line(const struct report *report, json_t *line)
{
	char *text = line ? kp_json_dumps(line, JSON_COMPACT) : NULL;
	char *whole;
	int size = !text ? -1
			 : asprintf(&whole, "%s%s%s\n", report->mark,
				   *report->mark ? " " : "", text);
	if (size < 0 || kp_json_has_starved())
		end_starved(report);
	if (kp_file_write(report->fd, whole, (size_t)size) < 0)
		_exit(EXIT_FAILURE);
	free(whole);
	free(text);
	json_decref(line);
}

void report_stage(const struct report *report, const char *format, ...)
{
	char text[256];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	report_line(report, json_pack("{s:s}", "stage", text));
}

void report_failed(
	const struct report *report, const char *state, const struct kp_diag *diag)
{
	char message[REPORT_TEXT];
	kp_diag_text(diag, message, sizeof(message));
	report_line(report, json_pack("{s:{s:s, s:s, s:s}, s:s}", "failed", "code",
				    diag->code ? diag->code : "unknown", "message",
				    message, "object", diag->object, "state", state));
}

void report_loader(const struct report *report, const char *text)
{
	report_line(report, json_pack("{s:s}", "loader", text));
}

void report_end(const struct report *report)
{
	report_line(report, json_pack("{s:b}", "end", 1));
}
