/* SPDX-License-Identifier: MIT */
/* `pluginctl kernels`: kernels in selection order, and why each is or is not usable. */
#include <string.h>

#include "cmd/command.h"
#include "cmd/exclusion.h"
#include "cmd/field.h"
#include "cmd/grid.h"
#include "cmd/name.h"
#include "cmd/session.h"

static const struct question question = {"Kernels", {{"kernels", KP_JSON_ARRAY, true}}};

static void add_kernel(struct grid *grid, const json_t *kernel)
{
	const json_t *position = json_object_get(kernel, "position");
	const json_t *reasons = json_object_get(kernel, "reasons");
	bool eligible = json_is_true(json_object_get(kernel, "eligible"));
	grid_add(grid, TONE_PLAIN, "%s", field_text(kernel, "kernel", "?"));
	if (json_is_integer(position))
		grid_add(grid, TONE_PLAIN, "%lld",
			(long long)json_integer_value(position));
	else
		grid_add(grid, TONE_FAINT, "-");
	grid_add(grid, TONE_PLAIN, "%lld %s", (long long)field_int(kernel, "priority"),
		field_text(kernel, "band", "-"));
	if (json_array_size(reasons) > 0)
		exclusion_add(grid, reasons);
	else
		grid_add(grid, eligible ? TONE_GOOD : TONE_WARN, "%s",
			eligible ? "usable" : field_text(kernel, "state", "?"));
}

/* Kernels from *at on that are of the same operation, under its name. */
static int put_operation(
	const struct output *output, const json_t *kernels, size_t *at, bool headed)
{
	static const struct grid_column columns[] = {{"KERNEL", false}, {"ORDER", true},
		{"PRIORITY", false}, {"USABLE", false}};
	struct grid grid = {.columns = columns, .n_columns = 4};
	const char *operation =
		field_text(json_array_get(kernels, *at), "operation", "?");
	if (headed) {
		if (*at > 0)
			output_line(output, TONE_PLAIN, "%s", "");
		output_line(output, TONE_TITLE, "%s", operation);
		grid.indent = 2;
	}
	while (*at < json_array_size(kernels)) {
		const json_t *kernel = json_array_get(kernels, *at);
		if (strcmp(field_text(kernel, "operation", "?"), operation) != 0)
			break;
		add_kernel(&grid, kernel);
		++*at;
	}
	return grid_print(&grid, output);
}

/* Where one operation was asked for, its name need not be repeated. */
static int put_text(const struct session *session, const json_t *kernels)
{
	const struct arguments *arguments = &session->arguments;
	bool headed = arguments->n_words == 0 || !strchr(arguments->words[0], '/');
	int status = KP_EXIT_OK;
	for (size_t at = 0; at < json_array_size(kernels) && status == KP_EXIT_OK;)
		status = put_operation(&session->output, kernels, &at, headed);
	return status;
}

static int run(struct session *session)
{
	const struct arguments *arguments = &session->arguments;
	const char *asked = arguments->n_words ? arguments->words[0] : NULL;
	owned_json *reply = NULL;
	owned_json *parameters = json_pack("{s:s*}", "operation", asked);
	if (!parameters)
		return output_no_memory(&session->output);
	session->as_it_is = true;
	int status = session_settle(session, parameters);
	if (status == KP_EXIT_OK)
		status = name_ask(session, &question, asked ? asked : "",
			json_incref(parameters), &reply);
	if (status != KP_EXIT_OK)
		return status;
	if (session->output.json)
		return session_print(session, reply);
	const json_t *kernels = json_object_get(reply, "kernels");
	if (session->output.quiet) {
		field_lines(&session->output, kernels, "kernel");
		return KP_EXIT_OK;
	}
	if (json_array_size(kernels) == 0)
		output_remark(&session->output, "no kernels");
	else
		status = put_text(session, kernels);
	session_remark_pending(session, reply);
	return status;
}

static const struct option options[] = {
	SESSION_SETTLE,
	{NULL, NULL, NULL, false},
};

const struct command kernels_command = {
	.name = "kernels",
	.args = "[FAMILY[/MODE]]",
	.most = 1,
	.summary = "List kernels in selection order, and why each is usable here or not",
	.help = "A family (\"gemm\"), an operation (\"gemm/mm\"), or everything. Order "
		"counts from 1 among the kernels of an operation that are usable on "
		"this machine; what a request asks for beyond that is for `pluginctl "
		"why`.",
	.options = options,
	.offline = true,
	.run = run,
};
