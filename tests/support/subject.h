/* SPDX-License-Identifier: MIT */
/* A kernel of a built plugin as the subject of a test. */
#ifndef TESTS_SUPPORT_SUBJECT_H
#define TESTS_SUPPORT_SUBJECT_H

#include <stdbool.h>
#include <stddef.h>

#include "kplug/plugin.h"
#include "tests/support/guarded.h"

/* Most roles that a family under test has. */
enum { SUBJECT_ROLES = 8 };

struct subject {
	const char *plugin; /* the name of its library without .so */
	void *handle;
	const struct kp_plugin *code;
	const struct kp_kernel *kernel;
	void *device_state;
	const struct kp_host *host; /* that calls get; NULL at first */
	struct kp_error error;	    /* of the last call */
	bool workspace_intact;	    /* nothing was written around it by the last call */
};

/* What a call gets, in the family's order. A role that is NULL is absent. */
struct arguments {
	const struct guarded *roles[SUBJECT_ROLES];
	uint32_t n_roles;
	union kp_value attributes[4];
	uint32_t n_attributes;
	uint64_t withheld; /* bytes by which the workspace is smaller than needed */
};

/* build/plugins/PLUGIN.so with $KPLUG_BUILD for build. Returns `path`. */
const char *subject_path(const char *plugin, char *path, size_t size);

/*
 * Opens the plugin, finds the kernel and loads it. False, and a skip is told, when
 * the kernel is not available on this machine; anything else that is wrong fails the
 * test.
 */
bool subject_open(struct subject *subject, const char *plugin, const char *kernel);
void subject_close(struct subject *subject);

/* Bytes of workspace for this call, asked without data; 0 without `need`. */
uint64_t subject_need(struct subject *subject, const struct arguments *arguments);

/* Runs it with the workspace that it needs. Returns its status. */
int subject_run(struct subject *subject, const struct arguments *arguments);

#endif
