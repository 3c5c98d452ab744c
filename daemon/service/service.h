/* SPDX-License-Identifier: MIT */
/*
 * What the service manager is told of this daemon, and when: ready, progress, reloads,
 * the end, and that the loop still turns.
 */
#ifndef KP_DAEMON_SERVICE_SERVICE_H
#define KP_DAEMON_SERVICE_SERVICE_H

#include "lib/base/diag.h"

struct daemon;
struct service;

/*
 * Looks into the environment and starts the watchdog's timer, where there is one. A
 * transient daemon has nothing to tell: the environment is that of whoever started it.
 * NULL, with the diagnostic, for want of memory; what else is wrong is logged.
 */
struct service *service_new(struct daemon *daemon, struct kp_diag *diag);

/* Calls are answered from now on. */
void service_is_ready(struct service *service);

/* A reload begins: a scan has been asked for. */
void service_reload(struct service *service);
/* That scan has ended, once for each; the reload ends when all have their verdict. */
void service_has_looked(struct service *service);

/* Something has changed: the daemon tells this before it answers those who wait. */
void service_look(struct service *service);

/* The end begins: nothing is said after it. Freed by the loop. NULL is fine. */
void service_close(struct service *service);

#endif
