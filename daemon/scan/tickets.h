/* SPDX-License-Identifier: MIT */
/* Those who wait for the end of a scan. Knows no scan. */
#ifndef KP_DAEMON_TICKETS_H
#define KP_DAEMON_TICKETS_H

#include "daemon/scan/scan.h"

struct ticket;

/* -1: memory. */
int tickets_add(struct ticket **tickets, scan_done_fn *done, void *context)
	__attribute__((warn_unused_result));
/* Tells them all and frees the list. */
void tickets_answer(struct ticket **tickets, const struct scan_result *result);

#endif
