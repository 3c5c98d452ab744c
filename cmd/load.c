/* SPDX-License-Identifier: MIT */
/* `pluginctl load` and `unload`. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/field.h"
#include "cmd/name.h"
#include "cmd/session.h"
#include "lib/base/file.h"

static const struct question loading = {"Load", {{"plugin", KP_JSON_OBJECT, true}}};
static const struct question unloading = {"Unload", {{"name", KP_JSON_STRING, true}}};

/* ---- load -------------------------------------------------------------------- */

static int ask_load(struct session *session, int fd, json_t **reply)
{
	const struct output *output = &session->output;
	struct kp_reply_message message;
	struct kp_diag diag;
	owned_json *parameters = json_pack("{s:i, s:s*}", "file", 0, "name",
		arguments_value(&session->arguments, "name"));
	if (!parameters)
		return output_no_memory(output);
	int status = session_connect(session);
	if (status != KP_EXIT_OK)
		return status;
	if (kp_client_call_fds(session->client, loading.method, parameters, &fd, 1,
		    &message, &diag) < 0)
		return strcmp(diag.code, "timed_out") == 0
			       ? session_late(session)
			       : output_fail_diag(output, &diag);
	if (message.error)
		status = session_fail(session, message.error, message.parameters);
	else
		status = session_check(session, &loading, message.parameters);
	if (status == KP_EXIT_OK)
		*reply = json_incref(message.parameters);
	kp_reply_message_finish(&message);
	return status;
}

static int put_load(const struct session *session, const json_t *plugin)
{
	const char *state = field_text(plugin, "state", "?");
	owned_text reason = field_sentence(json_object_get(plugin, "reason"), state);
	output_line(&session->output, field_state_tone(state), "%s: %s%s%s",
		field_text(plugin, "name", "?"), state, reason && *reason ? ": " : "",
		reason ? reason : "");
	if (field_state_tone(state) == TONE_BAD)
		output_remark(&session->output,
			"`pluginctl logs %s` has what is known of it, `pluginctl unload "
			"%s` takes it away",
			field_text(plugin, "name", "NAME"),
			field_text(plugin, "name", "NAME"));
	return KP_EXIT_OK;
}

static int run_load(struct session *session)
{
	const char *path = session->arguments.words[0];
	owned_json *reply = NULL;
	/* A pipe that nobody writes must not hold us up. */
	__attribute__((cleanup(kp_file_close))) int fd =
		open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return output_refuse(&session->output,
			errno == ENOENT ? "missing_file" : "unreadable_file", path,
			"cannot open %s: %s", path, strerror(errno));
	int status = ask_load(session, fd, &reply);
	if (status != KP_EXIT_OK)
		return status;
	const json_t *plugin = json_object_get(reply, "plugin");
	if (session->output.json)
		status = output_json(reply);
	else if (!session->output.quiet)
		status = put_load(session, plugin);
	return status == KP_EXIT_OK && field_state_tone(field_text(
					       plugin, "state", "?")) == TONE_BAD
		       ? KP_EXIT_NO
		       : status;
}

/* ---- unload ------------------------------------------------------------------ */

static int run_unload(struct session *session)
{
	const char *name = session->arguments.words[0];
	owned_json *reply = NULL;
	session->late = session_late;
	int status = name_check(session, name, "unloaded");
	if (status == KP_EXIT_OK)
		status = name_ask(session, &unloading, name,
			json_pack("{s:s}", "name", name), &reply);
	if (status != KP_EXIT_OK)
		return status;
	if (session->output.json)
		return output_json(reply);
	if (!session->output.quiet)
		output_line(&session->output, TONE_PLAIN, "%s: unloaded",
			field_text(reply, "name", "?"));
	return KP_EXIT_OK;
}

static const struct option options[] = {
	{"name", "NAME", "of the plugin; else the file's without .so", false},
	{NULL, NULL, NULL, false},
};

const struct command load_command = {
	.name = "load",
	.args = "FILE.so",
	.least = 1,
	.most = 1,
	.summary = "Try a library at once, until plugind ends",
	.help = "For admins. Passes the open file: plugind copies it, and goes with the "
		"copy the way of every plugin. Waits, and exits 1 where it is rejected "
		"or has failed; `pluginctl unload` takes it away. Libraries beside it "
		"are not taken along: `pluginctl install` is for good.",
	.options = options,
	.waits = true,
	.run = run_load,
};

const struct command unload_command = {
	.name = "unload",
	.args = "NAME",
	.least = 1,
	.most = 1,
	.summary = "Take a loaded library away",
	.help = "For admins. Applications that have it mapped keep it mapped; it is "
		"selected no more.",
	.waits = true,
	.run = run_unload,
};
