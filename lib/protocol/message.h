/* SPDX-License-Identifier: MIT */
/* Varlink's messages: calls, replies and errors as JSON. Does no I/O. */
#ifndef KP_LIB_MESSAGE_H
#define KP_LIB_MESSAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/base/diag.h"

#define KP_INTERFACE "org.kplug.Manager"

enum {
	KP_MESSAGE_BYTES = 1 << 20, /* a call */
	KP_REPLY_BYTES = 64 << 20,  /* a reply */
};

struct kp_call_message {
	char *method;
	json_t *parameters; /* an object, perhaps empty */
	bool more, oneway, upgrade;
};

/* Codes of kp_json_parse and kp_json_check (unknown members are ignored). */
int kp_call_parse(const char *text, size_t size, struct kp_call_message *call,
	struct kp_diag *diag) __attribute__((warn_unused_result));
void kp_call_message_finish(struct kp_call_message *call);

/* Texts with their NUL inside *size, malloc'ed; NULL when memory is exhausted. */
char *kp_call_print(
	const char *method, const json_t *parameters, bool more, size_t *size);
char *kp_reply_print(const json_t *parameters, bool continues, size_t *size);
/* error is the whole name. */
char *kp_error_print(const char *error, const json_t *parameters, size_t *size);

/*
 * What a process of ours says, which may be larger than what kp_json_parse reads.
 * Its codes; *root is a new reference.
 */
int kp_answer_parse(const char *text, size_t size, json_t **root, struct kp_diag *diag)
	__attribute__((warn_unused_result));

struct kp_reply_message {
	json_t *parameters;
	char *error; /* whole name, or NULL */
	bool continues;
};
int kp_reply_parse(const char *text, size_t size, struct kp_reply_message *reply,
	struct kp_diag *diag) __attribute__((warn_unused_result));
void kp_reply_message_finish(struct kp_reply_message *reply);

/*
 * Errors of the interface and the exit status that each means, one table for
 * both ends: see the constants.
 */
enum kp_exit {
	KP_EXIT_OK = 0,
	KP_EXIT_NO = 1,
	KP_EXIT_USAGE = 2,
	KP_EXIT_NO_DAEMON = 3,
	KP_EXIT_NOT_PERMITTED = 4,
	KP_EXIT_NOT_FOUND = 5,
	KP_EXIT_TIMED_OUT = 6,
	KP_EXIT_FAILED = 7
};
enum kp_exit kp_error_exit(const char *error);

/*
 * The error of the interface that a code belongs to, its whole name. Codes of
 * NotFound, InvalidArgument (about what was asked), NotPermitted,
 * OverrideIneligible, TimedOut and Busy are listed in lib/protocol/message_error.c; every
 * other one is Failed.
 */
const char *kp_error_name(const char *code);

/* The same text as one that lasts: codes of the list are, others are "failed". */
const char *kp_error_code(const char *code);

/* {"code","message","object"} of a diagnostic (nearest is added by the caller). */
json_t *kp_diag_json(const struct kp_diag *diag);

#endif
