/* SPDX-License-Identifier: MIT */
/*
 * Who may be probed, and when: nobody before a mark of it is on the disk; who was marked
 * when plugind or the machine ended, after all others and alone; who ended one of them
 * alone three times, never. Knows no ways and no workers. Loop thread only.
 */
#ifndef KP_DAEMON_SUSPECTS_H
#define KP_DAEMON_SUSPECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>
#include <uv.h>

#include "daemon/pipeline/mark.h"
#include "lib/base/diag.h"

struct suspects;

enum permit_state {
	PERMIT_NONE,
	PERMIT_ASKED,	/* its turn comes */
	PERMIT_LAST,	/* its turn comes when nothing else is left to do */
	PERMIT_MARKING, /* its mark is on its way to the disk */
	PERMIT_HELD
};

/* Embedded in what asks; zero it first. */
struct permit {
	TAILQ_ENTRY(permit) link;
	enum permit_state state;
	struct mark *mark;
	bool alone; /* once it is held: nobody else holds one */
	void (*granted)(struct permit *permit);
};

struct suspects_options {
	const char *dir; /* the state directory, which must be there; copied */
	/* Are those that wait for the last turn the only ones that want anything? */
	bool (*is_quiet)(void *context);
	/* The marks could not be written, or read: plugins are probed all the same. */
	void (*warned)(void *context, const struct kp_diag *diag);
	void *context;
};

/*
 * Reads what an earlier plugind has left. What is damaged is set aside, with a warning
 * once there is something to do. NULL: memory.
 */
struct suspects *suspects_new(uv_loop_t *loop, const struct suspects_options *options);

/* What a permit is asked for. */
struct suspects_subject {
	const char *key, *plugin, *digest; /* as in a mark */
	bool pardoned; /* an operator wants it probed: its strikes are forgotten */
};

/*
 * permit->granted is called later, not from here, once it may be probed. False: it is
 * quarantined, and *why says why; borrowed, for now. Without memory for a mark it is
 * probed without one.
 */
bool suspects_ask(struct suspects *suspects, const struct suspects_subject *subject,
	struct permit *permit, const struct mark **why);
/* What is known while it holds a permit alone: kept for whoever finds its mark. */
void suspects_note(struct suspects *suspects, struct permit *permit, const char *stage,
	const char *output);
/* It is held or waited for no more; over: there is a result. PERMIT_NONE is fine. */
void suspects_return(struct suspects *suspects, struct permit *permit, bool over);
/* Something has ended: is_quiet may say something else now. */
void suspects_look(struct suspects *suspects);

/* How many wait for the last turn, or have it. */
size_t suspects_last(const struct suspects *suspects);
/* Calls back for those that are quarantined; NULL has none. */
void suspects_quarantined(const struct suspects *suspects,
	void (*found)(void *context, const struct mark *mark), void *context);

/*
 * plugind ends in order: what is under way is nobody's fault. Writes that; nobody gets a
 * permit any more. NULL is fine.
 */
void suspects_end(struct suspects *suspects);
/* Nothing is held or asked for any more. Waits for what is written, then frees and calls
 * `closed`. NULL is fine. */
void suspects_close(
	struct suspects *suspects, void (*closed)(void *context), void *context);

#endif
