/* SPDX-License-Identifier: MIT */
/* What one look at a directory sees of its files: names and stamps. Opens none. */
#ifndef KP_DAEMON_SIGHTING_H
#define KP_DAEMON_SIGHTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/scan/stamp.h"

/* A stamp that is younger than this when it is taken says nothing to a later run. */
enum { SIGHTING_SETTLE_MS = 2000 };

struct sighting {
	char *name;
	bool is_plain; /* a regular file, and no link */
	bool is_old;   /* its stamp was old enough when it was taken */
	struct stamp stamp;
};

/* In byte order of names. Zero it first. */
struct sightings {
	size_t count, room;
	struct sighting *items;
};

/*
 * Looks at the files of a directory whose names end in `end`, through links. Returns a
 * sum over all of them that differs when one may have changed, or who may write there;
 * 0: there is no such directory. `sightings` may be NULL, and lacks what there was no
 * memory for. Blocks.
 */
uint64_t sightings_read(const char *path, const char *end, struct sightings *sightings);
/* NULL: there was no such file. */
const struct sighting *sightings_find(
	const struct sightings *sightings, const char *name);
void sightings_finish(struct sightings *sightings);

/* Was this stamp, taken at `now_ns`, old enough? */
bool sighting_is_old(const struct stamp *stamp, int64_t now_ns);

#endif
