/* SPDX-License-Identifier: MIT */
/* Clients that cost: they must cost themselves alone. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "tests/soak/clients/kinds.h"

enum { REST_MS = 800, FLOOD = 64, DEAF = 16, HUGE_BYTES = 5 << 20 };

static const char select_call[] =
	"{\"method\":\"org.kplug.Manager.Select\",\"parameters\":"
	"{\"request\":{\"operation\":\"soak/part00\"}}}";
static const char list_call[] = "{\"method\":\"org.kplug.Manager.List\"}";

static void come_again(struct crowd *crowd, struct client *client)
{
	crowd_leave(crowd, client, REST_MS);
}

static void expect_reply(struct crowd *crowd, struct client *client)
{
	if (strncmp(client->head, "{\"parameters\"", 13) != 0)
		crowd_wrong(crowd, client, "no reply");
}

static void many(struct crowd *crowd, struct client *client, const char *call,
	size_t size, int count)
{
	for (int i = 0; i < count; i++)
		crowd_send(crowd, client, call, size);
}

/* ---- leaver, deaf, flood ------------------------------------------------------------
 */

static void leaver_due(struct crowd *crowd, struct client *client)
{
	crowd_send(crowd, client, list_call, sizeof(list_call));
	come_again(crowd, client);
}

const struct kind kind_leaver = {"leaver", 8, leaver_due, expect_reply, come_again};

/* First it asks, then, a while later, it leaves. */
static void deaf_due(struct crowd *crowd, struct client *client)
{
	if (client->step++ > 0) {
		come_again(crowd, client);
		return;
	}
	crowd_listen(crowd, client, false);
	many(crowd, client, list_call, sizeof(list_call), DEAF);
	crowd_rest(client, REST_MS);
}

const struct kind kind_deaf = {"deaf", 6, deaf_due, expect_reply, come_again};

static void flood_due(struct crowd *crowd, struct client *client)
{
	client->step = 0;
	many(crowd, client, select_call, sizeof(select_call), FLOOD);
}

static void flood_message(struct crowd *crowd, struct client *client)
{
	expect_reply(crowd, client);
	if (++client->step == FLOOD)
		crowd_rest(client, REST_MS);
}

const struct kind kind_flood = {"flood", 6, flood_due, flood_message, NULL};

/* ---- slow, half, closer -------------------------------------------------------------
 */

enum { BYTE_MS = 20 };

static void slow_due(struct crowd *crowd, struct client *client)
{
	crowd_send(crowd, client, &select_call[client->step], 1);
	if (++client->step < (int)sizeof(select_call))
		crowd_rest(client, BYTE_MS);
}

static void slow_message(struct crowd *crowd, struct client *client)
{
	expect_reply(crowd, client);
	client->step = 0;
	crowd_rest(client, REST_MS);
}

const struct kind kind_slow = {"slow", 6, slow_due, slow_message, NULL};

static void half_due(struct crowd *crowd, struct client *client)
{
	if (client->step++ > 0) {
		come_again(crowd, client);
		return;
	}
	crowd_send(crowd, client, select_call, sizeof(select_call) / 2);
	crowd_rest(client, 2 * REST_MS);
}

const struct kind kind_half = {"half", 6, half_due, expect_reply, come_again};

/* Says that it has nothing more to say, and waits for its reply all the same. */
static void closer_due(struct crowd *crowd, struct client *client)
{
	client->step = 0;
	crowd_send(crowd, client, select_call, sizeof(select_call));
	(void)shutdown(client->fd, SHUT_WR);
}

static void closer_message(struct crowd *crowd, struct client *client)
{
	expect_reply(crowd, client);
	client->step = 1;
}

static void closer_ended(struct crowd *crowd, struct client *client)
{
	if (client->step == 0)
		crowd_wrong(crowd, client, "it ended without a reply");
	come_again(crowd, client);
}

const struct kind kind_closer = {"closer", 6, closer_due, closer_message, closer_ended};

/* ---- garbage ------------------------------------------------------------------------
 */

static void send_deep(struct crowd *crowd, struct client *client)
{
	char text[4097];

	memset(text, '[', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	crowd_send(crowd, client, text, sizeof(text));
}

static void send_huge(struct crowd *crowd, struct client *client)
{
	char *text = malloc(HUGE_BYTES);

	if (!text)
		return;
	memset(text, 'x', HUGE_BYTES);
	crowd_send(crowd, client, text, HUGE_BYTES);
	free(text);
}

static void garbage_due(struct crowd *crowd, struct client *client)
{
	static const char *const texts[] = {"what is this", "{\"method\":7}", "\xff\xfe",
		"{\"method\":\"org.kplug.Manager.Select\",\"parameters\":{\"request\":3}"
		"}",
		"{\"method\":\"org.kplug.Manager.Nothing\"}",
		"{\"method\":\"a\",\"method\":\"b\"}"};
	enum { TEXTS = sizeof(texts) / sizeof(texts[0]) };
	size_t which = crowd_draw(client, TEXTS + 2);

	if (client->step++ > 0)
		come_again(crowd, client); /* its answer is late; so be it */
	else if (which == TEXTS)
		send_deep(crowd, client);
	else if (which == TEXTS + 1)
		send_huge(crowd, client);
	else
		crowd_send(crowd, client, texts[which], strlen(texts[which]) + 1);
	if (client->fd >= 0)
		crowd_rest(client, REST_MS);
}

static void garbage_message(struct crowd *crowd, struct client *client)
{
	if (strncmp(client->head, "{\"error\"", 8) != 0)
		crowd_wrong(crowd, client, "garbage is no error");
	come_again(crowd, client);
}

const struct kind kind_garbage = {"garbage", 6, garbage_due, garbage_message, come_again};
