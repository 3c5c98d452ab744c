/* SPDX-License-Identifier: MIT */
/* The inside of a connection to plugind, for the files of lib/host that make it up. */
#ifndef KP_LIB_HOST_ATTACH_STATE_H
#define KP_LIB_HOST_ATTACH_STATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/host/attach.h"
#include "lib/host/pages.h"
#include "lib/host/view.h"
#include "lib/protocol/client.h"

enum { KP_BOOT_TEXT = 64 };

struct kp_attach {
	struct kp_attach_options options; /* socket and name are owned */
	/* Of the thread; of kp_attach_new before there is one. */
	struct kp_client *client;
	char *table; /* the file on disk; NULL: not told */
	char boot[KP_BOOT_TEXT];
	struct kp_view_stamp stamp;
	int wake[2]; /* a pipe: readable when the thread is to end */
	pthread_t thread;
	bool has_thread, forked;
	bool may_start;	   /* a private plugind where none listens */
	bool is_transient; /* the last one was, which nobody else would start again */
	/* Of all, under lock: what is mapped, and which view is the newest. */
	pthread_mutex_t lock;
	pthread_cond_t newer;
	struct kp_pages pages;
	struct kp_view *view;
	char *path;    /* of the socket that was connected last */
	uid_t owner;   /* of the plugind there */
	bool is_there; /* atomic for those without the lock */
};

void kp_attach_log(const struct kp_attach *attach, int level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* options.changed, then plugind: by now calls choose from the newest view. */
void kp_attach_tell(struct kp_attach *attach);
/* The latter alone. The lock is held, or nobody else knows of it yet. */
void kp_attach_tell_view(struct kp_attach *attach);

/*
 * Connects, sees whom it has got, attaches and brings what comes first into force. Codes
 * of kp_client_open, untrusted_daemon, bad_reply, bad_view, codes of the protocol.
 */
int kp_attach_connect(struct kp_attach *attach, int timeout_ms, struct kp_diag *diag)
	__attribute__((warn_unused_result));
/* A later reply: a newer view. */
int kp_attach_take(struct kp_attach *attach, const struct kp_reply_message *reply,
	struct kp_diag *diag) __attribute__((warn_unused_result));
/* Opens, and refuses a peer that is not to be trusted. */
int kp_attach_dial(const struct kp_attach *attach, const char *path, int timeout_ms,
	struct kp_client **client, uid_t *owner, struct kp_diag *diag)
	__attribute__((warn_unused_result));
/* What an error of the protocol says. Returns -1. */
int kp_attach_refused(const struct kp_reply_message *reply, struct kp_diag *diag);

/* The thread: reads while plugind is there, looks for it while it is not. */
void *kp_attach_run(void *attach);

/*
 * Starts a plugind of this user's, unless another application just does, and waits until
 * it listens, or until `stop` can be read. *guest is a connection that it stays for: it
 * ends with its last one. Codes no_daemon, interrupted, no_memory.
 */
int kp_private_start(int stop, struct kp_client **guest, struct kp_diag *diag)
	__attribute__((warn_unused_result));

#endif
