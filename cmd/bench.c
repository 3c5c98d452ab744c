/* SPDX-License-Identifier: MIT */
/* `pluginctl bench`: measures the kernels of an operation, in plugind's workers. */
#include <string.h>

#include "cmd/bench_ask.h"
#include "cmd/bench_compare.h"
#include "cmd/bench_file.h"
#include "cmd/bench_table.h"
#include "cmd/command.h"
#include "cmd/field.h"
#include "cmd/nearest.h"

/* Why nothing was measured is why nothing is selected. */
static int put_nothing(struct session *session, const json_t *parameters)
{
	owned_json *request = json_pack("{s:O, s:O*, s:O*}", "operation",
		json_object_get(parameters, "operation"), "signature",
		json_object_get(parameters, "signature"), "traits",
		json_object_get(parameters, "traits"));
	const json_t *shapes = json_object_get(parameters, "shapes");
	if (!request || (shapes && json_object_set(request, "shape",
					   json_array_get(shapes, 0)) < 0))
		return output_no_memory(&session->output);
	output_remark(&session->output,
		"pluginctl: bench: nothing was measured: no "
		"kernel of %s is eligible",
		field_text(parameters, "operation", "?"));
	return nearest_put(session, request);
}

static int show(struct session *session, const json_t *parameters, const json_t *document)
{
	const char *save = arguments_value(&session->arguments, "save");
	const json_t *runs = json_object_get(document, "runs");
	bool is_document = session->output.json || (save && strcmp(save, "-") == 0);
	if (!is_document && json_array_size(runs) == 0)
		return put_nothing(session, parameters);
	int status =
		save ? bench_file_save(&session->output, save, document) : KP_EXIT_OK;
	if (status == KP_EXIT_OK)
		status = is_document ? output_json(document)
				     : bench_table_print(&session->output, document);
	bool is_good =
		bench_table_is_good(runs, arguments_has(&session->arguments, "no-check"));
	return status == KP_EXIT_OK && !is_good ? KP_EXIT_NO : status;
}

static int measure(struct session *session, const json_t *parameters)
{
	struct bench_ask ask = {.parameters = parameters};
	int status = bench_ask(session, &ask);
	if (status == KP_EXIT_OK)
		status = ask.error ? bench_ask_fail(session, &ask)
				   : show(session, parameters, ask.document);
	bench_ask_finish(&ask);
	return status;
}

static int run(struct session *session)
{
	const struct arguments *arguments = &session->arguments;
	const char *save = arguments_value(arguments, "save");
	const char *operation = arguments->n_words > 0 ? arguments->words[0] : NULL;
	struct kp_diag diag;
	owned_json *parameters = NULL;
	if (bench_ask_build(arguments, operation, &parameters, &diag) < 0)
		return output_fail_diag(&session->output, &diag);
	int status = save ? bench_file_check_place(&session->output, save) : KP_EXIT_OK;
	if (status != KP_EXIT_OK)
		return status;
	if (arguments_has(arguments, "compare"))
		return bench_compare(session, parameters);
	if (arguments_has(arguments, "threshold"))
		return output_refuse(&session->output, "usage", "--threshold",
			"--threshold is for --compare");
	if (!operation)
		return output_refuse(&session->output, "missing_argument", "FAMILY/MODE",
			"FAMILY/MODE is missing; only --compare takes it from its file");
	return measure(session, parameters);
}

static const struct option options[] = {
	{"sig", "SIGNATURE", "formats by role; else the family's defaults", false},
	{"shape", "DIM=N[,DIM=N]",
		"a shape to measure, m=64,n=128,k=64; else the family's", true},
	{"trait", "NAME=VALUE", "a trait: a number, true, false, a text, or a set 16|32",
		true},
	{"kernel", "NAME", "only this kernel, plugin/kernel; else all that can run here",
		true},
	{"threads", "N", "of kernels that divide their work (default 1)", false},
	{"time", "S", "seconds to measure a kernel and shape (default 0.5)", false},
	{"rounds", "N", "that share this time, each a process of its own (default 4)",
		false},
	{"seed", "N", "of the inputs", false},
	{"no-check", NULL, "do not ask whether results are right", false},
	{"save", "FILE", "write the result there, whole or not at all; - is stdout",
		false},
	{"compare", "FILE", "measure again what a saved result has, and compare", false},
	{"threshold", "PERCENT", "of change that counts in a comparison (default 5)",
		false},
	{NULL, NULL, NULL, false},
};

const struct command bench_command = {
	.name = "bench",
	.args = "[FAMILY[/MODE]]",
	.least = 0,
	.most = 1,
	.summary = "Measure the kernels of an operation, and check their results",
	.help = "Each kernel runs in processes of its own on the same inputs, in turn "
		"with the others, and is compared with the reference before, while and "
		"after it is timed. A FAMILY alone is all of its operations. Exit "
		"status 1 where one is wrong, crashes, hangs or writes out of bounds "
		"(FAIL); the others are measured all the same.\n"
		"+- is half of a 95 % interval of the median; SHARE the best median of "
		"the shape by the kernel's; ERROR the largest error by what is "
		"allowed.\n"
		"--compare takes operation, signature, shapes, kernels, seed and threads "
		"from the file where they are not given, and refuses results of another "
		"machine or of another revision of the family. A kernel is slower or "
		"faster where the intervals of both medians are apart and they differ "
		"by more than --threshold; unstable where its times are too scattered "
		"to tell. Exit status 1 where one is slower or not right.\n"
		"--timeout is for each answer and comes on top of --time. With --quiet a "
		"line a run: kernel, shape and median in microseconds (or -), with tabs "
		"between them; of a comparison kernel, shape, ratio and verdict.",
	.options = options,
	.waits = true,
	.offline = true,
	.run = run,
};
