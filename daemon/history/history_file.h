/* SPDX-License-Identifier: MIT */
/*
 * Generations as the text of a file: a line of JSON a plugin, each with a sum of its own,
 * between a first line that names the format and a last one that counts them.
 */
#ifndef KP_DAEMON_HISTORY_FILE_H
#define KP_DAEMON_HISTORY_FILE_H

#include <stdio.h>

#include "daemon/history/chronicle.h"
#include "lib/base/diag.h"

enum { HISTORY_BYTES = 64 << 20 };
#define HISTORY_FORMAT "kplug-history/1"

/* malloc'ed; NULL for want of memory. */
char *history_print(const struct chronicles *list, size_t *size);

/*
 * The same in pieces, for a thousand plugins are some 20 ms. The list may change between
 * them: each plugin is in it as it was when its turn came, or not at all. Zero it.
 */
struct history_text {
	FILE *out;
	char *bytes;
	size_t size, lines;
	char *last; /* the plugin whose turn was the last */
};
/* So many plugins more. 1: there are more; 0: it is whole; -1: memory, and it is
 * finished. */
int history_text_go_on(struct history_text *text, const struct chronicles *list,
	size_t most) __attribute__((warn_unused_result));
/* What is whole: malloc'ed, the caller's. */
char *history_text_take(struct history_text *text, size_t *size);
void history_text_finish(struct history_text *text);
/*
 * Reads into an empty list. What is wrong with a line is added to `wrong` (bad_history)
 * and costs that line. Fails for what is none at all: newer_format, bad_history; and
 * no_memory.
 */
int history_parse(const char *text, size_t size, const char *path,
	struct chronicles *list, struct kp_diags *wrong, struct kp_diag *diag)
	__attribute__((warn_unused_result));

#endif
