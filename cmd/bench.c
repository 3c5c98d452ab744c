/* SPDX-License-Identifier: MIT */
/* `pluginctl bench`: measures the kernels of an operation, in plugind's workers. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/bench_table.h"
#include "cmd/command.h"
#include "cmd/field.h"
#include "cmd/name.h"
#include "cmd/nearest.h"
#include "cmd/request.h"
#include "cmd/session.h"

static const struct question first = {"Bench", {{"format", KP_JSON_STRING, true}}};
static const struct question last = {
	"Bench", {{"format", KP_JSON_STRING, true}, {"runs", KP_JSON_ARRAY, true}}};

/* What plugind takes when it is not told: see --time. */
static const double time_default_s = 0.5;

/* ---- what is asked for ------------------------------------------------------- */

/* How much is too much is for plugind to say. */
static int read_time(
	const struct arguments *arguments, double *seconds, struct kp_diag *diag)
{
	const char *text = arguments_value(arguments, "time");
	char *end;
	if (!text)
		return 0;
	errno = 0;
	double value = strtod(text, &end);
	if (end == text || *end || errno || !isfinite(value) || value <= 0)
		return kp_diag_set(diag, "bad_time", text,
			"--time %s: seconds above 0 are expected", text);
	*seconds = value;
	return 0;
}

static int add_seed(
	const struct arguments *arguments, json_t *parameters, struct kp_diag *diag)
{
	const char *text = arguments_value(arguments, "seed");
	char *end;
	if (!text)
		return 0;
	errno = 0;
	long long value = strtoll(text, &end, 10);
	if (end == text || *end || errno || value < 0)
		return kp_diag_set(diag, "bad_seed", text,
			"--seed %s: a whole number from 0 is expected", text);
	return json_object_set_new(parameters, "seed", json_integer(value)) < 0
		       ? kp_diag_no_memory(diag)
		       : 0;
}

/* Each --shape is one to measure. */
static int add_shapes(
	const struct arguments *arguments, json_t *parameters, struct kp_diag *diag)
{
	size_t at = 0;
	const char *text;
	if (!arguments_has(arguments, "shape"))
		return 0;
	json_t *shapes = json_array();
	if (json_object_set_new(parameters, "shapes", shapes) < 0)
		return kp_diag_no_memory(diag);
	while ((text = arguments_next(arguments, "shape", &at))) {
		json_t *shape = json_object();
		if (json_array_append_new(shapes, shape) < 0)
			return kp_diag_no_memory(diag);
		if (request_read_shape(text, shape, diag) < 0)
			return -1;
	}
	return 0;
}

static int build(const struct arguments *arguments, json_t **parameters, double *seconds,
	struct kp_diag *diag)
{
	json_t *traits = NULL;
	if (read_time(arguments, seconds, diag) < 0 ||
		(arguments_has(arguments, "trait") &&
			request_read_traits(arguments, &traits, diag) < 0))
		return -1;
	json_t *time = *seconds > 0 ? json_real(*seconds) : NULL;
	owned_json *all = json_pack("{s:s, s:s*, s:o*, s:o*}", "operation",
		arguments->words[0], "signature", arguments_value(arguments, "sig"),
		"traits", traits, "time_s", time);
	if (!all)
		return kp_diag_no_memory(diag);
	if (add_shapes(arguments, all, diag) < 0 ||
		request_add_list(arguments, "kernel", "kernels", all, diag) < 0 ||
		add_seed(arguments, all, diag) < 0)
		return -1;
	*parameters = json_incref(all);
	return 0;
}

/* ---- the replies ------------------------------------------------------------- */

static void show_progress(const struct session *session, const json_t *reply)
{
	const json_t *progress = json_object_get(reply, "progress");
	if (json_is_object(progress))
		output_progress(&session->output, "%lld of %lld  %s",
			(long long)field_int(progress, "done"),
			(long long)field_int(progress, "total"),
			field_text(progress, "kernel", ""));
}

/*
 * The replies up to the last, which has all runs. A daemon that leaves them out
 * there has told them one by one.
 */
static int collect(
	struct session *session, struct kp_reply_message *message, json_t *runs)
{
	struct kp_diag diag;
	int status = KP_EXIT_OK;
	while (status == KP_EXIT_OK && !message->error && message->continues) {
		json_t *one = json_object_get(message->parameters, "run");
		status = session_check(session, &first, message->parameters);
		show_progress(session, message->parameters);
		if (json_is_object(one) && json_array_append(runs, one) < 0)
			status = output_no_memory(&session->output);
		kp_reply_message_finish(message);
		if (status != KP_EXIT_OK)
			return status;
		if (kp_client_next(session->client, message, &diag) < 0) {
			output_progress(&session->output, "%s", "");
			return output_fail_diag(&session->output, &diag);
		}
	}
	output_progress(&session->output, "%s", "");
	return status;
}

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

static int finish(struct session *session, const json_t *parameters,
	const struct kp_reply_message *message, json_t *collected)
{
	if (message->error) {
		name_explain(session, message->error, message->parameters,
			field_text(message->parameters, "object", ""));
		return session_fail(session, message->error, message->parameters);
	}
	bool told = json_array_size(collected) > 0;
	int status = session_check(session, told ? &first : &last, message->parameters);
	if (status != KP_EXIT_OK)
		return status;
	json_t *runs = json_object_get(message->parameters, "runs");
	if (!json_is_array(runs))
		runs = collected;
	owned_json *document = json_pack("{s:s, s:O}", "format",
		field_text(message->parameters, "format", "?"), "runs", runs);
	if (!document)
		return output_no_memory(&session->output);
	if (!session->output.json && json_array_size(runs) == 0)
		return put_nothing(session, parameters);
	status = session->output.json ? output_json(document)
				      : bench_table_print(&session->output, runs);
	return status == KP_EXIT_OK && !bench_table_all_ok(runs) ? KP_EXIT_NO : status;
}

/* A limit is for each answer, on top of the time that a run takes. */
static void allow_for(struct session *session, double seconds)
{
	double ms = session->timeout_ms + (seconds > 0 ? seconds : time_default_s) * 1000;
	if (session->timeout_ms >= 0)
		kp_client_set_timeout(session->client, ms < INT_MAX ? (int)ms : INT_MAX);
}

static int run(struct session *session)
{
	struct kp_diag diag;
	struct kp_reply_message message = {0};
	double seconds = 0;
	owned_json *parameters = NULL;
	owned_json *runs = json_array();
	if (!runs)
		return output_no_memory(&session->output);
	if (build(&session->arguments, &parameters, &seconds, &diag) < 0)
		return output_fail_diag(&session->output, &diag);
	int status = session_connect(session);
	if (status != KP_EXIT_OK)
		return status;
	allow_for(session, seconds);
	if (kp_client_call_more(
		    session->client, first.method, parameters, &message, &diag) < 0)
		return output_fail_diag(&session->output, &diag);
	status = collect(session, &message, runs);
	if (status == KP_EXIT_OK)
		status = finish(session, parameters, &message, runs);
	kp_reply_message_finish(&message);
	return status;
}

static const struct option options[] = {
	{"sig", "SIGNATURE", "formats by role; else the family's defaults", false},
	{"shape", "DIM=N[,DIM=N]",
		"a shape to measure, m=64,n=128,k=64; else the family's", true},
	{"trait", "NAME=VALUE", "a trait: a number, true, false, a text, or a set 16|32",
		true},
	{"kernel", "NAME", "only this kernel, plugin/kernel; else all that can run here",
		true},
	{"time", "S", "seconds to measure a kernel and shape (default 0.5)", false},
	{"seed", "N", "of the inputs", false},
	{NULL, NULL, NULL, false},
};

const struct command bench_command = {
	.name = "bench",
	.args = "FAMILY/MODE",
	.least = 1,
	.most = 1,
	.summary = "Measure the kernels of an operation, and check their results",
	.help = "Each kernel runs in its own process on the same inputs, and is compared "
		"with "
		"the reference before and after it is timed. Exit status 1 where one is "
		"wrong, "
		"crashes, hangs or writes out of bounds; the others are measured all the "
		"same. "
		"SHARE is the best median of the shape by the kernel's. --timeout is for "
		"each answer and comes on top of --time. With --quiet a line a run: "
		"kernel, shape and median in microseconds (or -), with tabs between "
		"them.",
	.options = options,
	.waits = true,
	.offline = true,
	.run = run,
};
