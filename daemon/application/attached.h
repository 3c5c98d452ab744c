/* SPDX-License-Identifier: MIT */
/*
 * Applications that are attached: each gets the control page, slots of its own and every
 * newer view, as fast as it reads. Belongs to the loop thread.
 */
#ifndef KP_DAEMON_ATTACHED_H
#define KP_DAEMON_ATTACHED_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/diag.h"

struct attached; /* all of them */
struct call;
struct daemon;

enum { ATTACHED_NAME = 64 };

/* An application whose process is dead: by its pidfd, whatever its connection does. */
struct attached_death {
	const char *name;
	pid_t pid;
	unsigned uid;
	bool is_operator; /* or more */
	int pidfd; /* borrowed, as is slots: the file that lib/host/control.h describes */
	int slots;
};

struct attached *attached_new(struct daemon *daemon);
/* Ends what the loop knows of; all clients have gone. NULL is fine in all of these. */
void attached_close(struct attached *attached);
void attached_free(struct attached *attached);

/* `died` is called once for each application that ended without saying so. */
void attached_on_death(struct attached *attached,
	void (*died)(void *context, const struct attached_death *death), void *context);

/*
 * Takes up the client of an Attach and answers with the first reply. Codes io_error (no
 * descriptor is left), no_memory: then the call is still the caller's.
 */
int attached_enter(struct attached *attached, struct call *call, const char *name,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/*
 * May a generation be skipped now because a client says that it has seen it? Anybody can
 * say so, and each one costs a table: few a second. Code busy.
 */
int attached_may_overtake(struct attached *attached, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/* What the application of this process and user is called, borrowed; NULL: none is. */
const char *attached_name(const struct attached *attached, pid_t pid, unsigned uid);
/* Has this user still some reports free, of so many a minute? Code busy. */
int attached_may_report(struct attached *attached, pid_t pid, unsigned uid,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/* There may be a newer table: it is pushed from the loop. */
void attached_follow(struct attached *attached);
/* Is anybody here? NULL: no. */
bool attached_are_there(const struct attached *attached);

/*
 * No application that is here needs a view of before this generation any more: each obeys
 * it, or has never been sent an older one. UINT64_MAX: nobody is here.
 */
uint64_t attached_oldest(const struct attached *attached);

/* How many are connected now. */
size_t attached_count(const struct attached *attached);
/* An array of Client of the interface, in the order in which they came. */
json_t *attached_json(const struct attached *attached);
/*
 * Adds to the reply of a Disable how each client obeys: holds are those of this plugin or
 * kernel. Takes it.
 */
json_t *attached_add(struct daemon *daemon, const char *name, json_t *reply);
/* The same with all their holds. */
json_t *attached_add_all(struct daemon *daemon, const char *name, json_t *reply);

#endif
