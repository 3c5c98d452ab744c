/* SPDX-License-Identifier: MIT */
/*
 * Many clients of one plugind, for so many seconds or until SIGTERM. Prints one JSON
 * object: how long replies took, what was changed, and what was wrong.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "tests/soak/clients/kinds.h"

static const struct kind *const kinds[] = {&kind_reader, &kind_decider, &kind_watcher,
	&kind_slow_watcher, &kind_leaver, &kind_deaf, &kind_flood, &kind_slow, &kind_half,
	&kind_closer, &kind_garbage};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]), SHARES = 200, START_MS = 1000 };

static volatile int ended;

static void end(int number)
{
	(void)number;
	ended = 1;
}

static _Noreturn void die(const char *what, const char *why)
{
	(void)fprintf(stderr, "clients: %s: %s\n", what, why);
	exit(1);
}

/* Of each kind its share, and at least one. */
static void gather(struct crowd *crowd, size_t count)
{
	for (size_t k = 0; k < KINDS; k++) {
		size_t n = (kinds[k]->share * count + SHARES - 1) / SHARES;
		for (size_t i = 0; i < n && crowd->count < CROWD_MOST; i++) {
			struct client *client = &crowd->clients[crowd->count++];
			client->kind = kinds[k];
			client->number = (unsigned)i;
			client->fd = -1;
			client->random =
				UINT64_C(0x9e3779b97f4a7c15) * (crowd->count + 1);
			crowd_rest(client, START_MS);
		}
	}
}

static void print_text(const char *text)
{
	for (; *text; text++)
		if (*text >= ' ' && *text != '\\' && *text != 0x7f)
			(void)putchar(*text == '"' ? '\'' : *text);
}

static void report(struct crowd *crowd)
{
	static const char *const names[ASKED] = {[ASKED_LIST] = "list",
		[ASKED_SELECT] = "select",
		[ASKED_EXPLAIN] = "explain",
		[ASKED_INFO] = "info",
		[ASKED_CHANGE] = "change"};
	uint64_t messages = 0;

	(void)printf("{");
	for (int i = 0; i < ASKED; i++) {
		latencies_print(&crowd->latencies[i], names[i]);
		(void)printf(", ");
		latencies_finish(&crowd->latencies[i]);
	}
	for (size_t i = 0; i < crowd->count; i++)
		messages += crowd->clients[i].messages;
	(void)printf("\"clients\": %zu, \"messages\": %" PRIu64 ", \"changes\": %" PRIu64
		     ", \"gaps\": %" PRIu64 ", \"cut\": %" PRIu64 ", \"wrong\": %" PRIu64
		     ", \"first\": \"",
		crowd->count, messages, crowd->changes, crowd->gaps, crowd->cut,
		crowd->wrong);
	print_text(crowd->first);
	(void)puts("\"}");
}

int main(int argc, char **argv)
{
	struct crowd crowd = {.epoll = epoll_create1(EPOLL_CLOEXEC)};

	if (argc != 5)
		die("usage", "clients SOCKET PAGE COUNT SECONDS");
	crowd.socket = argv[1];
	crowd.page = soak_page_map(argv[2], true);
	crowd.clients = calloc(CROWD_MOST, sizeof(*crowd.clients));
	if (!crowd.page || !crowd.clients || crowd.epoll < 0)
		die(argv[2], strerror(errno));
	(void)signal(SIGTERM, end);
	gather(&crowd, strtoul(argv[3], NULL, 10));
	int64_t seconds = strtoll(argv[4], NULL, 10);
	crowd_run(&crowd, crowd_now() + seconds * 1000000000, &ended);
	report(&crowd);
	free(crowd.clients);
	return 0;
}
