/* SPDX-License-Identifier: MIT */
/* The directory of manifests that a command may change, as plugind names it. */
#ifndef CMD_LAYER_H
#define CMD_LAYER_H

#include <jansson.h>
#include <stdbool.h>

struct session;

struct layer {
	char dir[4096];
	json_t *layers; /* the reply to Layers */
};

#define owned_layer __attribute__((cleanup(layer_finish))) struct layer
void layer_finish(struct layer *layer);

/*
 * The highest layer, or with `runtime` the one that the next boot empties. Asks plugind,
 * and believes only root's and the user's own: root writes where nobody else says.
 * `name` is what it is for. KP_EXIT_OK, or the status of what it printed.
 */
int layer_find(struct session *session, const char *name, bool runtime,
	struct layer *layer) __attribute__((warn_unused_result));

/* What to do where `error` keeps a user from writing: the end of a sentence, or "". */
const char *layer_remedy(int error);
/* errno as a failure about a file of the layer: "cannot VERB FILE in DIR". */
int layer_fail(struct session *session, const struct layer *layer, const char *verb,
	const char *file);

#endif
