/* SPDX-License-Identifier: MIT */
/* `pluginctl verify`: holds the results of kernels against the reference's. */
#include <errno.h>
#include <stdlib.h>

#include "cmd/command.h"
#include "cmd/field.h"
#include "cmd/name.h"
#include "cmd/request.h"
#include "cmd/session.h"
#include "cmd/verify_table.h"

static const struct question first = {"Verify", {{"format", KP_JSON_STRING, true}}};

/* ---- what is asked for ------------------------------------------------------------- */

static int read_seed(const char *text, json_int_t *seed, struct kp_diag *diag)
{
	char *end;
	errno = 0;
	long long value = strtoll(text, &end, 10);
	if (end == text || *end || errno || value < 0)
		return kp_diag_set(diag, "bad_seed", text,
			"--seed %s: a whole number from 0 is expected", text);
	*seed = value;
	return 0;
}

static int add_seeds(
	const struct arguments *arguments, json_t *parameters, struct kp_diag *diag)
{
	size_t at = 0;
	const char *text;
	json_int_t seed = 0;
	json_t *seeds;
	if (!arguments_has(arguments, "seed"))
		return 0;
	if (json_object_set_new(parameters, "seeds", seeds = json_array()) < 0)
		return kp_diag_no_memory(diag);
	while ((text = arguments_next(arguments, "seed", &at))) {
		if (read_seed(text, &seed, diag) < 0)
			return -1;
		if (json_array_append_new(seeds, json_integer(seed)) < 0)
			return kp_diag_no_memory(diag);
	}
	return 0;
}

static int build(
	const struct arguments *arguments, json_t **parameters, struct kp_diag *diag)
{
	json_t *traits = NULL;
	if (arguments_has(arguments, "trait") &&
		request_read_traits(arguments, &traits, diag) < 0)
		return -1;
	owned_json *all = json_pack("{s:s, s:s*, s:o*}", "operation", arguments->words[0],
		"signature", arguments_value(arguments, "sig"), "traits", traits);
	if (!all)
		return kp_diag_no_memory(diag);
	if (request_add_shapes(arguments, all, diag) < 0 ||
		request_add_list(arguments, "kernel", "kernels", all, diag) < 0 ||
		request_add_list(arguments, "layout", "layouts", all, diag) < 0 ||
		add_seeds(arguments, all, diag) < 0)
		return -1;
	*parameters = json_incref(all);
	return 0;
}

/* ---- the replies ------------------------------------------------------------------- */

/* The replies up to the last, which has all rows; those on the way tell how far it is. */
static int follow(struct session *session, struct kp_reply_message *message)
{
	struct kp_diag diag;
	int status = KP_EXIT_OK;
	while (status == KP_EXIT_OK && !message->error && message->continues) {
		status = session_check(session, &first, message->parameters);
		session_progress(session, message->parameters);
		kp_reply_message_finish(message);
		if (status == KP_EXIT_OK &&
			kp_client_next(session->client, message, &diag) < 0) {
			output_progress(&session->output, "%s", "");
			return output_fail_diag(&session->output, &diag);
		}
	}
	output_progress(&session->output, "%s", "");
	return status;
}

static int finish(struct session *session, const struct kp_reply_message *message)
{
	static const struct question last = {"Verify",
		{{"format", KP_JSON_STRING, true}, {"runs", KP_JSON_ARRAY, true}}};
	const json_t *reply = message->parameters;
	if (message->error) {
		name_explain(session, message->error, message->parameters,
			field_text(reply, "object", ""));
		return session_fail(session, message->error, message->parameters);
	}
	int status = session_check(session, &last, reply);
	if (status != KP_EXIT_OK)
		return status;
	json_t *runs = json_object_get(reply, "runs");
	owned_json *document =
		json_pack("{s:O, s:O, s:O*}", "format", json_object_get(reply, "format"),
			"runs", runs, "remarks", json_object_get(reply, "remarks"));
	if (!document)
		return output_no_memory(&session->output);
	status = session->output.json ? output_json(document)
				      : verify_table_print(&session->output, document);
	return status == KP_EXIT_OK && !verify_table_all_right(runs) ? KP_EXIT_NO
								     : status;
}

static int run(struct session *session)
{
	struct kp_diag diag;
	struct kp_reply_message message = {0};
	owned_json *parameters = NULL;
	if (build(&session->arguments, &parameters, &diag) < 0)
		return output_fail_diag(&session->output, &diag);
	int status = session_connect(session);
	if (status != KP_EXIT_OK)
		return status;
	if (kp_client_call_more(
		    session->client, first.method, parameters, &message, &diag) < 0)
		return output_fail_diag(&session->output, &diag);
	status = follow(session, &message);
	if (status == KP_EXIT_OK)
		status = finish(session, &message);
	kp_reply_message_finish(&message);
	return status;
}

static const struct option options[] = {
	{"sig", "SIGNATURE",
		"only this one; else all that a kernel and the reference have", false},
	{"shape", "DIM=N[,DIM=N]",
		"a shape, m=64,n=128,k=64; else the family's default and edge shapes",
		true},
	{"trait", "NAME=VALUE", "a trait: a number, true, false, a text", true},
	{"kernel", "NAME",
		"only this kernel, plugin/kernel, disabled or not; else all that can run "
		"here",
		true},
	{"layout", "NAME",
		"contiguous, offset, transposed, mixed, gaps, strided or in_place; else "
		"all",
		true},
	{"seed", "N", "of the inputs, each one more; else 1, 2 and 3", true},
	{NULL, NULL, NULL, false},
};

const struct command verify_command = {
	.name = "verify",
	.args = "FAMILY/MODE",
	.least = 1,
	.most = 1,
	.summary =
		"Check the results of the kernels of an operation, without timing them",
	.help = "Each kernel and shape has a process of its own. There it runs on "
		"tensors that lie in several ways, with inputs of several seeds, by one "
		"thread and by two, and is held against the reference each time; then "
		"on and on; then with what a host must not do: rules of plugins that it "
		"breaks are findings. A layout or shape that it refuses is unsupported, "
		"not wrong. Exit status 1 where something is wrong, crashes, hangs, "
		"writes out of bounds or has a finding, or a kernel was right nowhere. "
		"--timeout is for each answer. With --quiet a line a kernel and "
		"signature: both and the verdict, with tabs between them.",
	.options = options,
	.waits = true,
	.offline = true,
	.run = run,
};
