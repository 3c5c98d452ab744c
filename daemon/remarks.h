/* SPDX-License-Identifier: MIT */
/*
 * What a decision cannot know of: plugins that are broken so that nobody knows their
 * kernels, GPUs whose driver does not tell their arch. No fallback is silent.
 */
#ifndef KP_DAEMON_REMARKS_H
#define KP_DAEMON_REMARKS_H

#include <jansson.h>
#include <stdbool.h>

struct daemon;

/*
 * Adds to the warnings of a Select or Explain reply. They change with the generation
 * only. `here`: it was asked of this machine, not of another. -1: memory is exhausted.
 */
int remarks_add(const struct daemon *daemon, bool here, json_t *reply)
	__attribute__((warn_unused_result));

#endif
