/* SPDX-License-Identifier: MIT */
/* Events, and gaps between them, as lines for people. */
#ifndef CMD_MONITOR_LINE_H
#define CMD_MONITOR_LINE_H

#include <jansson.h>

#include "cmd/output.h"

/* Of an Event of the interface. */
void monitor_line_event(const struct output *output, const json_t *event);
/* Of a reply of Monitor with present: what is not known, and what there is. */
void monitor_line_gap(const struct output *output, const json_t *reply);

#endif
