/* SPDX-License-Identifier: MIT */
/*
 * Whether the dynamic loader is at work on libraries that it has mapped, before any
 * constructor of theirs: there it calls the resolvers of their functions (IFUNC).
 */
#ifndef KP_WORKER_RELOCATION_H
#define KP_WORKER_RELOCATION_H

#include <stdbool.h>

/* Before a dlopen: what has been loaded until now. For the thread that loads. */
void relocation_expect(void);
/*
 * Since then the loader has mapped a library that it has not relocated yet. Safe in a
 * handler of signals of that thread. Where the C library cannot be asked: false.
 */
bool relocation_is_under_way(void);

#endif
