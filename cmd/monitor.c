/* SPDX-License-Identifier: MIT */
/* `pluginctl monitor`: a line an event, over restarts of plugind. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>

#include "cmd/command.h"
#include "cmd/field.h"
#include "cmd/monitor_line.h"
#include "cmd/session.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"

enum { STEP_MS = 50 };

static const struct question question = {
	"Monitor", {{"boot", KP_JSON_STRING, true}, {"sequence", KP_JSON_INTEGER, true},
			   {"event", KP_JSON_OBJECT | KP_JSON_NULL, false},
			   {"present", KP_JSON_OBJECT | KP_JSON_NULL, false}}};

struct watch {
	struct session *session;
	int stop;	 /* readable once somebody asks us to end */
	char boot[64];	 /* of what was seen last; "": nothing yet */
	long long since; /* the last event that was seen; negative: none */
	long long left;	 /* events to print */
	bool over;	 /* as it was asked for */
};

/* ---- the command line -------------------------------------------------------- */

static int read_count(const struct session *session, long long *count)
{
	const char *text = arguments_value(&session->arguments, "count");
	char *end;
	*count = LLONG_MAX;
	if (!text)
		return KP_EXIT_OK;
	errno = 0;
	*count = strtoll(text, &end, 10);
	if (end == text || *end || errno || *count < 1)
		return output_refuse(&session->output, "bad_count", text,
			"--count %s: a whole number above 0 is expected", text);
	return KP_EXIT_OK;
}

/* "17", or "BOOT:17". */
static int read_since(struct watch *watch)
{
	const struct session *session = watch->session;
	const char *text = arguments_value(&session->arguments, "since");
	char *end;
	if (!text)
		return KP_EXIT_OK;
	const char *colon = strrchr(text, ':');
	const char *number = colon ? colon + 1 : text;
	size_t size = colon ? (size_t)(colon - text) : 0;
	errno = 0;
	watch->since = strtoll(number, &end, 10);
	if (end == number || *end || errno || watch->since < 0 ||
		size >= sizeof(watch->boot))
		return output_refuse(&session->output, "bad_since", text,
			"--since %s: the sequence number of an event is expected, from "
			"0, with or without its boot: 17, or BOOT:17",
			text);
	memcpy(watch->boot, text, size);
	return KP_EXIT_OK;
}

/* ---- replies ----------------------------------------------------------------- */

static int put(struct watch *watch, const json_t *reply)
{
	const struct output *output = &watch->session->output;
	const json_t *event = json_object_get(reply, "event");
	bool is_event = json_is_object(event);
	int status = KP_EXIT_OK;
	if (!is_event && !json_is_object(json_object_get(reply, "present")))
		return KP_EXIT_OK;
	if (output->json)
		status = output_json_line(reply);
	else if (is_event)
		monitor_line_event(output, event);
	else
		monitor_line_gap(output, reply);
	if (!output_flush())
		status = KP_EXIT_FAILED;
	watch->left -= is_event;
	watch->over |= watch->left == 0;
	return status;
}

static void remember(struct watch *watch, const json_t *reply)
{
	const json_t *event = json_object_get(reply, "event");
	const char *boot = field_text(reply, "boot", "");
	(void)snprintf(watch->boot, sizeof(watch->boot), "%.*s",
		(int)sizeof(watch->boot) - 1, boot);
	if (json_is_object(event))
		watch->since = field_int(event, "sequence");
	else if (watch->since < 0 || json_is_true(json_object_get(reply, "gap")))
		watch->since = field_int(reply, "sequence");
}

static int take(struct watch *watch, const struct kp_reply_message *message)
{
	struct session *session = watch->session;
	if (message->error)
		return session_fail(session, message->error, message->parameters);
	int status = session_check(session, &question, message->parameters);
	if (status == KP_EXIT_OK)
		status = put(watch, message->parameters);
	if (status == KP_EXIT_OK)
		remember(watch, message->parameters);
	return status;
}

/* Until it is over, or *lost: the connection ended. */
static int follow(struct watch *watch, bool *lost, struct kp_diag *diag)
{
	struct session *session = watch->session;
	struct kp_reply_message message = {0};
	owned_json *parameters =
		json_pack("{s:s*, s:o*}", "boot", *watch->boot ? watch->boot : NULL,
			"since", watch->since < 0 ? NULL : json_integer(watch->since));
	if (!parameters)
		return output_no_memory(&session->output);
	kp_client_set_stop(session->client, watch->stop);
	int got = kp_client_call_more(
		session->client, question.method, parameters, &message, diag);
	/* The next event may be long in coming. */
	kp_client_set_timeout(session->client, -1);
	while (got == 0) {
		int status = take(watch, &message);
		bool goes_on = status == KP_EXIT_OK && !watch->over && message.continues;
		kp_reply_message_finish(&message);
		if (!goes_on)
			return status;
		got = kp_client_next(session->client, &message, diag);
	}
	watch->over = strcmp(diag->code, "interrupted") == 0;
	*lost = strcmp(diag->code, "disconnected") == 0;
	return watch->over || *lost ? KP_EXIT_OK
				    : output_fail_diag(&session->output, diag);
}

/* ---- connections ------------------------------------------------------------- */

/* Waits a moment; true: somebody asks us to end. */
static bool pause_is_over(const struct watch *watch)
{
	struct pollfd stop = {.fd = watch->stop, .events = POLLIN};
	return poll(&stop, 1, STEP_MS) > 0;
}

/* Until plugind listens again, or for as long as an answer may take. */
static int reconnect(struct watch *watch)
{
	struct session *session = watch->session;
	const char *path = arguments_value(&session->arguments, "socket");
	int64_t end = kp_clock_ms() + session->timeout_ms;
	struct kp_diag diag;
	kp_client_close(session->client);
	session->client = NULL;
	while (kp_client_open(path, session->timeout_ms, &session->client, &diag) < 0) {
		if (strcmp(diag.code, "no_daemon") != 0 || kp_clock_ms() >= end)
			return output_fail_diag(&session->output, &diag);
		if (pause_is_over(watch)) {
			watch->over = true;
			return KP_EXIT_OK;
		}
	}
	return KP_EXIT_OK;
}

static int watch_all(struct watch *watch)
{
	struct session *session = watch->session;
	bool once = arguments_has(&session->arguments, "no-reconnect");
	int status = session_connect(session);
	while (status == KP_EXIT_OK && !watch->over) {
		struct kp_diag diag;
		bool lost = false;
		status = follow(watch, &lost, &diag);
		if (status != KP_EXIT_OK || !lost)
			return status;
		if (once)
			return output_fail(&session->output, KP_EXIT_NO_DAEMON, &diag);
		output_remark(&session->output, "plugind has gone; waiting for it");
		status = reconnect(watch);
	}
	return status;
}

/* From now on they are read, not obeyed. */
static int take_signals(void)
{
	sigset_t set;
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -1;
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int run(struct session *session)
{
	struct watch watch = {.session = session, .since = -1};
	int status = read_count(session, &watch.left);
	if (status == KP_EXIT_OK)
		status = read_since(&watch);
	if (status != KP_EXIT_OK)
		return status;
	__attribute__((cleanup(kp_file_close))) int stop = take_signals();
	if (stop < 0)
		return output_refuse(&session->output, "io_error", "signals",
			"signals cannot be read: %s", strerror(errno));
	watch.stop = stop;
	return watch_all(&watch);
}

static const struct option options[] = {
	{"since", "[BOOT:]N",
		"begin behind event N (of this boot of plugind): what is not known any "
		"more is a gap",
		false},
	{"count", "N", "end after so many events", false},
	{"no-reconnect", NULL, "end with status 3 when plugind ends", false},
	{NULL, NULL, NULL, false},
};

const struct command monitor_command = {
	.name = "monitor",
	.args = "",
	.summary = "Print what happens, a line an event",
	.help = "States of plugins, generations, decisions, loads, reloads, damaged "
		"files. Waits for plugind when it restarts, up to --timeout or 30 s, "
		"then ends with status 3. Where events were missed it says how many, or "
		"that nobody knows, and prints the present state. With --json each line "
		"is a document of its own. Ends with status 0 on SIGINT and SIGTERM.",
	.options = options,
	.run = run,
};
