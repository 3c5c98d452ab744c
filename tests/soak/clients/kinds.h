/* SPDX-License-Identifier: MIT */
/* The kinds of clients that a soak has. */
#ifndef KP_SOAK_KINDS_H
#define KP_SOAK_KINDS_H

#include "tests/soak/clients/crowd.h"

/* Who asks as clients do, and whose replies are timed. */
extern const struct kind kind_reader;
/* Turns a plugin off and on, and looks whether it is. */
extern const struct kind kind_decider;
/* Reads each event; reads them slowly. */
extern const struct kind kind_watcher, kind_slow_watcher;
/*
 * Who costs: asks and leaves; asks without an end and reads nothing; asks much at once;
 * sends byte by byte; half a message; closes its half; what is no call.
 */
extern const struct kind kind_leaver, kind_deaf, kind_flood, kind_slow, kind_half,
	kind_closer, kind_garbage;

#endif
