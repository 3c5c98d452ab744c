/* SPDX-License-Identifier: MIT */
/*
 * Functions that code of this process has asked the C library to call at its end: atexit,
 * on_exit, at_quick_exit. What programs link stands in front of the C library's own, for
 * libraries that are loaded, too. Destructors of C++ objects are not counted: a library
 * of C++ has them, and they are the same in every process.
 */
#ifndef KP_WORKER_EXITS_H
#define KP_WORKER_EXITS_H

#include <stddef.h>

enum exits_kind { EXITS_ATEXIT, EXITS_ON_EXIT, EXITS_QUICK, EXITS_KINDS };

/* "atexit", "on_exit", "at_quick_exit". */
const char *exits_name(enum exits_kind kind);
/* How many there have been of each kind since the process began. */
void exits_count(size_t counts[EXITS_KINDS]);
/* The file's name of the last one's library, or "". */
void exits_last(enum exits_kind kind, char *name, size_t size);

#endif
