/* SPDX-License-Identifier: MIT */
/* Pins as the interface shows them: with what they come to in the table that holds. */
#ifndef KP_DAEMON_PINNED_H
#define KP_DAEMON_PINNED_H

#include <jansson.h>

struct daemon;
struct kp_pin;

/* The Pinned of the interface. NULL for want of memory. */
json_t *pinned_json(struct daemon *daemon, const struct kp_pin *pin);
/* Of all pins, in byte order of operation. */
json_t *pinned_list(struct daemon *daemon);

#endif
