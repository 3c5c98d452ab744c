/* SPDX-License-Identifier: MIT */
/* Clients of a reply, and asking again until they have let go. */
#include "cmd/holds.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd/field.h"
#include "lib/base/clock.h"
#include "lib/base/text.h"

enum { STEP_MS = 20 };

static const struct question asking = {"Clients", {{"clients", KP_JSON_ARRAY, true}}};

static bool is_off(const json_t *hold)
{
	return json_is_true(json_object_get(hold, "off"));
}

char *holds_print(const json_t *client, bool all)
{
	const json_t *holds = json_object_get(client, "holds");
	char *text = strdup("");

	for (size_t i = 0; text && i < json_array_size(holds); i++) {
		const json_t *hold = json_array_get(holds, i);
		json_int_t count = field_int(hold, "count");
		char *longer = NULL;
		if (!all && !is_off(hold))
			continue;
		int size = count > 1 ? asprintf(&longer, "%s%s%s of %s (%lld)", text,
					       *text ? ", " : "",
					       field_text(hold, "what", "?"),
					       field_text(hold, "kernel", "?"),
					       (long long)count)
				     : asprintf(&longer, "%s%s%s of %s", text,
					       *text ? ", " : "",
					       field_text(hold, "what", "?"),
					       field_text(hold, "kernel", "?"));
		free(text);
		text = size < 0 ? NULL : longer;
	}
	return text;
}

static const char *plural(size_t count)
{
	return count == 1 ? " application" : " applications";
}

void holds_put(const struct session *session, const json_t *reply)
{
	const json_t *clients = json_object_get(reply, "clients");
	size_t pending = 0, obeyed = 0;

	for (size_t i = 0; i < json_array_size(clients); i++) {
		const json_t *client = json_array_get(clients, i);
		owned_text text = NULL;
		pending += field_is(client, "state", "pending") ||
			   field_is(client, "state", "behind");
		obeyed += field_is(client, "state", "obeyed");
		if (!field_is(client, "state", "held") ||
			!(text = holds_print(client, false)))
			continue;
		output_line(&session->output, TONE_WARN, "  held by %s (pid %lld): %s",
			field_text(client, "name", "?"),
			(long long)field_int(client, "pid"), text);
	}
	if (obeyed > 0)
		output_remark(&session->output, "%zu%s obeyed", obeyed, plural(obeyed));
	if (pending > 0)
		output_remark(&session->output, "%zu%s will, with the next call", pending,
			plural(pending));
}

/* ---- waiting ----------------------------------------------------------------- */

static bool concerns(const json_t *hold, const char *name)
{
	return !name || kp_text_is_below(field_text(hold, "kernel", ""), name);
}

/* The first client that holds it, or NULL. */
static const json_t *holder(const json_t *clients, const char *name)
{
	for (size_t i = 0; i < json_array_size(clients); i++) {
		const json_t *client = json_array_get(clients, i);
		const json_t *holds = json_object_get(client, "holds");
		for (size_t k = 0; k < json_array_size(holds); k++)
			if (is_off(json_array_get(holds, k)) &&
				concerns(json_array_get(holds, k), name))
				return client;
	}
	return NULL;
}

static int still_held(
	const struct session *session, const char *name, const json_t *client)
{
	owned_text text = holds_print(client, false);

	if (!text)
		return output_no_memory(&session->output);
	return output_refuse(&session->output, "still_held", name ? name : "kernels",
		"%s is disabled, but after %g s still held by %s (pid %lld): %s",
		name ? name : "what was named", session->timeout_ms / 1000.0,
		field_text(client, "name", "?"), (long long)field_int(client, "pid"),
		text);
}

int holds_wait(struct session *session, const char *name, json_t *reply)
{
	int64_t end =
		session->timeout_ms < 0 ? INT64_MAX : kp_clock_ms() + session->timeout_ms;
	const struct timespec step = {.tv_nsec = STEP_MS * 1000000L};
	const json_t *client;

	for (;;) {
		owned_json *now = NULL;
		int status = session_ask(session, &asking, json_object(), &now);
		if (status != KP_EXIT_OK)
			return status;
		json_t *clients = json_object_get(now, "clients");
		if (json_object_set(reply, "clients", clients) < 0)
			return output_no_memory(&session->output);
		client = holder(clients, name);
		if (!client)
			return KP_EXIT_OK;
		if (kp_clock_ms() >= end)
			return still_held(session, name, client);
		(void)nanosleep(&step, NULL);
	}
}
