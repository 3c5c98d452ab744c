/* SPDX-License-Identifier: MIT */
/* What a running command has: its arguments, where it prints, and the daemon. */
#ifndef CMD_SESSION_H
#define CMD_SESSION_H

#include <jansson.h>
#include <stdbool.h>

#include "cmd/arguments.h"
#include "cmd/offline.h"
#include "cmd/output.h"
#include "lib/base/json.h"
#include "lib/base/owned.h"
#include "lib/protocol/client.h"

enum { SESSION_TIMEOUT_MS = 30000 };

struct session {
	struct arguments arguments;
	struct output output;
	int timeout_ms; /* of one answer; negative: none */
	bool timeout_given;
	struct kp_client *client; /* NULL until the first question */
	struct offline offline;	  /* its own plugind, for --offline */
	/* Says that the work is not done in time; NULL: that nobody answered. */
	int (*late)(struct session *session);
	/* With --json nobody looks into replies, whose first member is an array. */
	bool as_it_is;
	char *ready; /* the document to print, of an answer that nobody looked into */
	size_t ready_size;
};

/* A method and what its reply must have to be of use. */
struct question {
	const char *method;
	struct kp_json_key reply[5]; /* up to one without a name */
};

/* For `late`. Returns the status. */
int session_late(struct session *session);

/* Connects where that has not happened. KP_EXIT_OK, or the status of what it printed. */
int session_connect(struct session *session) __attribute__((warn_unused_result));

/* The same, once somebody listens there, for at most wait_ms. */
int session_await(struct session *session, int wait_ms)
	__attribute__((warn_unused_result));

/*
 * Asks the daemon; takes `parameters` (NULL: memory is exhausted). *reply is a
 * new reference. Every status but KP_EXIT_OK is the command's: the reason has
 * been printed.
 */
int session_ask(struct session *session, const struct question *question,
	json_t *parameters, json_t **reply) __attribute__((warn_unused_result));

/*
 * The same for a reply that may be an error of the daemon's which the caller
 * deals with: *error is its whole name, the caller's to free, and *reply its
 * parameters; NULL when there was none.
 */
int session_try(struct session *session, const struct question *question,
	json_t *parameters, json_t **reply, char **error)
	__attribute__((warn_unused_result));

/*
 * The reply to a call without parameters on a connection of its own; NULL where none
 * comes in time. Prints nothing.
 */
json_t *session_aside(const struct session *session, const char *method, int timeout_ms);

/* Does plugind answer `method` about this text with no error? Prints nothing. */
bool session_knows(
	struct session *session, const char *method, const char *key, const char *text);

/*
 * Prints a reply as the JSON document of the command; with as_it_is the value is empty
 * where the text alone was laid out.
 */
int session_print(struct session *session, const json_t *reply);

/* Prints what an error reply says; the status that it means. */
int session_fail(struct session *session, const char *error, const json_t *parameters);

/* A reply that came by kp_client_next: has it what the question needs? */
int session_check(struct session *session, const struct question *question,
	const json_t *reply) __attribute__((warn_unused_result));

/* Shows the "progress" of a reply on the way, where it has one. */
void session_progress(const struct session *session, const json_t *reply);

/* Remarks that plugins which the reply names are pending, and how to wait. */
void session_remark_pending(const struct session *session, const json_t *reply);

/*
 * settle_ms of --settle into `parameters`; answers may then take that much longer.
 * KP_EXIT_OK, or the status of what it printed.
 */
int session_settle(struct session *session, json_t *parameters)
	__attribute__((warn_unused_result));

/* Both: settles, then asks; takes `parameters` and gives *reply as session_ask does. */
int session_ask_settled(struct session *session, const struct question *question,
	json_t *parameters, json_t **reply) __attribute__((warn_unused_result));

/* The row that commands with session_settle have. */
#define SESSION_SETTLE                                                                   \
	{                                                                                \
		"settle", "S",                                                           \
			"right after plugind's start: wait up to so many seconds until " \
			"all is "                                                        \
			"probed",                                                        \
			false                                                            \
	}

void session_finish(struct session *session);

#endif
