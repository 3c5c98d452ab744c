/* SPDX-License-Identifier: MIT */
/* Which run of the machine this is. */
#ifndef KP_DAEMON_BOOT_H
#define KP_DAEMON_BOOT_H

#include <stddef.h>

enum { BOOT_TEXT = 128 };

/* A name that no other run has, and that can be one of a file. -1: not known. */
int boot_read(char *boot, size_t size) __attribute__((warn_unused_result));

#endif
