/* SPDX-License-Identifier: MIT */
/* What List and Kernels have in common. */
#ifndef KP_DAEMON_LISTING_H
#define KP_DAEMON_LISTING_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "daemon/generation.h"

struct call;
struct daemon;

/* Makes the message of a reply, malloc'ed; parameters: NULL where all is asked for. */
typedef char *listing_fn(struct daemon *daemon, const json_t *parameters, size_t *size);

/* Answers with the generation's ready message, made now if need be. */
void listing_reply(struct daemon *daemon, struct call *call,
	enum generation_message which, listing_fn *make);

/* Does an operation belong to what was asked: itself, its family, or all (NULL)? */
bool listing_is_of(const char *operation, const char *asked);

#endif
