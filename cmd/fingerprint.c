/* SPDX-License-Identifier: MIT */
/* `pluginctl fingerprint`: one digest of all that decides. */
#include "cmd/fingerprint.h"

#include "cmd/command.h"
#include "cmd/field.h"

static const struct question asking = {"Fingerprint",
	{{"digest", KP_JSON_STRING, true}, {"lines", KP_JSON_ARRAY, true}}};

int fingerprint_ask(struct session *session, const char *device, json_t **reply)
{
	return session_ask_settled(session, &asking,
		json_pack("{s:s*, s:b}", "device", device, "lines", 1), reply);
}

static int run(struct session *session)
{
	const char *device = arguments_value(&session->arguments, "device");
	owned_json *reply = NULL;
	int status = fingerprint_ask(session, device, &reply);
	if (status != KP_EXIT_OK)
		return status;
	if (session->output.json)
		return output_json(reply);
	output_line(&session->output, TONE_PLAIN, "%s", field_text(reply, "digest", "?"));
	session_remark_pending(session, reply);
	return KP_EXIT_OK;
}

static const struct option options[] = {
	{"device", "ID", "for this device alone: cpu, or an id of `pluginctl devices`",
		false},
	SESSION_SETTLE,
	{NULL, NULL, NULL, false},
};

const struct command fingerprint_command = {
	.name = "fingerprint",
	.args = "",
	.summary = "One digest of everything that decides which kernel runs",
	.help = "Equal on machines that decide alike: families, the kernels that this "
		"machine can run by the digests of their libraries, their ranks and what "
		"they ask for, pins, and what is disabled. --json has a line for each; "
		"saved to a file, `pluginctl diff` says what differs.",
	.options = options,
	.offline = true,
	.run = run,
};
