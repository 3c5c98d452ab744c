/* SPDX-License-Identifier: MIT */
/*
 * Methods of the interface: a row each (name, role, handler). A file
 * daemon/method/method_NOUN.c holds handlers and its rows; method.c has the list of
 * row tables. Handlers run in the loop thread and never block.
 */
#ifndef KP_DAEMON_METHOD_H
#define KP_DAEMON_METHOD_H

#include <jansson.h>
#include <stdbool.h>

#include "daemon/socket/role.h"
#include "lib/base/diag.h"

struct daemon;
struct call; /* one call of one client; alive until the last reply */

struct method {
	const char *name; /* "List" */
	enum role role;	  /* the least that may call it */
	void (*run)(struct daemon *daemon, struct call *call);
};

/* Row tables, each ended by a row without a name. */
extern const struct method method_list[], method_kernels[], method_select[],
	method_decide[], method_reload[], method_status[], method_bench[],
	method_devices[], method_verify[], method_pin[], method_monitor[], method_load[],
	method_logs[], method_attach[], method_fingerprint[], method_incidents[],
	method_metrics[], method_guard[], method_history[];

/* Fails a call whose plan (bench_plan.h) could not be made; offers the nearest operation.
 */
void method_bench_fail(
	struct daemon *daemon, struct call *call, const struct kp_diag *diag);

/* The row of a method of KP_INTERFACE ("List"), or NULL. */
const struct method *method_find(const char *name);

/*
 * Runs a call: looks up the method (a whole name), checks the role and the
 * parameters, and lets the row's handler answer; org.varlink.service is answered
 * here.
 */
void method_run(struct daemon *daemon, struct call *call, const char *method);

/* May descriptors come with a call of this method (a whole name)? */
bool method_takes_files(const char *method);

/* Descriptors that came with the call: the call's, open until its last reply. */
size_t call_files(const struct call *call);
int call_file(const struct call *call, size_t i);

/* Parameters of the call, checked against the interface; borrowed. */
const json_t *call_parameters(const struct call *call);
bool call_wants_more(const struct call *call);
enum role call_role(const struct call *call);
unsigned call_uid(const struct call *call);
/* Where it changes something: right before it does (see audit_before). */
void call_changes(struct call *call);
/* Of the client, borrowed; -1 when it has gone. */
int call_socket(const struct call *call);

/*
 * The last reply: takes `parameters`. The call is gone afterwards. NULL
 * parameters mean that memory is exhausted and become an error.
 */
void call_reply(struct call *call, json_t *parameters);
/* The same as a whole message, borrowed. NULL: memory is exhausted. */
void call_reply_message(struct call *call, const char *message, size_t size);
/*
 * The last reply, which depends on nothing but the call's text and the generation: the
 * same call is answered from the bytes of this one until the generation changes.
 */
void call_reply_lasting(struct call *call, json_t *parameters);
/* One of several; only with more. */
void call_reply_continues(struct call *call, json_t *parameters);
/* The same as a whole message, borrowed, which many calls may have. */
void call_reply_continues_message(struct call *call, const char *message, size_t size);
/*
 * The same with descriptors (at most OUTBOX_FDS), which stay the caller's. False: it is
 * lost, for want of memory or because nobody is there.
 */
bool call_reply_with(struct call *call, json_t *parameters, const int *fds, size_t n_fds);
/*
 * An error by its code (kp_error_name). Also the last reply. nearest may be NULL: what
 * the message offers at its end, if anything.
 */
void call_fail(struct call *call, const struct kp_diag *diag, const char *nearest);
/* An error with parameters of its own; takes them. */
void call_fail_with(struct call *call, const char *error, json_t *parameters);

/*
 * Long work: `gone` is called when the client leaves before the last reply, and
 * the call is then gone.
 */
void call_on_gone(struct call *call, void (*gone)(void *context), void *context);
/* With the same context: the client has read all that it was sent. */
void call_on_drained(struct call *call, void (*drained)(void *context));
/* Bytes that were sent to the client and that it has not read yet. */
size_t call_unread(const struct call *call);

#endif
