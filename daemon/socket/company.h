/* SPDX-License-Identifier: MIT */
/*
 * For a daemon that lives for its clients alone: ends it when the last one has gone,
 * and when none has come. Knows no socket.
 */
#ifndef KP_DAEMON_COMPANY_H
#define KP_DAEMON_COMPANY_H

#include <stddef.h>

struct company;
struct daemon;

/* Waits for the first client from now on. NULL when memory is exhausted. */
struct company *company_new(struct daemon *daemon);
/* So many clients are served. NULL is fine: then the daemon lives without them. */
void company_count(struct company *company, size_t clients);
/* NULL is fine; freed by the loop. */
void company_close(struct company *company);

#endif
