/* SPDX-License-Identifier: MIT */
/* The RolledBack of a reply, in words. */
#ifndef CMD_ROLLED_H
#define CMD_ROLLED_H

#include <jansson.h>

/* "rolled back to generation 2: it crashes"; malloc'ed. NULL: it is none, or no memory.
 */
char *rolled_print(const json_t *rolled_back);

#endif
