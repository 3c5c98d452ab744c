/* SPDX-License-Identifier: MIT */
/* Counting of clients. */
#include "daemon/socket/room.h"

#include <assert.h>

#include "daemon/socket/client.h"

static size_t most_of(enum role role)
{
	return role == ROLE_OBSERVER   ? ROOM_OBSERVERS
	       : role == ROLE_OPERATOR ? ROOM_OPERATORS
				       : ROOM_CLIENTS;
}

static size_t served_of(const struct room *room, unsigned uid)
{
	size_t n = 0;
	for (size_t i = 0; i < room->count; i++)
		n += !room->guests[i].refused && room->guests[i].uid == uid;
	return n;
}

static bool has_too_many(const struct room *room, unsigned uid)
{
	return room->shared && uid != 0 && served_of(room, uid) >= ROOM_A_USER;
}

int room_has_place(
	const struct room *room, enum role role, unsigned uid, struct kp_diag *diag)
{
	if (has_too_many(room, uid))
		return kp_diag_set(diag, "busy", "plugind",
			"uid %u has %d connections, no more are served at a time", uid,
			ROOM_A_USER);
	if (room->served < most_of(role))
		return 0;
	return kp_diag_set(diag, "busy", "plugind",
		"%zu clients are connected, try again", room->served);
}

bool room_can_refuse(const struct room *room)
{
	return room->count - room->served < ROOM_REFUSED;
}

void room_enter(struct room *room, const struct guest *guest)
{
	assert(room->count < ROOM_ALL);
	room->guests[room->count++] = *guest;
	room->served += !guest->refused;
}

void room_leave(struct room *room, const struct client *client)
{
	for (size_t i = 0; i < room->count; i++) {
		if (room->guests[i].client != client)
			continue;
		room->served -= !room->guests[i].refused;
		room->guests[i] = room->guests[--room->count];
		return;
	}
}

struct client *room_most_silent(
	const struct room *room, enum role role, unsigned uid, uint64_t now_ms)
{
	bool only_own = has_too_many(room, uid);
	struct client *found = NULL;
	uint64_t since = now_ms < ROOM_SILENT_MS ? 0 : now_ms - ROOM_SILENT_MS + 1;

	for (size_t i = 0; i < room->count; i++) {
		const struct guest *guest = &room->guests[i];
		if (guest->refused || guest->role > role ||
			(only_own && guest->uid != uid) ||
			client_silent_since(guest->client) >= since)
			continue;
		since = client_silent_since(guest->client);
		found = guest->client;
	}
	return found;
}

struct client *room_overdue(const struct room *room, uint64_t now_ms)
{
	for (size_t i = 0; i < room->count; i++)
		if (room->guests[i].refused &&
			now_ms - room->guests[i].came_ms >= ROOM_REFUSED_MS)
			return room->guests[i].client;
	return NULL;
}
