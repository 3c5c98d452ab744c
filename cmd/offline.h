/* SPDX-License-Identifier: MIT */
/*
 * `--offline`: a plugind of the command's own, with a state that nobody else has. It
 * ends with its last client, which is this process, however that ends.
 */
#ifndef CMD_OFFLINE_H
#define CMD_OFFLINE_H

#include <stdbool.h>
#include <sys/types.h>

struct session;
struct option;

/* A private plugind; zero is none. */
struct offline {
	char directory[80];
	char socket[96];
	pid_t keeper;	/* waits for plugind's end and removes the directory; 0: none */
	int alive;	/* readable once the keeper has gone */
	int log;	/* what plugind wrote */
	bool any_files; /* set before the start: it takes them whosever they are */
};

/*
 * Starts it, connects the session, and waits until all plugins are probed. Decisions of
 * the machine that may be read hold in it; otherwise a warning says that they do not.
 * KP_EXIT_OK, or the status of what it printed.
 */
int offline_start(struct session *session) __attribute__((warn_unused_result));

/* Waits for its end, once the session's connection is closed. */
void offline_finish(struct offline *offline);

#endif
