/* SPDX-License-Identifier: MIT */
/* What holds of a plugin or kernel: is it enabled, and if not, why? */
#ifndef KP_DAEMON_HOLDING_H
#define KP_DAEMON_HOLDING_H

#include <jansson.h>
#include <stdbool.h>

struct daemon;

struct holding {
	bool enabled;
	const char *word; /* as IsEnabled says it */
	json_t *reason;	  /* a new reference; JSON's null when it is enabled */
};

/*
 * Of `name`, "plugin" or "plugin/kernel", of this plugin. Of one that has left only
 * the decision is known.
 */
struct holding holding_of(struct daemon *daemon, const char *name, const char *plugin);

/* Adds to a reply what holds now; nothing of what has left. Takes reply. */
json_t *holding_add(struct daemon *daemon, const char *name, json_t *reply);

#endif
