/* SPDX-License-Identifier: MIT */
/* One attached application, for the files daemon/application/attached*.c. */
#ifndef KP_DAEMON_ATTACHED_CLIENT_H
#define KP_DAEMON_ATTACHED_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "daemon/application/attached.h"
#include "daemon/application/view.h"

struct application {
	struct application *previous, *next;
	struct attached *all;
	struct call *call; /* NULL: its connection has ended, perhaps its life, too */
	char name[ATTACHED_NAME];
	pid_t pid;
	unsigned uid;
	bool is_operator;
	int64_t since; /* wall clock */
	int slots;     /* its memory file */
	int pidfd;     /* -1: its death cannot be told */
	uv_poll_t watch;
	uint64_t sent;	  /* the generation of the last view it was sent */
	uint64_t began;	  /* the generation of the first */
	uint64_t sent_ms; /* of uv_now */
	uint64_t gone_ms;
	uint64_t reports_ms; /* when the first of these was */
	unsigned reports;
	bool behind; /* has not read the one before */
};

struct attached {
	struct daemon *daemon;
	struct application *first, *last;
	size_t count; /* with a connection */
	struct view view;
	uv_timer_t push, linger;
	void (*died)(void *context, const struct attached_death *death);
	void *context;
	uint64_t overtaken_ms; /* when the first of these was */
	unsigned overtaken;
	bool closing;
};

/* Frees it, from the loop; it is in no list any more afterwards. */
void application_leave(struct application *application);

#endif
