/* SPDX-License-Identifier: MIT */
/* Where kplug's own files are: beside the program first, then as installed. */
#ifndef KP_LIB_PLACE_H
#define KP_LIB_PLACE_H

#include <stddef.h>

/*
 * The path of a part, malloc'ed, NULL when memory is exhausted or, for a part,
 * when it is nowhere (then the installed place is returned all the same, so that
 * a message can name it). Looked for beside the running program, then in ../lib/kplug,
 * ../libexec/kplug, ../share/kplug of its directory, then below KP_PREFIX.
 * Parts: "plugin-worker", "plugind", "plugins", "plugins/plugins.d", "families", "schemas".
 */
char *kp_place_find(const char *part);

/*
 * Default manifest directories, highest first: for the system
 * SYSCONFDIR/kplug/plugins.d, /run/kplug/plugins.d, PREFIX/lib/kplug/plugins.d;
 * for a user $XDG_CONFIG_HOME/kplug/plugins.d over those. NULL-terminated; the
 * caller's, with kp_place_free.
 */
char **kp_place_manifest_dirs(int system);
void kp_place_free(char **list);

/* State, cache and socket for the system, else by XDG. malloc'ed. */
char *kp_place_state_dir(int system);
char *kp_place_cache_dir(int system);
char *kp_place_socket(int system);

#endif
