/* SPDX-License-Identifier: MIT */
/*
 * One change of what operators decided, on behalf of a call: in force for every later
 * reply, on the disk, then answered. Knows no kind of decision.
 */
#ifndef KP_DAEMON_CHANGE_H
#define KP_DAEMON_CHANGE_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/registry/decisions.h"

struct call;
struct daemon;

/* What is asked for; its strings are the call's or static. */
struct wish {
	const char *name;	  /* what it is about: a plugin, a kernel, an operation */
	const char *object;	  /* a solution or a choice; NULL: none */
	const char *kind;	  /* of the event: disable, enable, pin, ... */
	const char *what;	  /* for the log: "disabled" */
	const char *reason;	  /* "": none */
	struct kp_decisions next; /* as they are to be */
	bool changed;		  /* are they other ones? */
	bool keep;		  /* on the disk */
	json_t *members;	  /* of the reply; NULL: {"name": name}. Taken. */
	/* Answers in its place, once it is on the disk; NULL: nobody. Takes the reply. */
	void (*then)(struct daemon *daemon, struct call *call, const char *name,
		json_t *reply);
	/* Adds to the reply what holds when it is sent; NULL: nothing. Takes it. */
	json_t *(*tell)(struct daemon *daemon, const char *name, json_t *reply);
};

/* Is the reason short enough to be kept? Answers the call where it is not. */
bool wish_has_good_reason(const struct wish *wish, struct call *call);

/*
 * Brings it into force at once; answers when it is on the disk, too: members,
 * "changed", "generation". Takes over next and members.
 */
void wish_commit(struct wish *wish, struct daemon *daemon, struct call *call);

/* Memory is exhausted: answers so. */
void wish_give_up(struct wish *wish, struct call *call);

#endif
