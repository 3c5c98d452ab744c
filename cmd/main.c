/* SPDX-License-Identifier: MIT */
/* pluginctl: reads the command line and runs the command. */
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/help.h"
#include "cmd/session.h"

enum { TIMEOUT_MOST_S = 86400 };

/* Errors of the command line itself are JSON, too, if that is asked for anywhere. */
static bool wants_json(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--json") == 0)
			return true;
	return false;
}

static int read_timeout(struct session *session)
{
	const char *text = arguments_value(&session->arguments, "timeout");
	const struct command *command = session->arguments.command;
	session->timeout_ms = command && command->waits ? -1 : SESSION_TIMEOUT_MS;
	if (!text)
		return KP_EXIT_OK;
	char *end;
	errno = 0;
	double seconds = strtod(text, &end);
	if (end == text)
		return output_refuse(&session->output, "bad_timeout", text,
			"--timeout needs a number of seconds, not %s", text);
	if (*end || errno || !isfinite(seconds) || seconds <= 0 ||
		seconds > TIMEOUT_MOST_S)
		return output_refuse(&session->output, "bad_timeout", text,
			"--timeout %s: seconds above 0, at most %d, are expected", text,
			TIMEOUT_MOST_S);
	session->timeout_ms = seconds < 0.001 ? 1 : (int)(seconds * 1000);
	session->timeout_given = true;
	return KP_EXIT_OK;
}

static int run(struct session *session)
{
	const struct command *command = session->arguments.command;
	if (arguments_has(&session->arguments, "help"))
		return command ? help_one(&session->output, command)
			       : help_all(&session->output);
	if (arguments_has(&session->arguments, "version"))
		return help_version(&session->output);
	/* "--timeout list" has taken the command for a number. */
	int status = read_timeout(session);
	if (status != KP_EXIT_OK)
		return status;
	return command ? command->run(session) : help_usage(&session->output);
}

int main(int argc, char **argv)
{
	struct session session = {0};
	struct kp_diag diag;
	int status;

	/* For the widths of characters; messages stay as they are. */
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		(void)setlocale(LC_CTYPE, "");
	output_init(&session.output);
	session.output.json = wants_json(argc, argv);
	int parsed = arguments_parse(argc, argv, &session.arguments, &diag);
	session.output.quiet = arguments_has(&session.arguments, "quiet");
	if (session.arguments.command)
		session.output.what = session.arguments.command->name;
	if (parsed < 0)
		status = output_fail_diag(&session.output, &diag);
	else
		status = run(&session);
	session_finish(&session);
	return output_finish(status);
}
