/* SPDX-License-Identifier: MIT */
/* A blocking client of plugind's socket, with deadlines. One thread at a time. */
#ifndef KP_LIB_CLIENT_H
#define KP_LIB_CLIENT_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "lib/base/diag.h"
#include "lib/protocol/message.h"

struct kp_client;

/*
 * Connects to `path`, or, when it is NULL, to $KPLUG_SOCKET, else
 * /run/kplug/plugind.sock, else, where nothing listens there,
 * $XDG_RUNTIME_DIR/kplug/plugind.sock. timeout_ms bounds connecting and, for
 * each call, the wait for a reply; negative: none. Codes no_daemon (each place
 * tried is named), path_too_long (length and limit), not_permitted; untrusted_daemon of a
 * place that nobody has named (kp_client_trust).
 */
int kp_client_open(const char *path, int timeout_ms, struct kp_client **client,
	struct kp_diag *diag) __attribute__((warn_unused_result));
void kp_client_close(struct kp_client *client);
/* Whose process listens there, by the kernel. Code io_error. */
int kp_client_peer(const struct kp_client *client, uid_t *uid, struct kp_diag *diag)
	__attribute__((warn_unused_result));
const char *kp_client_path(const struct kp_client *client);
/* Another bound for the waits of later calls; negative: none. */
void kp_client_set_timeout(struct kp_client *client, int timeout_ms);

/*
 * Calls a method of KP_INTERFACE ("List") or, with a dot, a whole name, and
 * waits. parameters may be NULL and is not taken. Codes timed_out, disconnected,
 * bad_reply, no_memory; after one of them every later call is disconnected. A
 * reply that is an error is a reply (reply->error); *reply is the caller's to
 * finish.
 */
int kp_client_call(struct kp_client *client, const char *method, const json_t *parameters,
	struct kp_reply_message *reply, struct kp_diag *diag)
	__attribute__((warn_unused_result));
/*
 * The same, the reply as the text that came, NUL-terminated: borrowed until the next
 * call, and nobody has looked whether it is a reply.
 */
int kp_client_call_text(struct kp_client *client, const char *method,
	const json_t *parameters, const char **text, size_t *size, struct kp_diag *diag)
	__attribute__((warn_unused_result));
/* Code bad_reply, after which the client is of no use: what came is not one reply. */
int kp_client_parse(struct kp_client *client, const char *text, size_t size,
	struct kp_reply_message *reply, struct kp_diag *diag)
	__attribute__((warn_unused_result));
/* With more: the first reply, then while reply->continues the next ones. */
int kp_client_call_more(struct kp_client *client, const char *method,
	const json_t *parameters, struct kp_reply_message *reply, struct kp_diag *diag)
	__attribute__((warn_unused_result));
int kp_client_next(struct kp_client *client, struct kp_reply_message *reply,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/*
 * Ends a wait, with the code interrupted, once this descriptor (borrowed) can be read;
 * negative: none. Such a connection is of no more use.
 */
void kp_client_set_stop(struct kp_client *client, int fd);

/*
 * Descriptors that come with replies are kept from now on, in their order; without this
 * they are lost. The next one, the caller's; -1: none.
 */
void kp_client_keep_fds(struct kp_client *client);
int kp_client_take_fd(struct kp_client *client);
/* The socket; borrowed. */
int kp_client_socket(const struct kp_client *client);

/*
 * The same as kp_client_call with descriptors that travel with the call, at most
 * KP_SEND_FDS (lib/protocol/send.h); they stay the caller's.
 */
int kp_client_call_fds(struct kp_client *client, const char *method,
	const json_t *parameters, const int *fds, size_t n_fds,
	struct kp_reply_message *reply, struct kp_diag *diag)
	__attribute__((warn_unused_result));

#endif
