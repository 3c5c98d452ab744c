/* SPDX-License-Identifier: MIT */
/* `pluginctl kernels`: kernels in selection order, and why each is or is not usable. */
#include <stdint.h>

#include "cmd/command.h"
#include "cmd/exclusion.h"
#include "cmd/field.h"
#include "cmd/grid.h"
#include "cmd/session.h"

static const struct question question = {"Kernels", {{"kernels", KP_JSON_ARRAY, true}}};

/* The first predicate in the row of the kernel, others in rows below. */
static void add_reasons(struct grid *grid, const json_t *kernel)
{
	const json_t *reasons = json_object_get(kernel, "reasons");
	size_t count = json_array_size(reasons);
	if (count == 0)
		grid_add(grid,
			json_is_true(json_object_get(kernel, "eligible")) ? TONE_GOOD
									  : TONE_WARN,
			"%s",
			json_is_true(json_object_get(kernel, "eligible"))
				? "usable"
				: field_text(kernel, "state", "?"));
	for (size_t i = 0; i < count; i++) {
		owned_chars text = exclusion_print(json_array_get(reasons, i));
		for (size_t c = 0; i > 0 && c < grid->n_columns - 1; c++)
			grid_add(grid, TONE_PLAIN, "%s", "");
		grid_add(grid, TONE_WARN, "%s", text ? text : "");
	}
}

static void add_kernel(struct grid *grid, const json_t *kernel)
{
	const json_t *position = json_object_get(kernel, "position");
	grid_add(grid, TONE_PLAIN, "%s", field_text(kernel, "kernel", "?"));
	grid_add(grid, TONE_PLAIN, "%s", field_text(kernel, "operation", "?"));
	if (json_is_integer(position))
		grid_add(grid, TONE_PLAIN, "%lld",
			(long long)json_integer_value(position));
	else
		grid_add(grid, TONE_FAINT, "-");
	grid_add(grid, TONE_PLAIN, "%lld %s", (long long)field_int(kernel, "priority"),
		field_text(kernel, "band", "-"));
	add_reasons(grid, kernel);
}

static int put_text(const struct session *session, const json_t *kernels)
{
	static const struct grid_column columns[] = {{"KERNEL", false},
		{"OPERATION", false}, {"ORDER", true}, {"PRIORITY", false},
		{"USABLE", false}};
	struct grid grid = {.columns = columns, .n_columns = 5};
	size_t i;
	json_t *kernel;
	json_array_foreach ((json_t *)(uintptr_t)kernels, i, kernel) {
		if (session->output.quiet)
			output_line(&session->output, TONE_PLAIN, "%s",
				field_text(kernel, "kernel", "?"));
		else
			add_kernel(&grid, kernel);
	}
	return session->output.quiet ? KP_EXIT_OK : grid_print(&grid, &session->output);
}

static int run(struct session *session)
{
	const struct arguments *arguments = &session->arguments;
	owned_json *reply = NULL;
	json_t *parameters = json_pack(
		"{s:s*}", "operation", arguments->n_words ? arguments->words[0] : NULL);
	int status = session_ask(session, &question, parameters, &reply);
	if (status != KP_EXIT_OK)
		return status;
	if (session->output.json)
		return output_json(&session->output, reply);
	const json_t *kernels = json_object_get(reply, "kernels");
	if (json_array_size(kernels) == 0)
		output_remark(&session->output, "no kernels");
	else
		status = put_text(session, kernels);
	if (field_count(reply, "pending"))
		output_remark(&session->output, "%zu plugins still pending",
			field_count(reply, "pending"));
	return status;
}

const struct command kernels_command = {
	.name = "kernels",
	.args = "[FAMILY[/MODE]]",
	.most = 1,
	.summary = "List kernels in selection order, and why each is usable here or not",
	.help = "A family (\"gemm\"), an operation (\"gemm/mm\"), or everything. Order "
		"counts "
		"from 1 among the kernels of an operation that are usable on this "
		"machine; "
		"what a request asks for beyond that is for `pluginctl why`.",
	.run = run,
};
