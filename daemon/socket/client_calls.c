/* SPDX-License-Identifier: MIT */
/* Calls of a client, one after the other, and when its turn is. Reads and writes nothing.
 */
#include "daemon/socket/client_inside.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "daemon/daemon.h"
#include "daemon/incident/quarantine.h"
#include "daemon/socket/call.h"
#include "daemon/socket/refusal.h"
#include "lib/protocol/message.h"

enum {
	CALLS_A_TURN = 32, /* then others have theirs, ... */
	TURN_NS = 1000000, /* and after so long */
};

/* ---- ready answers ---- */

void client_keep(struct client *client, const char *message, size_t size, uint64_t *count)
{
	if (client->asked && !quarantine_has_own(client->daemon, client->uid))
		answers_keep(&client->daemon->generation.answers, client->asked,
			client->asked_size, message, size, count);
}

/* Sends what was answered to the same call before; false when nothing was. */
static bool send_kept(struct client *client, const char *text, size_t size)
{
	struct daemon *daemon = client->daemon;
	size_t length = 0;

	/* Before there is another generation nobody need have one for an answer. */
	if (daemon->is_behind || kp_registry_is_dirty(daemon->registry))
		return false;
	daemon_table(daemon);
	if (quarantine_has_own(daemon, client->uid))
		return false;
	const char *kept = answers_find(&daemon->generation.answers, text, size, &length);
	if (!kept)
		return false;
	client_send_borrowed(client, kept, length);
	return true;
}

/* ---- calls ---- */

void client_refuse(struct client *client, const struct kp_diag *diag)
{
	size_t size = 0;
	char *text = refusal_print(diag, &size);

	client_send(client, text, size);
}

static void run_method(struct client *client, struct call *call,
	const struct kp_call_message *message, const char *text, size_t size)
{
	client->asked = text;
	client->asked_size = size;
	method_run(client->daemon, call, message->method);
	client->asked = NULL;
}

/* Who reads the reply sees them closed. */
static void refuse_fds(struct client *client, struct wire_fds *fds)
{
	struct kp_diag diag;

	wire_fds_close(fds);
	if (fds->excess)
		kp_diag_set(&diag, "unexpected_descriptor", NULL,
			"more than %d file descriptors came with this call, which takes "
			"no such number",
			WIRE_FDS);
	else
		kp_diag_set(&diag, "unexpected_descriptor", NULL,
			"a file descriptor came with this call, which takes none");
	client_refuse(client, &diag);
}

/* Takes those of *fds that the call is to have. */
static void serve(
	struct client *client, const char *text, size_t size, struct wire_fds *fds)
{
	struct kp_call_message message;
	struct kp_diag diag;

	if (fds->count == 0 && !client->refused && send_kept(client, text, size))
		return;
	if (kp_call_parse(text, size, &message, &diag) < 0) {
		client_refuse(client, &diag);
		return;
	}
	if (fds->count > 0 && !method_takes_files(message.method)) {
		refuse_fds(client, fds);
		kp_call_message_finish(&message);
		return;
	}
	struct call *call = call_new(client, &message, fds);
	client->call = call;
	if (!call)
		client_close(client);
	else if (client->refused) {
		client->last_call = true;
		call_fail(call, &client->refusal, NULL);
	} else
		run_method(client, call, &message, text, size);
	kp_call_message_finish(&message);
}

static void start_call(struct client *client, const char *text, size_t size)
{
	struct wire_fds fds = client->fds;
	struct kp_diag diag;

	client->fds = (struct wire_fds){.count = 0};
	if (size > KP_MESSAGE_BYTES) {
		kp_diag_set(&diag, "message_too_large", NULL,
			"a call of %zu bytes, at most %d are read", size,
			KP_MESSAGE_BYTES);
		client_refuse(client, &diag);
	} else if (fds.excess) {
		refuse_fds(client, &fds);
	} else {
		serve(client, text, size, &fds);
	}
	wire_fds_close(&fds);
}

static bool can_run(const struct client *client)
{
	return !client->closing && !client->broken && !client->call &&
	       !client->last_call && client->out.unsent < UNSENT_HIGH;
}

static void run_some(struct client *client)
{
	uint64_t end = uv_hrtime() + TURN_NS;

	client->running = true;
	for (int turn = 0; turn < CALLS_A_TURN && can_run(client); turn++) {
		size_t size;
		const char *text = kp_frame_next(&client->in, &size);
		client->has_frames = text != NULL;
		if (!text)
			break;
		start_call(client, text, size);
		if (uv_hrtime() >= end)
			break;
	}
	client->running = false;
	/* Who decides goes on in the next round, others behind each other. */
	if (client->role == ROLE_OBSERVER && client->has_frames && can_run(client))
		turns_wait(client->daemon->turns, &client->turn);
}

static void end_calls(struct client *client)
{
	if (client->last_call)
		client->has_frames = false;
	if (!client->closing && client->ended && !client->call && !client->has_frames &&
		!client->out.first)
		client_close(client);
	client_poll_again(client);
}

void client_run_calls(struct client *client)
{
	struct turns *turns = client->daemon->turns;

	if (client->role == ROLE_OBSERVER && client->has_frames && can_run(client) &&
		turns_are_taken(turns))
		turns_wait(turns, &client->turn);
	else
		run_some(client);
	end_calls(client);
}

/* ---- turns ---- */

void client_answered(struct client *client)
{
	client->call = NULL;
	client->half = false;
	if (!client->running && !client->closing) {
		client->has_frames = true;
		/* From the loop, not from inside whoever answered. */
		client_poll_again(client);
	}
}

/* Nobody is asked before it: that is over. */
void client_come(struct turn *turn)
{
	struct client *client =
		(struct client *)((char *)turn - offsetof(struct client, turn));

	run_some(client);
	end_calls(client);
}
