/* SPDX-License-Identifier: MIT */
/* Where `install` puts a library and its manifest, and what was there meanwhile. */
#ifndef CMD_INSTALL_TARGET_H
#define CMD_INSTALL_TARGET_H

#include <jansson.h>
#include <stdbool.h>

#include "cmd/layer.h"
#include "cmd/session.h"

enum { INSTALL_FILE_BYTES = 96 };

/* Set name, and -1 for the descriptors, first. */
struct install_target {
	const char *name;
	struct layer layer;
	char libraries[4096]; /* the directory */
	bool is_plugin_dir;   /* the bare name is enough in the manifest */
	char manifest[INSTALL_FILE_BYTES], library[INSTALL_FILE_BYTES];
	char old_manifest[INSTALL_FILE_BYTES], old_library[INSTALL_FILE_BYTES];
	char seal[INSTALL_FILE_BYTES], old_seal[INSTALL_FILE_BYTES]; /* its signature */
	char lock[INSTALL_FILE_BYTES];
	int layer_fd, libraries_fd, lock_fd;
	bool replaced;
	json_t *info;	/* what the library says: {"plugin": ...} */
	json_t *plugin; /* what plugind says of it in the end */
};

/*
 * Finds and makes the directories, and claims the name: one that is just being installed
 * is waited for. What a killed run has left half done is taken back. KP_EXIT_OK, or the
 * status of what was printed.
 */
int install_target_open(struct session *session, struct install_target *target)
	__attribute__((warn_unused_result));

/* Gives up the claim, too. */
void install_target_finish(struct install_target *target);

/* Keeps what is there beside it; to be put back, or forgotten. False with errno. */
bool install_target_keep(const struct install_target *target)
	__attribute__((warn_unused_result));
void install_target_put_back(const struct install_target *target);
void install_target_forget(const struct install_target *target);

/* The manifest that is there; a new reference, NULL: none that can be read. */
json_t *install_target_manifest(const struct install_target *target);

#define owned_install_target                                                             \
	__attribute__((cleanup(install_target_finish))) struct install_target

#endif
