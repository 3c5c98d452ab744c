/* SPDX-License-Identifier: MIT */
/* Replies of a call. */
#include "daemon/socket/call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/daemon.h"
#include "daemon/socket/client.h"
#include "lib/base/text.h"

struct call {
	struct client *client; /* NULL: has left */
	json_t *parameters;
	struct wire_fds fds;
	bool more, oneway;
	enum role role;
	unsigned uid;
	pid_t pid;
	struct audit *audit; /* or NULL */
	uint64_t *count;     /* of calls of its method, or NULL */
	void (*gone)(void *context);
	void (*drained)(void *context);
	void *gone_context;
};

struct call *call_new(
	struct client *client, struct kp_call_message *message, struct wire_fds *fds)
{
	struct call *call = calloc(1, sizeof(*call));
	if (!call)
		return NULL;
	*call = (struct call){.client = client,
		.parameters = json_incref(message->parameters),
		.more = message->more,
		.oneway = message->oneway,
		.role = client_role(client),
		.uid = client_uid(client),
		.pid = client_pid(client),
		.fds = *fds};
	fds->count = 0;
	return call;
}

void call_audit(struct call *call, struct audit *audit)
{
	call->audit = audit;
}

void call_changes(struct call *call)
{
	if (call->audit)
		audit_before(call->audit);
}

static void end_audit(struct call *call, const struct kp_diag *refusal)
{
	audit_end(call->audit, refusal);
	call->audit = NULL;
}

static void call_free(struct call *call)
{
	json_decref(call->parameters);
	wire_fds_close(&call->fds);
	free(call);
}

void call_leave(struct call *call)
{
	struct kp_diag diag;

	call->client = NULL;
	if (!call->gone)
		return;
	call->gone(call->gone_context);
	kp_diag_set(&diag, "disconnected", NULL, "the client left before it was done");
	end_audit(call, &diag);
	call_free(call);
}

void call_count(struct call *call, uint64_t *count)
{
	call->count = count;
	++*count;
}

const json_t *call_parameters(const struct call *call)
{
	return call->parameters;
}

bool call_wants_more(const struct call *call)
{
	return call->more;
}

enum role call_role(const struct call *call)
{
	return call->role;
}

pid_t call_pid(const struct call *call)
{
	return call->pid;
}

unsigned call_uid(const struct call *call)
{
	return call->uid;
}

void call_on_gone(struct call *call, void (*gone)(void *context), void *context)
{
	call->gone = gone;
	call->gone_context = context;
}

void call_on_drained(struct call *call, void (*drained)(void *context))
{
	call->drained = drained;
}

size_t call_files(const struct call *call)
{
	return call->fds.count;
}

int call_file(const struct call *call, size_t i)
{
	return call->fds.fds[i];
}

size_t call_unread(const struct call *call)
{
	return call->client ? client_unread(call->client) : 0;
}

void call_drained(struct call *call)
{
	if (call->drained)
		call->drained(call->gone_context);
}

static void send_message(struct call *call, char *message, size_t size)
{
	if (call->client && !call->oneway)
		client_send(call->client, message, size);
	else
		free(message);
}

/* Before the last reply: whoever reads it finds the account of the call. */
static void begin_end(struct call *call)
{
	call->gone = NULL;
	end_audit(call, NULL);
}

static void end(struct call *call)
{
	if (call->client)
		client_answered(call->client);
	call_free(call);
}

static void finish(struct call *call, char *message, size_t size)
{
	begin_end(call);
	send_message(call, message, size);
	end(call);
}

int call_socket(const struct call *call)
{
	return call->client ? client_socket(call->client) : -1;
}

/* Takes `parameters`. */
static char *print_reply(json_t *parameters, size_t *size)
{
	char *message = kp_reply_print(parameters, false, size);
	json_decref(parameters);
	return message;
}

static void fail_no_memory(struct call *call)
{
	struct kp_diag diag;
	kp_diag_no_memory(&diag);
	call_fail(call, &diag, NULL);
}

void call_reply(struct call *call, json_t *parameters)
{
	size_t size = 0;
	if (!parameters) {
		fail_no_memory(call);
		return;
	}
	char *message = print_reply(parameters, &size);
	finish(call, message, size);
}

void call_reply_lasting(struct call *call, json_t *parameters)
{
	size_t size = 0;
	if (!parameters || call->more || call->oneway || !call->client) {
		call_reply(call, parameters);
		return;
	}
	char *message = print_reply(parameters, &size);
	if (message)
		client_keep(call->client, message, size, call->count);
	finish(call, message, size);
}

static void send_borrowed(struct call *call, const char *message, size_t size)
{
	if (call->client && !call->oneway)
		client_send_borrowed(call->client, message, size);
}

void call_reply_message(struct call *call, const char *message, size_t size)
{
	if (!message) {
		fail_no_memory(call);
		return;
	}
	begin_end(call);
	send_borrowed(call, message, size);
	end(call);
}

bool call_reply_with(struct call *call, json_t *parameters, const int *fds, size_t n_fds)
{
	size_t size = 0;
	char *message =
		parameters && call->more ? kp_reply_print(parameters, true, &size) : NULL;
	bool is_sent = message && call->client && !call->oneway;

	json_decref(parameters);
	if (is_sent)
		client_send_with(call->client, message, size, fds, n_fds);
	else
		free(message);
	return is_sent;
}

void call_reply_continues_message(struct call *call, const char *message, size_t size)
{
	if (call->more)
		send_borrowed(call, message, size);
}

void call_reply_continues(struct call *call, json_t *parameters)
{
	/* One that is lost to want of memory is progress only. */
	(void)call_reply_with(call, parameters, NULL, 0);
}

void call_fail_with(struct call *call, const char *error, json_t *parameters)
{
	size_t size = 0;
	char *message = parameters ? kp_error_print(error, parameters, &size) : NULL;

	if (call->client)
		tally_add(&client_daemon(call->client)->tallies.errors,
			strrchr(error, '.') + 1);
	json_decref(parameters);
	finish(call, message, size);
}

static bool has_nearest(const char *error)
{
	return strcmp(error, KP_INTERFACE ".NotFound") == 0 ||
	       strcmp(error, KP_INTERFACE ".InvalidArgument") == 0;
}

void call_fail(struct call *call, const struct kp_diag *diag, const char *nearest)
{
	const char *error = kp_error_name(diag->code);
	json_t *parameters = kp_diag_json(diag);
	char offered[KP_TEXT_OFFER];

	end_audit(call, diag);
	if (!nearest)
		nearest = kp_text_offered(diag->message, offered, sizeof(offered));
	if (parameters && has_nearest(error) &&
		json_object_set_new(parameters, "nearest",
			nearest ? json_string(nearest) : json_null()) < 0) {
		json_decref(parameters);
		parameters = NULL;
	}
	call_fail_with(call, error, parameters);
}
