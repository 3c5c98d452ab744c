/* SPDX-License-Identifier: MIT */
/* Which plugins of an index are what they were: stamps only, no file is opened. */
#ifndef KP_DAEMON_INDEX_LOOK_H
#define KP_DAEMON_INDEX_LOOK_H

#include <stdbool.h>

#include "daemon/scan/sighting.h"

struct index;
struct kp_trust;

struct index_look {
	const char *plugin_dir, *store_dir;
	const struct sightings *libraries; /* of plugin_dir */
	const struct kp_trust *trust;	   /* also: whose are they? NULL: anybody's */
};

/* Sets `holds` of the items whose manifest is known. Blocks on stat alone. */
void index_look(struct index *index, const struct index_look *look);

#endif
