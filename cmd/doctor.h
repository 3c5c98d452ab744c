/* SPDX-License-Identifier: MIT */
/* What a running `pluginctl doctor` knows: each part looks at one thing of the machine.
 */
#ifndef CMD_DOCTOR_H
#define CMD_DOCTOR_H

#include "cmd/session.h"
#include "lib/lint/lint.h"

struct doctor {
	struct session *session;
	struct kp_lint lint;
	bool system;	 /* the daemon, or the one that would be, serves all users */
	json_t *status;	 /* of plugind; NULL: it does not answer */
	json_t *devices; /* as it tells them; or NULL */
	json_t *plugins; /* rows of List, and of Kernels; or NULL */
	json_t *kernels;
	char **dirs; /* of manifests, highest first */
	char *plugin_dir, *state_dir;
};

/* Adds a finding about an object; its file is `file`, which may be NULL. */
void doctor_tell(struct doctor *doctor, const char *code, const char *file,
	const char *format, ...) __attribute__((format(printf, 4, 5)));

/* --root in front of an absolute path, into `text`; returns it. */
enum { DOCTOR_PATH = 4096 };
const char *doctor_path(const struct doctor *doctor, const char *path, char *text);

/* The first line of a small file below --root; false: it is not there. */
bool doctor_read(const struct doctor *doctor, const char *path, char *text, size_t size);

/* plugind: is it there, may we, what does it say of itself and of the devices? First. */
void doctor_daemon(struct doctor *doctor);
/* Directories of manifests and libraries, the store's file system, our own files. */
void doctor_places(struct doctor *doctor);
/* What is installed: manifests, libraries, what those lack. */
void doctor_plugins(struct doctor *doctor);
/* Kernel, limits, watches, CPU, clock. */
void doctor_machine(struct doctor *doctor);
/* KPLUG_ variables, and the names in them where plugind tells who is there. */
void doctor_environment(struct doctor *doctor);

#endif
