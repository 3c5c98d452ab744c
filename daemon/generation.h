/* SPDX-License-Identifier: MIT */
/*
 * The generation that replies are made from: the flat table of the registry and
 * the texts of those replies that depend on nothing else.
 */
#ifndef KP_DAEMON_GENERATION_H
#define KP_DAEMON_GENERATION_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/answers.h"
#include "lib/diag.h"
#include "lib/registry.h"
#include "lib/table.h"

enum generation_text { GENERATION_LIST, GENERATION_KERNELS, GENERATION_TEXTS };

struct generation {
	uint64_t number; /* of the last one; at the start that of an earlier run, or 0 */
	struct kp_table table; /* the registry's latest; without bytes: none yet */
	struct {
		char *text;
		size_t size;
	} texts[GENERATION_TEXTS];
	struct answers answers; /* whole messages, by the text of calls */
};

/*
 * Brings it in line with the registry: a new generation if anything has changed,
 * else nothing. On failure the one before stays in force.
 */
int generation_publish(struct generation *generation, struct kp_registry *registry,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/* Keeps a text until the next generation; takes it, also when it is NULL. */
void generation_keep(
	struct generation *generation, enum generation_text which, char *text);

void generation_finish(struct generation *generation);

#endif
