/* SPDX-License-Identifier: MIT */
/* Questions to the daemon, and its errors as exit statuses. */
#include "cmd/session.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd/field.h"
#include "cmd/versions.h"
#include "lib/base/clock.h"
#include "lib/base/json_layout.h"

enum { SETTLE_MOST_S = 600, AWAIT_STEP_MS = 20 };

int session_connect(struct session *session)
{
	struct kp_diag diag;
	if (session->client)
		return KP_EXIT_OK;
	if (arguments_has(&session->arguments, "offline"))
		return offline_start(session);
	const char *path = arguments_value(&session->arguments, "socket");
	if (kp_client_open(path, session->timeout_ms, &session->client, &diag) == 0)
		return KP_EXIT_OK;
	return output_fail_diag(&session->output, &diag);
}

int session_await(struct session *session, int wait_ms)
{
	static const struct timespec pause = {.tv_nsec = AWAIT_STEP_MS * 1000000L};
	const char *path = arguments_value(&session->arguments, "socket");
	int64_t end = kp_clock_ms() + wait_ms;
	struct kp_diag diag;
	if (arguments_has(&session->arguments, "offline"))
		return session_connect(session);
	while (kp_client_open(path, session->timeout_ms, &session->client, &diag) < 0) {
		if (strcmp(diag.code, "no_daemon") != 0 || kp_clock_ms() >= end)
			return output_fail_diag(&session->output, &diag);
		(void)nanosleep(&pause, NULL);
	}
	return KP_EXIT_OK;
}

json_t *session_aside(const struct session *session, const char *method, int timeout_ms)
{
	struct kp_reply_message message;
	struct kp_client *client = NULL;
	json_t *reply = NULL;
	const char *path = kp_client_path(session->client);

	if (kp_client_open(path, timeout_ms, &client, NULL) < 0)
		return NULL;
	if (kp_client_call(client, method, NULL, &message, NULL) == 0) {
		if (!message.error)
			reply = json_incref(message.parameters);
		kp_reply_message_finish(&message);
	}
	kp_client_close(client);
	return reply;
}

int session_check(
	struct session *session, const struct question *question, const json_t *reply)
{
	for (const struct kp_json_key *key = question->reply; key->name; key++) {
		const json_t *value = json_object_get(reply, key->name);
		if (value ? !(key->types & 1u << json_typeof(value)) : key->required) {
			owned_text versions = versions_say(session);
			return output_refuse(&session->output, "bad_reply",
				question->method,
				"the reply of plugind to %s has %s as %s%s",
				question->method, key->name, kp_json_type_name(value),
				versions ? versions : "");
		}
	}
	return KP_EXIT_OK;
}

/* Errors of Varlink itself have no code and message. */
static json_t *describe(
	const struct session *session, const char *error, const json_t *parameters)
{
	owned_text versions = versions_say(session);
	const char *object = "";
	const char *text;
	const char *key;
	json_t *value;
	json_object_foreach ((json_t *)(uintptr_t)parameters, key, value)
		if ((text = json_string_value(value)))
			object = text;
	char message[512];
	(void)snprintf(message, sizeof(message), "plugind answered %s%s%s%s", error,
		*object ? " about " : "", object, versions ? versions : "");
	json_t *clean = kp_json_clean_string(message);
	return json_pack("{s:s, s:o, s:s}", "code", "protocol_error", "message", clean,
		"object", object);
}

int session_print(struct session *session, const json_t *reply)
{
	if (!session->ready)
		return output_json(reply);
	output_put(&session->output, TONE_PLAIN, session->ready, session->ready_size);
	output_end_line();
	return KP_EXIT_OK;
}

/* A parameter that plugind does not know is not a person's mistake: pluginctl sent it. */
static int fail_known(
	struct session *session, enum kp_exit status, const json_t *parameters)
{
	if (!field_is(parameters, "code", "unknown_key"))
		return output_fail_reply(&session->output, status, parameters);
	owned_text versions = versions_say(session);
	owned_json *copy = json_copy((json_t *)(uintptr_t)parameters);
	owned_text whole = NULL;
	if (versions && asprintf(&whole, "%s%s", field_text(parameters, "message", ""),
				versions) < 0)
		whole = NULL;
	/* For want of memory the message stays as it is. */
	if (copy && whole)
		(void)json_object_set_new(copy, "message", json_string(whole));
	return output_fail_reply(&session->output, status, copy ? copy : parameters);
}

int session_fail(struct session *session, const char *error, const json_t *parameters)
{
	enum kp_exit status = kp_error_exit(error);
	if (json_string_value(json_object_get(parameters, "code")) &&
		json_string_value(json_object_get(parameters, "message")))
		return fail_known(session, status, parameters);
	owned_json *described = describe(session, error, parameters);
	if (!described)
		return output_no_memory(&session->output);
	return output_fail_reply(&session->output, status, described);
}

int session_late(struct session *session)
{
	return output_refuse(&session->output, "timed_out",
		kp_client_path(session->client), "still waiting after %g s",
		session->timeout_ms / 1000.0);
}

/*
 * A long list costs as much again and again to read, build and print as a value: where
 * it is printed as it came, its text is only laid out. False: it must be read.
 */
static bool lay_out(struct session *session, const struct question *question,
	const char *text, size_t size)
{
	static const char before[] = "{\"parameters\":";
	size_t n = sizeof(before) - 1;
	char first[64];
	int length = snprintf(first, sizeof(first), "{\"%s\":[", question->reply[0].name);
	return session->as_it_is && session->output.json && size > n + 1 &&
	       memcmp(text, before, n) == 0 &&
	       strncmp(text + n, first, (size_t)length) == 0 && text[size - 1] == '}' &&
	       kp_json_lay_out(text + n, size - n - 1, &session->ready,
		       &session->ready_size) == 0;
}

/* A reply is read, or laid out and then empty. */
static int call(struct session *session, const struct question *question,
	const json_t *parameters, struct kp_reply_message *message, struct kp_diag *diag)
{
	const char *text;
	size_t size;
	if (!session->as_it_is || !session->output.json)
		return kp_client_call(
			session->client, question->method, parameters, message, diag);
	if (kp_client_call_text(session->client, question->method, parameters, &text,
		    &size, diag) < 0)
		return -1;
	if (!lay_out(session, question, text, size))
		return kp_client_parse(session->client, text, size, message, diag);
	*message = (struct kp_reply_message){.parameters = json_object()};
	return message->parameters ? 0 : kp_diag_no_memory(diag);
}

int session_try(struct session *session, const struct question *question,
	json_t *parameters, json_t **reply, char **error)
{
	struct kp_reply_message message;
	struct kp_diag diag;
	owned_json *asked = parameters;
	if (!asked)
		return output_no_memory(&session->output);
	int status = session_connect(session);
	if (status != KP_EXIT_OK)
		return status;
	if (call(session, question, asked, &message, &diag) < 0)
		return session->late && session->client &&
				       strcmp(diag.code, "timed_out") == 0
			       ? session->late(session)
			       : output_fail_diag(&session->output, &diag);
	if (!message.error && !session->ready)
		status = session_check(session, question, message.parameters);
	if (status != KP_EXIT_OK) {
		kp_reply_message_finish(&message);
		return status;
	}
	*reply = message.parameters;
	*error = message.error;
	return KP_EXIT_OK;
}

int session_ask(struct session *session, const struct question *question,
	json_t *parameters, json_t **reply)
{
	char *error = NULL;
	owned_json *got = NULL;
	int status = session_try(session, question, parameters, &got, &error);
	if (status == KP_EXIT_OK && error)
		status = session_fail(session, error, got);
	else if (status == KP_EXIT_OK)
		*reply = json_incref(got);
	free(error);
	return status;
}

bool session_knows(
	struct session *session, const char *method, const char *key, const char *text)
{
	struct kp_reply_message message;
	owned_json *parameters = json_pack("{s:s}", key, text);
	if (!parameters || !session->client ||
		kp_client_call(session->client, method, parameters, &message, NULL) < 0)
		return false;
	bool known = !message.error;
	kp_reply_message_finish(&message);
	return known;
}

void session_progress(const struct session *session, const json_t *reply)
{
	const json_t *progress = json_object_get(reply, "progress");
	if (json_is_object(progress))
		output_progress(&session->output, "%lld of %lld  %s",
			(long long)field_int(progress, "done"),
			(long long)field_int(progress, "total"),
			field_text(progress, "kernel", ""));
}

void session_remark_pending(const struct session *session, const json_t *reply)
{
	size_t count = json_array_size(json_object_get(reply, "pending"));
	if (count > 0)
		output_remark(&session->output,
			"%zu still pending; `pluginctl status --wait` waits", count);
}

int session_settle(struct session *session, json_t *parameters)
{
	const char *text = arguments_value(&session->arguments, "settle");
	char *end;
	if (!text)
		return KP_EXIT_OK;
	errno = 0;
	double seconds = strtod(text, &end);
	if (end == text || *end || errno || !(seconds >= 0 && seconds <= SETTLE_MOST_S))
		return output_refuse(&session->output, "bad_settle", text,
			"--settle %s: seconds from 0 to %d are expected", text,
			SETTLE_MOST_S);
	int ms = (int)(seconds * 1000);
	if (session->timeout_ms >= 0)
		session->timeout_ms += ms;
	return json_object_set_new(parameters, "settle_ms", json_integer(ms)) < 0
		       ? output_no_memory(&session->output)
		       : KP_EXIT_OK;
}

int session_ask_settled(struct session *session, const struct question *question,
	json_t *parameters, json_t **reply)
{
	int status = parameters ? session_settle(session, parameters) : KP_EXIT_OK;

	if (status == KP_EXIT_OK)
		return session_ask(session, question, parameters, reply);
	json_decref(parameters);
	return status;
}

void session_finish(struct session *session)
{
	free(session->ready);
	kp_client_close(session->client);
	offline_finish(&session->offline);
	arguments_finish(&session->arguments);
}
