/* SPDX-License-Identifier: MIT */
/*
 * Kernels of equal priority that one request can meet: then their names decide, which
 * nobody meant. Whether they can is told from what they accept; where that cannot be
 * decided exactly (multiples of fractions), it is taken as possible.
 */
#ifndef KP_LIB_LINT_TIES_H
#define KP_LIB_LINT_TIES_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/family/family.h"
#include "lib/lint/lint.h"
#include "lib/plugin/note.h"

/* Is there a request that both accept, without a word on solution or objective? */
bool kp_specs_meet(
	const struct kp_spec *a, const struct kp_spec *b, const struct kp_family *family);

/* A plugin whose kernels are compared; all borrowed. */
struct kp_lint_plugin {
	const char *name;
	const struct kp_note *note;
	struct kp_lint_text text; /* of the note, or of what findings name */
};

/*
 * Adds equal_rank for each kernel that another one of its priority always beats by name
 * where both are accepted.
 */
void kp_lint_ties(struct kp_lint *lint, const struct kp_families *families,
	const struct kp_lint_plugin *plugins, size_t count);

#endif
