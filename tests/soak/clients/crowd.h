/* SPDX-License-Identifier: MIT */
/*
 * Connections of all kinds to one plugind, in one thread: each does something when its
 * time has come, and when a message is there. Knows no kind.
 */
#ifndef KP_SOAK_CROWD_H
#define KP_SOAK_CROWD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/soak/clients/latencies.h"
#include "tests/soak/page.h"

enum { CROWD_MOST = 256, HEAD_BYTES = 16384, CROWD_TEXT = 240 };

struct crowd;
struct client;

/* How one behaves. `share` of 200 are like that. */
struct kind {
	const char *name;
	unsigned share;
	void (*due)(struct crowd *crowd, struct client *client);
	/* A whole message, of which the head is kept, with a NUL behind. */
	void (*message)(struct crowd *crowd, struct client *client);
	/* plugind has ended the connection; NULL: it must not. */
	void (*ended)(struct crowd *crowd, struct client *client);
};

struct client {
	const struct kind *kind;
	unsigned number; /* of those of its kind */
	int fd;		 /* -1: not connected */
	bool reads;
	char *out; /* that the socket has not taken yet */
	size_t out_at, out_size;
	char head[HEAD_BYTES];
	size_t size; /* of the message so far */
	int64_t due_ns, asked_ns;
	int step, asked;
	uint32_t off;
	int64_t sequence;
	uint64_t random, messages;
};

struct crowd {
	const char *socket;
	struct soak_page *page;
	int epoll;
	size_t count;
	struct client *clients;
	struct latencies latencies[ASKED];
	uint64_t changes, gaps, wrong, cut;
	char first[CROWD_TEXT]; /* that was wrong */
};

int64_t crowd_now(void);

/* Connects, or says that it could not: then it is tried again. */
bool crowd_connect(struct crowd *crowd, struct client *client);
/* Closes the connection; it comes again after about so many milliseconds. */
void crowd_leave(struct crowd *crowd, struct client *client, unsigned ms);
/* Sends a call, its NUL included. */
void crowd_call(
	struct crowd *crowd, struct client *client, const char *method, const char *more);
void crowd_send(
	struct crowd *crowd, struct client *client, const char *bytes, size_t size);
/* Reads from now on, or no more. */
void crowd_listen(struct crowd *crowd, struct client *client, bool reads);
/* Reads once, so many bytes at most. */
void crowd_taste(struct crowd *crowd, struct client *client, size_t most);
/* It is due in about so many milliseconds: half of it to one and a half. */
void crowd_rest(struct client *client, unsigned ms);
uint64_t crowd_draw(struct client *client, uint64_t below);

/* Something is not as it must be. */
void crowd_wrong(struct crowd *crowd, const struct client *client, const char *what);

/* Until the end, of CLOCK_MONOTONIC. */
void crowd_run(struct crowd *crowd, int64_t end_ns, const volatile int *ended);

#endif
