/* SPDX-License-Identifier: MIT */
/* Asks plugind for a benchmark and gathers what it answers into one result. */
#ifndef CMD_BENCH_ASK_H
#define CMD_BENCH_ASK_H

#include <jansson.h>

#include "cmd/session.h"

/*
 * Parameters of Bench from the command line; `operation` may be NULL. Codes bad_time,
 * bad_seed, bad_rounds, bad_threads, those of request_read_shape and
 * request_read_traits, no_memory.
 */
int bench_ask_build(const struct arguments *arguments, const char *operation,
	json_t **parameters, struct kp_diag *diag) __attribute__((warn_unused_result));

/* One question. Zero it, set what is asked. */
struct bench_ask {
	const json_t *parameters;
	/*
	 * Told of the first reply, which says of what machine and families: KP_EXIT_OK,
	 * or the status of what it printed, and the benchmark is given up. May be NULL.
	 */
	int (*begins)(struct session *session, const json_t *head, void *context);
	void *context;

	/* The answer. */
	json_t *document; /* format, head and runs; or NULL */
	char *error;	  /* the whole name of the error instead; or NULL */
	json_t *said;	  /* and its parameters */
};

/* KP_EXIT_OK: there is a document or an error; else the status of what it printed. */
int bench_ask(struct session *session, struct bench_ask *ask)
	__attribute__((warn_unused_result));
/* Prints the error of an answer; the status that it means. */
int bench_ask_fail(struct session *session, struct bench_ask *ask);
void bench_ask_finish(struct bench_ask *ask);

#endif
