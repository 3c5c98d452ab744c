/* SPDX-License-Identifier: MIT */
/* Where kplug's own files are: beside the program first, then as installed. */
#ifndef KP_LIB_PLACE_H
#define KP_LIB_PLACE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The path of a part, malloc'ed, NULL when memory is exhausted. Looked for beside
 * the running program, then where `make install` puts it, below the parent of the
 * program's directory, then below KP_PREFIX; that last one is returned whether it
 * is there or not, so that a message can name it.
 * Parts: "plugin-worker", "plugind", "pluginctl", "plugins", "plugins/plugins.d",
 * "families", "schemas", "templates", "include".
 */
char *kp_place_find(const char *part);

/*
 * Default manifest directories, highest first: for the system
 * SYSCONFDIR/kplug/plugins.d, /run/kplug/plugins.d and "plugins/plugins.d" of
 * kp_place_find; for a user $XDG_CONFIG_HOME/kplug/plugins.d and their runtime layer
 * over those. NULL-terminated, the caller's, with kp_place_free; NULL when memory is
 * exhausted.
 */
char **kp_place_manifest_dirs(bool system);
void kp_place_free(char **list);

/*
 * The layer that lasts until the next boot: /run/kplug/plugins.d; a user's is
 * $XDG_RUNTIME_DIR/kplug/plugins.d. Without XDG_RUNTIME_DIR a user's is below
 * /run/user/UID/kplug, and where no login has made that, below /tmp/kplug-UID, which
 * is made here. malloc'ed; NULL when memory is exhausted.
 */
char *kp_place_runtime_layer(bool system);

/*
 * Where a user's own libraries are: $XDG_DATA_HOME/kplug/plugins. malloc'ed; NULL when
 * memory is exhausted or the user has no home directory.
 */
char *kp_place_library_dir(void);

/*
 * State, cache, socket and the daemon's configuration file for the system, else by
 * XDG, the socket beside the runtime layer; state and cache too, where the user has no
 * home directory that can be written in. malloc'ed; NULL when memory is exhausted or,
 * of the configuration file, when the user has no home directory.
 */
char *kp_place_state_dir(bool system);
char *kp_place_cache_dir(bool system);
char *kp_place_socket(bool system);
char *kp_place_config_file(bool system);
/* Whether a directory is there until logout or boot only: below a user's runtime one. */
bool kp_place_is_fleeting(const char *directory);

#endif
