/* SPDX-License-Identifier: MIT */
/*
 * How often a kernel of a library struck a user, or the machine, and when. Bounded; knows
 * no incident and turns nothing off.
 */
#ifndef KP_DAEMON_STRIKES_H
#define KP_DAEMON_STRIKES_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

enum {
	STRIKES_COUNTED = 16,  /* times of one kernel and user */
	STRIKES_MOST = 1024,   /* of users; then one of whoever has most gives way */
	STRIKES_OF_USER = 128, /* kernels; then the one that is longest ago gives way */
};
/* Whom they count for, in the place of a uid. */
#define STRIKES_MACHINE INT64_C(-1) /* as KP_QUARANTINE_ALL */

struct strike;
/* Zero it first. */
struct strikes {
	struct strike *items;
	size_t count, room;
};

void strikes_finish(struct strikes *strikes);

/*
 * One more. Returns how many there were within window_s before now, this one included; 1
 * also where memory is exhausted. sha256 may be "".
 */
size_t strikes_add(struct strikes *strikes, const char *kernel, const char *sha256,
	int64_t who, int64_t now, int64_t window_s);

/*
 * Forgets those of a kernel, or of all kernels of a plugin: of one, or (all != 0) of
 * everybody. How many entries there were.
 */
size_t strikes_forget(struct strikes *strikes, const char *name, int64_t who, int all);

/* For the file: a new array, and back. -1: it is none, or memory is exhausted. */
json_t *strikes_json(const struct strikes *strikes);
int strikes_read(struct strikes *strikes, const json_t *list)
	__attribute__((warn_unused_result));

#endif
