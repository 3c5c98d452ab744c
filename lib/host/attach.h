/* SPDX-License-Identifier: MIT */
/*
 * The connection to plugind: what it shows is mapped, what it says is kept, and when it
 * goes it is looked for again. Has a thread of its own for that. Knows no site.
 */
#ifndef KP_LIB_HOST_ATTACH_H
#define KP_LIB_HOST_ATTACH_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kplug/host.h"
#include "lib/base/diag.h"
#include "lib/host/control.h"
#include "lib/table/table.h"

struct kp_attach;

/* A published table as it is mapped: immutable, counted. */
struct kp_view {
	struct kp_table table;
	uint64_t generation;
	const uint32_t *numbers; /* of the kernels' bits; NULL: from the file on disk */
	size_t count;		 /* of both */
	unsigned references;	 /* atomic */
	json_t *without;	 /* of Without: kernels that this user must not run */
	void *map;
	size_t size;
};
void kp_view_drop(struct kp_view *view);

struct kp_attach_options {
	const char *socket; /* NULL: the usual places */
	const char *name;
	bool no_daemon; /* start none */
	/* Called by the thread, nothing held: another view or control page is in force.
	 */
	void (*changed)(void *context);
	void (*log)(void *context, int level, const char *text);
	void *context;
};

/*
 * Attaches, starting a private plugind where that is allowed and nobody listens. Codes
 * of kp_client_open, no_daemon, untrusted_daemon (its peer is not root, the user or,
 * at the system's socket, kplug), bad_view.
 */
int kp_attach_new(const struct kp_attach_options *options, struct kp_attach **attach,
	struct kp_diag *diag) __attribute__((warn_unused_result));
void kp_attach_free(struct kp_attach *attach);

/*
 * Mapped at one address as long as attach lives; also while plugind is away, when it may
 * be a copy of this process's own, whose generation follows the table on disk. Each page
 * that takes its place has a higher generation; boot changes with plugind.
 */
const struct kp_control *kp_attach_control(const struct kp_attach *attach);
/* The application's slots, KP_SLOTS of them; at one address, too. */
struct kp_slot *kp_attach_slots(const struct kp_attach *attach);
/*
 * After kp_attach_free the slots stay mapped, as memory that nobody else sees: threads
 * that go on calling for other handles may still write there.
 */
void kp_attach_leave_slots(struct kp_attach *attach);
bool kp_attach_is_there(const struct kp_attach *attach);

/*
 * The newest view, a reference of the caller's. Where its generation is below
 * `at_least` it waits for a newer one, at most wait_ms.
 */
struct kp_view *kp_attach_view(struct kp_attach *attach, uint64_t at_least, int wait_ms);

/* A call of the protocol on a connection of its own. Codes of lib/protocol/client.h. */
int kp_attach_ask(struct kp_attach *attach, const char *method, json_t *parameters,
	json_t **reply, struct kp_diag *diag) __attribute__((warn_unused_result));

/*
 * What this application holds, by kernel ("plugin/kernel") and by what ("graph", "plan",
 * "weight"): change is 1 or -1. plugind sees it at once, and after its restart.
 */
void kp_attach_holds(
	struct kp_attach *attach, const char *kernel, const char *what, int change);
/* All calls from now on obey this generation. Costs a store; any thread. */
void kp_attach_obeys(struct kp_attach *attach, uint64_t generation);

/*
 * In a child, before anything else of it runs: the mappings become its own, of zeroes, at
 * the same addresses. kp_attach_forked, any time later, forgets thread and connection.
 */
void kp_attach_in_child(struct kp_attach *attach);
void kp_attach_forked(struct kp_attach *attach);

#endif
