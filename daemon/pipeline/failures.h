/* SPDX-License-Identifier: MIT */
/* The last failures of each plugin, for `logs`. In memory; loop thread only. */
#ifndef KP_DAEMON_FAILURES_H
#define KP_DAEMON_FAILURES_H

#include <jansson.h>
#include <stdint.h>

struct kp_verdict;

enum {
	FAILURES_KEPT = 8,   /* a plugin */
	FAILURES_ALL = 1024, /* then a plugin's next one takes the place of its oldest */
};

/* By name of plugin, an object. What memory is short for is not kept. */
void failures_note(json_t *failures, const char *plugin, const struct kp_verdict *verdict,
	int64_t now);
void failures_forget(json_t *failures, const char *plugin);
/* The Failures of the interface, a new reference; NULL for want of memory. */
json_t *failures_of(const json_t *failures, const char *plugin);

#endif
