/* SPDX-License-Identifier: MIT */
/*
 * `pluginctl metrics`: plugind's figures in OpenMetrics' text format
 * (https://prometheus.io/docs/specs/om/open_metrics_spec/).
 */
#include <stdio.h>

#include "cmd/command.h"
#include "cmd/field.h"
#include "cmd/session.h"
#include "lib/base/owned.h"

static const struct question asking = {"Metrics", {{"metrics", KP_JSON_ARRAY, true}}};

static void put_escaped(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\n')
			(void)fputs("\\n", out);
		else
			(void)fprintf(out, *text == '\\' || *text == '"' ? "\\%c" : "%c",
				*text);
	}
}

static void put_labels(FILE *out, json_t *labels)
{
	const char *name, *between = "{";
	json_t *value;

	json_object_foreach (labels, name, value) {
		(void)fprintf(out, "%s%s=\"", between, name);
		put_escaped(out, json_is_string(value) ? json_string_value(value) : "");
		(void)fputc('"', out);
		between = ",";
	}
	if (*between == ',')
		(void)fputc('}', out);
}

/* The line of a sample; NULL for want of memory. */
static char *sample_line(const char *family, const json_t *sample)
{
	char *line = NULL;
	size_t size;
	FILE *out = open_memstream(&line, &size);

	if (!out)
		return NULL;
	(void)fprintf(out, "%s%s", family, field_text(sample, "suffix", ""));
	put_labels(out, json_object_get(sample, "labels"));
	(void)fprintf(out, " %.17g", json_number_value(json_object_get(sample, "value")));
	(void)fclose(out);
	return line;
}

static int put_samples(
	const struct output *output, const char *family, const json_t *samples)
{
	for (size_t i = 0; i < json_array_size(samples); i++) {
		owned_text line = sample_line(family, json_array_get(samples, i));
		if (!line)
			return output_no_memory(output);
		output_line(output, TONE_PLAIN, "%s", line);
	}
	return KP_EXIT_OK;
}

static int put_metric(const struct output *output, const json_t *metric)
{
	const char *name = field_text(metric, "name", "?");
	const char *unit = field_text(metric, "unit", "");

	output_line(output, TONE_PLAIN, "# TYPE %s %s", name,
		field_text(metric, "kind", "unknown"));
	if (*unit)
		output_line(output, TONE_PLAIN, "# UNIT %s %s", name, unit);
	output_line(
		output, TONE_PLAIN, "# HELP %s %s", name, field_text(metric, "help", ""));
	return put_samples(output, name, json_object_get(metric, "samples"));
}

static int run(struct session *session)
{
	owned_json *reply = NULL;
	int status = session_ask(session, &asking, json_object(), &reply);

	if (status != KP_EXIT_OK)
		return status;
	if (session->output.json)
		return output_json(reply);
	const json_t *metrics = json_object_get(reply, "metrics");
	for (size_t i = 0; status == KP_EXIT_OK && i < json_array_size(metrics); i++)
		status = put_metric(&session->output, json_array_get(metrics, i));
	if (status == KP_EXIT_OK)
		output_line(&session->output, TONE_PLAIN, "# EOF");
	return status;
}

const struct command metrics_command = {
	.name = "metrics",
	.args = "",
	.summary = "Print figures for monitoring, as OpenMetrics text",
	.help = "Counters begin anew with each start of plugind. man/examples has a "
		"timer that hands them to Prometheus' node exporter.",
	.run = run,
};
