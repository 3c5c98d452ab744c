/* SPDX-License-Identifier: MIT */
/*
 * Who is connected and who may still come: so many at a time, so many a user, some
 * places for operators and root. Knows no socket.
 */
#ifndef KP_DAEMON_ROOM_H
#define KP_DAEMON_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/socket/role.h"
#include "lib/base/diag.h"

struct client;

enum {
	ROOM_CLIENTS = 256,   /* served at a time; more are told that we are busy */
	ROOM_OPERATORS = 252, /* the rest is for admins */
	ROOM_OBSERVERS = 240, /* the rest is for operators and admins */
	ROOM_A_USER = 64,     /* of one uid that is not 0, where all users are served */
	ROOM_REFUSED = 32,    /* beside them: they get their answer, then leave */
	ROOM_ALL = ROOM_CLIENTS + ROOM_REFUSED,
	ROOM_REFUSED_MS = 5000, /* for that; then they are cut off */
	ROOM_SILENT_MS = 30000, /* who has asked nothing for so long may have to go */
};

struct guest {
	struct client *client;
	enum role role;
	unsigned uid;
	bool refused;
	uint64_t came_ms;
};

/* Set `shared`, zero the rest. */
struct room {
	bool shared; /* all users are served */
	size_t count, served;
	struct guest guests[ROOM_ALL];
};

/* May one more be served? Code busy, and why. */
int room_has_place(const struct room *room, enum role role, unsigned uid,
	struct kp_diag *diag) __attribute__((warn_unused_result));
/* May one more be refused in words? */
bool room_can_refuse(const struct room *room);

/* Takes up a client that may come; counts it as served unless it is refused. */
void room_enter(struct room *room, const struct guest *guest);
void room_leave(struct room *room, const struct client *client);

/*
 * Whom to send away so that this one can be served: the one that has been silent
 * longest, and at least ROOM_SILENT_MS; of the same user where that one has too
 * many, never one of a higher role. NULL: nobody.
 */
struct client *room_most_silent(
	const struct room *room, enum role role, unsigned uid, uint64_t now_ms);

/* A refused one whose time is over, or NULL. */
struct client *room_overdue(const struct room *room, uint64_t now_ms);

#endif
