/* SPDX-License-Identifier: MIT */
/*
 * What the environment asks of libkplug, read by secure_getenv: KPLUG_LOG,
 * KPLUG_DISABLE and KPLUG_OVERRIDE_FAMILY_MODE.
 */
#ifndef KP_LIB_HOST_ENVIRONMENT_H
#define KP_LIB_HOST_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/diag.h"
#include "lib/host/log.h"
#include "lib/table/table.h"

/* Plugins and kernels ("plugin/kernel") that this process does not use. */
struct kp_environment {
	char *text; /* of KPLUG_DISABLE; names point into it */
	size_t count;
	const char **names;
	enum kp_log_level level; /* KP_LOG_NONE: KPLUG_LOG is not set */
};

/* Code no_memory; bad_level: KPLUG_LOG is no level, and is taken for none. */
int kp_environment_read(struct kp_environment *environment, struct kp_diag *diag)
	__attribute__((warn_unused_result));
void kp_environment_finish(struct kp_environment *environment);

/* The name that turns the kernel off, or NULL. */
const char *kp_environment_disables(const struct kp_environment *environment,
	const struct kp_table *table, size_t kernel);
/*
 * Is there nothing of this name in the table? *diag says so, and what was meant (code
 * unknown_name).
 */
bool kp_environment_is_unknown(
	const struct kp_table *table, const char *name, struct kp_diag *diag);

/*
 * "KPLUG_OVERRIDE_GEMM_MM" of "gemm/mm": upper case, every other character `_`.
 * malloc'ed; NULL when memory is exhausted.
 */
char *kp_environment_variable(const char *operation);
/* A copy of its value; NULL when it is not set, or empty. False: memory. */
bool kp_environment_override(const char *operation, char **value);

#endif
