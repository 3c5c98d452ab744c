/* SPDX-License-Identifier: MIT */
/*
 * Libraries that somebody wrote to instead of replacing them: told once a change, when
 * it is known what has become of them. Looks at no file.
 */
#ifndef KP_DAEMON_MODIFIED_H
#define KP_DAEMON_MODIFIED_H

#include <jansson.h>

#include "lib/plugin/verdict.h"

struct daemon;

/* Plugins that are looked at again for such a change. */
struct modified {
	json_t *plugins; /* name -> {"path", "was"} */
};

int modified_init(struct modified *modified); /* -1: memory */
void modified_finish(struct modified *modified);

/* The file at path, which the plugin rests on, has other times or another size. */
void modified_note(struct modified *modified, const struct daemon *daemon,
	const char *plugin, const char *path);
/* It has its verdict: where its bytes are others, logs it and tells those who watch. */
void modified_tell(struct modified *modified, struct daemon *daemon, const char *plugin,
	const struct kp_verdict *verdict);
/* It has gone. */
void modified_forget(struct modified *modified, const char *plugin);

#endif
