/* SPDX-License-Identifier: MIT */
/* Pins as the interface shows them: with what they come to in the table that holds. */
#ifndef KP_DAEMON_PINNED_H
#define KP_DAEMON_PINNED_H

#include <jansson.h>

struct daemon;

/* The Pinned of the interface of each pin, in byte order of operation. NULL: memory. */
json_t *pinned_list(struct daemon *daemon);

#endif
