/* SPDX-License-Identifier: MIT */
/* Disable, Enable and IsEnabled of a solution: all kernels of an operation that have it.
 */
#ifndef KP_DAEMON_SOLUTION_H
#define KP_DAEMON_SOLUTION_H

#include <stdbool.h>

struct call;
struct daemon;

/* Has the call a parameter "solution"? Then its name is an operation. */
bool solution_is_meant(const struct call *call);

/* They answer the call. Codes unknown_operation, no_such_solution and those of a change.
 */
void solution_disable(struct daemon *daemon, struct call *call);
void solution_enable(struct daemon *daemon, struct call *call);
void solution_is_enabled(struct daemon *daemon, struct call *call);

#endif
