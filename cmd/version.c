/* SPDX-License-Identifier: MIT */
/* `pluginctl version`: this build and the daemon's. */
#include <string.h>

#include "cmd/command.h"
#include "cmd/field.h"
#include "cmd/grid.h"
#include "cmd/session.h"
#include "lib/base/build.h"

static const struct question question = {"Version", {{"version", KP_JSON_STRING, true}}};

static int put_text(const struct session *session, const json_t *daemon, const char *none)
{
	struct grid grid = {.columns = grid_pairs, .n_columns = 2};
	if (session->output.quiet) {
		output_line(&session->output, TONE_PLAIN, "%s", kp_build_version);
		return KP_EXIT_OK;
	}
	grid_pair(&grid, "pluginctl", "%s, protocol %d", kp_build_version,
		kp_build_protocol);
	if (daemon)
		grid_pair(&grid, "plugind", "%s, protocol %lld, plugin ABI %s%s%s",
			field_text(daemon, "version", "?"),
			(long long)field_int(daemon, "protocol"),
			field_text(daemon, "abi", "?"),
			*field_text(daemon, "build", "") ? ", " : "",
			field_text(daemon, "build", ""));
	else
		grid_pair(&grid, "plugind", "%s", none);
	return grid_print(&grid, &session->output);
}

static int put(const struct session *session, json_t *daemon, const char *none)
{
	if (!session->output.json)
		return put_text(session, daemon, none);
	owned_json *document = json_pack("{s:{s:s, s:i}, s:O?}", "client", "version",
		kp_build_version, "protocol", kp_build_protocol, "daemon", daemon);
	return document ? output_json(document) : output_no_memory(&session->output);
}

static int run(struct session *session)
{
	struct kp_diag diag;
	owned_json *reply = NULL;
	const char *path = arguments_value(&session->arguments, "socket");
	if (kp_client_open(path, session->timeout_ms, &session->client, &diag) < 0) {
		if (strcmp(diag.code, "no_daemon") == 0)
			return put(session, NULL, diag.message);
		return output_fail_diag(&session->output, &diag);
	}
	int status = session_ask(session, &question, json_object(), &reply);
	return status == KP_EXIT_OK ? put(session, reply, NULL) : status;
}

const struct command version_command = {
	.name = "version",
	.args = "",
	.summary = "Tell the versions of pluginctl and plugind apart",
	.help = "Answers also where no plugind runs. With --json {\"client\": {...}, "
		"\"daemon\": {...} or null}. With --quiet the version of pluginctl "
		"alone.",
	.run = run,
};
