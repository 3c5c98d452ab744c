/* SPDX-License-Identifier: MIT */
/* Parameters from options, and replies put together. */
#include "cmd/bench_ask.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/field.h"
#include "cmd/name.h"
#include "cmd/request.h"

static const struct question first = {"Bench", {{"format", KP_JSON_STRING, true}}};
static const struct question last = {
	"Bench", {{"format", KP_JSON_STRING, true}, {"runs", KP_JSON_ARRAY, true}}};

/* What plugind takes when it is not told: see --time. */
static const double time_default_s = 0.5;

/* ---- what is asked for ------------------------------------------------------- */

/* How much is too much is for plugind to say. */
static int add_time(
	const struct arguments *arguments, json_t *parameters, struct kp_diag *diag)
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
	return json_object_set_new(parameters, "time_s", json_real(value)) < 0
		       ? kp_diag_no_memory(diag)
		       : 0;
}

static int add_count(const struct arguments *arguments, const char *option,
	const char *code, long long least, json_t *parameters, struct kp_diag *diag)
{
	const char *text = arguments_value(arguments, option);
	char *end;
	if (!text)
		return 0;
	errno = 0;
	long long value = strtoll(text, &end, 10);
	if (end == text || *end || errno || value < least)
		return kp_diag_set(diag, code, text,
			"--%s %s: a whole number from %lld is expected", option, text,
			least);
	return json_object_set_new(parameters, option, json_integer(value)) < 0
		       ? kp_diag_no_memory(diag)
		       : 0;
}

int bench_ask_build(const struct arguments *arguments, const char *operation,
	json_t **parameters, struct kp_diag *diag)
{
	json_t *traits = NULL;
	if (arguments_has(arguments, "trait") &&
		request_read_traits(arguments, &traits, diag) < 0)
		return -1;
	owned_json *all = json_pack("{s:s*, s:s*, s:o*}", "operation", operation,
		"signature", arguments_value(arguments, "sig"), "traits", traits);
	if (!all || (arguments_has(arguments, "no-check") &&
			    json_object_set_new(all, "check", json_false()) < 0))
		return kp_diag_no_memory(diag);
	if (add_time(arguments, all, diag) < 0 ||
		request_add_shapes(arguments, all, diag) < 0 ||
		request_add_list(arguments, "kernel", "kernels", all, diag) < 0 ||
		add_count(arguments, "seed", "bad_seed", 0, all, diag) < 0 ||
		add_count(arguments, "rounds", "bad_rounds", 1, all, diag) < 0 ||
		add_count(arguments, "threads", "bad_threads", 1, all, diag) < 0)
		return -1;
	*parameters = json_incref(all);
	return 0;
}

/* ---- the replies ------------------------------------------------------------- */

/* Does the reply say of what machine? Of a plugind of an earlier version none does. */
static int look_at_head(
	struct session *session, struct bench_ask *ask, const json_t *reply)
{
	bool is_head = json_is_object(json_object_get(reply, "platform"));
	int (*begins)(struct session *, const json_t *, void *) = ask->begins;
	if (!is_head || !begins)
		return KP_EXIT_OK;
	ask->begins = NULL;
	return begins(session, reply, ask->context);
}

static int take_reply(
	struct session *session, struct bench_ask *ask, const json_t *reply, json_t *runs)
{
	json_t *one = json_object_get(reply, "run");
	int status = session_check(session, &first, reply);
	session_progress(session, reply);
	if (status == KP_EXIT_OK)
		status = look_at_head(session, ask, reply);
	if (status == KP_EXIT_OK && json_is_object(one) &&
		json_array_append(runs, one) < 0)
		status = output_no_memory(&session->output);
	return status;
}

/*
 * The replies up to the last, which has all runs. A daemon that leaves them out
 * there has told them one by one.
 */
static int collect(struct session *session, struct bench_ask *ask,
	struct kp_reply_message *message, json_t *runs)
{
	struct kp_diag diag;
	int status = KP_EXIT_OK;
	while (status == KP_EXIT_OK && !message->error && message->continues) {
		status = take_reply(session, ask, message->parameters, runs);
		kp_reply_message_finish(message);
		if (status != KP_EXIT_OK)
			break;
		if (kp_client_next(session->client, message, &diag) < 0) {
			output_progress(&session->output, "%s", "");
			return output_fail_diag(&session->output, &diag);
		}
	}
	output_progress(&session->output, "%s", "");
	return status;
}

/* Of the last reply all that is about the whole, then the runs. */
static json_t *document_of(const json_t *reply, json_t *runs)
{
	static const char *const head[] = {"format", "version", "when", "families",
		"platform", "method", "threads", "request"};
	json_t *document = json_object();
	for (size_t i = 0; document && i < KP_COUNT(head); i++) {
		json_t *value = json_object_get(reply, head[i]);
		if (value && !json_is_null(value))
			(void)json_object_set(document, head[i], value);
	}
	if (json_object_set(document, "runs", runs) == 0)
		return document;
	json_decref(document);
	return NULL;
}

static int conclude(struct session *session, struct bench_ask *ask,
	const struct kp_reply_message *message, json_t *collected)
{
	if (message->error) {
		ask->error = strdup(message->error);
		ask->said = json_incref(message->parameters);
		return ask->error ? KP_EXIT_OK : output_no_memory(&session->output);
	}
	bool told = json_array_size(collected) > 0;
	int status = session_check(session, told ? &first : &last, message->parameters);
	if (status == KP_EXIT_OK)
		status = look_at_head(session, ask, message->parameters);
	if (status != KP_EXIT_OK)
		return status;
	json_t *runs = json_object_get(message->parameters, "runs");
	ask->document =
		document_of(message->parameters, json_is_array(runs) ? runs : collected);
	return ask->document ? KP_EXIT_OK : output_no_memory(&session->output);
}

/* A limit is for each answer, on top of the time that a run takes. */
static void allow_for(struct session *session, const json_t *parameters)
{
	const json_t *time = json_object_get(parameters, "time_s");
	double seconds = json_is_number(time) ? json_number_value(time) : time_default_s;
	double ms = session->timeout_ms + seconds * 1000;
	if (session->timeout_ms >= 0)
		kp_client_set_timeout(session->client, ms < INT_MAX ? (int)ms : INT_MAX);
}

int bench_ask(struct session *session, struct bench_ask *ask)
{
	struct kp_diag diag;
	struct kp_reply_message message = {0};
	owned_json *runs = json_array();
	if (!runs)
		return output_no_memory(&session->output);
	int status = session_connect(session);
	if (status != KP_EXIT_OK)
		return status;
	allow_for(session, ask->parameters);
	if (kp_client_call_more(
		    session->client, first.method, ask->parameters, &message, &diag) < 0)
		return output_fail_diag(&session->output, &diag);
	status = collect(session, ask, &message, runs);
	if (status == KP_EXIT_OK)
		status = conclude(session, ask, &message, runs);
	kp_reply_message_finish(&message);
	return status;
}

int bench_ask_fail(struct session *session, struct bench_ask *ask)
{
	name_explain(session, ask->error, ask->said, field_text(ask->said, "object", ""));
	return session_fail(session, ask->error, ask->said);
}

void bench_ask_finish(struct bench_ask *ask)
{
	json_decref(ask->document);
	json_decref(ask->said);
	free(ask->error);
	*ask = (struct bench_ask){.document = NULL};
}
