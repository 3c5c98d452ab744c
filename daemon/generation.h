/* SPDX-License-Identifier: MIT */
/*
 * The generation that replies are made from: the flat table of the registry and
 * the messages of those replies that depend on nothing else.
 */
#ifndef KP_DAEMON_GENERATION_H
#define KP_DAEMON_GENERATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/socket/answers.h"
#include "lib/base/diag.h"
#include "lib/registry/registry.h"
#include "lib/table/table.h"

struct control;

enum generation_message { GENERATION_LIST, GENERATION_KERNELS, GENERATION_MESSAGES };

struct generation {
	uint64_t number; /* of the last one; at the start that of an earlier run, or 0 */
	struct kp_table table; /* the registry's latest; without bytes: none yet */
	struct {
		char *bytes;
		size_t size;
	} messages[GENERATION_MESSAGES];
	struct answers answers;	 /* whole messages, by the text of calls */
	struct control *control; /* follows each; borrowed, or NULL */
};

/*
 * Brings it in line with the registry: a new generation if anything has changed,
 * else nothing. On failure the one before stays in force.
 */
int generation_publish(struct generation *generation, struct kp_registry *registry,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/*
 * The same, and higher than `seen`, which processes have seen of a daemon before: none
 * of them takes this one for that. Code bad_generation: too high to be one, or more than
 * `leap` above: nobody brings numbers to their end for others.
 */
#define GENERATION_MOST (UINT64_C(1) << 53)
#define GENERATION_LEAP (UINT64_C(1) << 24) /* on the word of whoever may only look */
int generation_overtake(struct generation *generation, struct kp_registry *registry,
	uint64_t seen, uint64_t leap, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/* Takes what the registry restored as published already; false: it has nothing. */
bool generation_resume(struct generation *generation, const struct kp_registry *registry);

/* Keeps a message until the next generation; takes it, also when it is NULL. */
void generation_keep(struct generation *generation, enum generation_message which,
	char *message, size_t size);

void generation_finish(struct generation *generation);

#endif
