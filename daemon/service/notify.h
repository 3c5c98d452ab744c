/* SPDX-License-Identifier: MIT */
/*
 * Words to the service manager, by the protocol of sd_notify(3). Knows no daemon.
 *
 * $NOTIFY_SOCKET names a datagram socket: a path or, after '@', an abstract name. Each
 * datagram is lines VARIABLE=value; who sent it the kernel tells. Those that plugind
 * sends:
 *
 *	READY=1			calls are answered; a reload has ended
 *	RELOADING=1		a reload has begun, with
 *	MONOTONIC_USEC=N	the time of CLOCK_MONOTONIC (demanded since systemd 253)
 *	STOPPING=1		the end has begun
 *	STATUS=TEXT		one line for people
 *	WATCHDOG=1		alive; due before $WATCHDOG_USEC have passed, where
 *				$WATCHDOG_PID is this process or not set
 *	EXTEND_TIMEOUT_USEC=N	what is under way may take so much longer, from now on
 */
#ifndef KP_DAEMON_SERVICE_NOTIFY_H
#define KP_DAEMON_SERVICE_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/diag.h"

struct notify {
	int fd;		      /* connected; -1: nobody wants to know */
	uint64_t watchdog_us; /* 0: no watchdog */
};

/*
 * From the environment, and out of it: whom we start has nothing to tell. Code
 * bad_environment: $NOTIFY_SOCKET is no address, or nobody is there; then nothing will be
 * told, which is no reason not to run.
 */
int notify_open(struct notify *notify, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/* Takes all of these variables out of the environment. */
void notify_forget(void);

/*
 * Never waits. False: it was not taken (the manager is slow, or has gone) and is to be
 * said again. True where nobody wants to know.
 */
bool notify_send(const struct notify *notify, const char *text);

void notify_close(struct notify *notify);

#endif
