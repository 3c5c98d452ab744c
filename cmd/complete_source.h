/* SPDX-License-Identifier: MIT */
/* Where the words come from that could stand in a place of the command line. */
#ifndef CMD_COMPLETE_SOURCE_H
#define CMD_COMPLETE_SOURCE_H

#include "cmd/session.h"

/*
 * What has been typed of a word: what stays in front ("--state="), and the rest; and the
 * first of the command's words before it, or NULL.
 */
struct typed {
	const char *before, *prefix, *first;
};

/* Prints a candidate, if it begins so, and what it is (may be ""). */
void complete_offer(struct session *session, const struct typed *typed, const char *word,
	const char *what);

/*
 * Offers what may stand for a placeholder of the help ("NAME[/KERNEL]", "FILE") behind
 * `place`, the name of a command or option. Where that is a file, the line ":files" or
 * ":directories" leaves it to the shell. KP_EXIT_OK, also where nothing is known of it;
 * or the status of what it printed.
 */
int complete_from(struct session *session, const struct typed *typed, const char *place,
	const char *placeholder) __attribute__((warn_unused_result));

#endif
