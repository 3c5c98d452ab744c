/* SPDX-License-Identifier: MIT */
/*
 * Generations as the text of a file: a line of JSON a plugin, each with a sum of its own,
 * between a first line that names the format and a last one that counts them.
 */
#ifndef KP_DAEMON_HISTORY_FILE_H
#define KP_DAEMON_HISTORY_FILE_H

#include <stddef.h>

#include "daemon/history/chronicle.h"
#include "lib/base/diag.h"

enum { HISTORY_BYTES = 64 << 20 };
#define HISTORY_FORMAT "kplug-history/1"

/* malloc'ed; NULL for want of memory. */
char *history_print(const struct chronicles *list, size_t *size);
/*
 * Reads into an empty list. What is wrong with a line is added to `wrong` (bad_history)
 * and costs that line. Fails for what is none at all: newer_format, bad_history; and
 * no_memory.
 */
int history_parse(const char *text, size_t size, const char *path,
	struct chronicles *list, struct kp_diags *wrong, struct kp_diag *diag)
	__attribute__((warn_unused_result));

#endif
