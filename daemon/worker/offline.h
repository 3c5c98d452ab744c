/* SPDX-License-Identifier: MIT */
/* `plugin-worker --identify FILE` and `--inspect`: looks at a library without a daemon.
 */
#ifndef KP_WORKER_OFFLINE_H
#define KP_WORKER_OFFLINE_H

#include <stdbool.h>

/*
 * Identifies the file in a child, which is watched over, and prints the verdict
 * (kp_verdict_json) as one line on stdout. State active: nothing is wrong with
 * it as far as its bytes tell; no code of it was run. With `families` the note is held
 * against those that lie beside this program, as the registry does. Returns the exit
 * status: 0 whenever a verdict was printed.
 */
int offline_identify(const char *file, bool families);

#endif
