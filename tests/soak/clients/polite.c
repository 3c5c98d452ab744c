/* SPDX-License-Identifier: MIT */
/* Clients as they should be: they ask, change and watch. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/soak/clients/kinds.h"

enum { READ_MS = 1000, OFF_MS = 400, ON_MS = 1200 };

static bool is_error(const struct client *client)
{
	return strncmp(client->head, "{\"error\"", 8) == 0;
}

/* The plugin that a decision is about: the first in rank of its operation. */
static struct soak_plugin *first_of(const struct crowd *crowd, uint32_t part)
{
	return &crowd->page->plugins[part];
}

static void ask_select(
	struct crowd *crowd, struct client *client, const char *method, uint32_t part)
{
	char more[128];

	(void)snprintf(more, sizeof(more),
		"\"parameters\":{\"request\":{\"operation\":\"soak/part%02u\"}}", part);
	client->asked = (int)part;
	client->off = soak_load(&first_of(crowd, part)->off);
	crowd_call(crowd, client, method, more);
}

/* What was off before it was asked, and is still, must not be what is selected. */
static void judge_select(struct crowd *crowd, struct client *client)
{
	uint32_t part = (uint32_t)client->asked;
	char first[64];

	(void)snprintf(first, sizeof(first), "\"selected\":\"good%04u/", part);
	if (is_error(client) || !strstr(client->head, "\"selected\":\"good"))
		crowd_wrong(crowd, client, "nothing is selected");
	else if ((client->off & 1) && strstr(client->head, first) &&
		 soak_load(&first_of(crowd, part)->off) == client->off)
		crowd_wrong(crowd, client, "what is disabled is selected");
}

/* ---- reader -------------------------------------------------------------------------
 */

static void read_due(struct crowd *crowd, struct client *client)
{
	uint32_t part = (uint32_t)crowd_draw(client, crowd->page->parts);
	char more[96];

	client->step = (int)crowd_draw(client, 10);
	if (client->step < 4) {
		client->step = ASKED_LIST;
		crowd_call(crowd, client, "List", "");
	} else if (client->step < 7) {
		client->step = ASKED_SELECT;
		ask_select(crowd, client, "Select", part);
	} else if (client->step < 9) {
		client->step = ASKED_EXPLAIN;
		ask_select(crowd, client, "Explain", part);
	} else {
		client->step = ASKED_INFO;
		(void)snprintf(more, sizeof(more),
			"\"parameters\":{\"name\":\"good%04" PRIu64 "\"}",
			crowd_draw(client, crowd->page->good));
		crowd_call(crowd, client, "Info", more);
	}
}

/* The next one is timed from when it was to be asked for, whatever this one took. */
static void reader_due(struct crowd *crowd, struct client *client)
{
	if (client->asked_ns == 0)
		client->asked_ns = crowd_now();
	read_due(crowd, client);
}

static void reader_message(struct crowd *crowd, struct client *client)
{
	latencies_add(&crowd->latencies[client->step], crowd_now() - client->asked_ns);
	if (client->step == ASKED_SELECT || client->step == ASKED_EXPLAIN)
		judge_select(crowd, client);
	else if (is_error(client))
		crowd_wrong(crowd, client, "an error");
	uint64_t us =
		READ_MS * UINT64_C(500) + crowd_draw(client, READ_MS * UINT64_C(1000));
	client->asked_ns += (int64_t)us * 1000;
	client->due_ns = client->asked_ns;
}

const struct kind kind_reader = {"reader", 110, reader_due, reader_message, NULL};

/* ---- decider ------------------------------------------------------------------------
 */

static void decide(struct crowd *crowd, struct client *client, const char *method)
{
	char more[96];

	(void)snprintf(more, sizeof(more), "\"parameters\":{\"name\":\"good%04u\"}",
		client->number);
	client->asked_ns = crowd_now();
	crowd_call(crowd, client, method, more);
}

/* One after the other: off, looked at, on. */
enum { DISABLE, LOOK, ENABLE, STEPS };

static void decider_due(struct crowd *crowd, struct client *client)
{
	if (client->number >= crowd->page->parts)
		return;
	if (client->step == DISABLE) {
		decide(crowd, client, "Disable");
	} else if (client->step == LOOK) {
		ask_select(crowd, client, "Select", client->number);
	} else {
		__atomic_fetch_add(
			&first_of(crowd, client->number)->off, 1, __ATOMIC_SEQ_CST);
		decide(crowd, client, "Enable");
	}
}

static void decider_message(struct crowd *crowd, struct client *client)
{
	if (client->step == LOOK) {
		judge_select(crowd, client);
	} else {
		crowd->changes++;
		latencies_add(
			&crowd->latencies[ASKED_CHANGE], crowd_now() - client->asked_ns);
		if (is_error(client))
			crowd_wrong(crowd, client, "a decision is refused");
		else if (client->step == DISABLE)
			__atomic_fetch_add(&first_of(crowd, client->number)->off, 1,
				__ATOMIC_SEQ_CST);
	}
	crowd_rest(client, client->step == ENABLE ? ON_MS : OFF_MS);
	client->step = (client->step + 1) % STEPS;
}

const struct kind kind_decider = {"decider", 16, decider_due, decider_message, NULL};

/* ---- watcher ------------------------------------------------------------------------
 */

static void watch(struct crowd *crowd, struct client *client)
{
	client->sequence = -1;
	crowd_call(crowd, client, "Monitor", "\"more\":true");
}

/* Each event once and in order, or said that some are missing. */
static void watcher_message(struct crowd *crowd, struct client *client)
{
	json_t *reply = json_loads(client->head, 0, NULL);
	json_t *parameters = json_object_get(reply, "parameters");
	json_t *event = json_object_get(parameters, "event");
	json_t *sequence =
		json_object_get(json_is_object(event) ? event : parameters, "sequence");
	json_int_t at = json_integer_value(sequence);

	if (is_error(client))
		crowd_wrong(crowd, client, "an error");
	else if (!reply || json_is_true(json_object_get(parameters, "gap")))
		crowd->gaps++; /* too long for its head: what there is instead of events
				*/
	else if (client->sequence >= 0 && at != client->sequence + 1)
		crowd_wrong(crowd, client, "an event is missing, and nobody says so");
	client->sequence = reply ? at : -1;
	json_decref(reply);
}

static void watcher_due(struct crowd *crowd, struct client *client)
{
	watch(crowd, client);
}

enum { SIP_MS = 1000, SIP_BYTES = 4096 };

static void slow_watcher_due(struct crowd *crowd, struct client *client)
{
	if (client->step == 0) {
		client->step = 1;
		watch(crowd, client);
		crowd_listen(crowd, client, false);
	} else {
		crowd_taste(crowd, client, SIP_BYTES);
	}
	crowd_rest(client, SIP_MS);
}

const struct kind kind_watcher = {"watcher", 24, watcher_due, watcher_message, NULL};
const struct kind kind_slow_watcher = {
	"slow watcher", 6, slow_watcher_due, watcher_message, NULL};
