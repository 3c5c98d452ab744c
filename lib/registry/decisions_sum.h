/* SPDX-License-Identifier: MIT */
/* A sum in the text of decisions: a letter that changed on the disk is another name. */
#ifndef KP_LIB_DECISIONS_SUM_H
#define KP_LIB_DECISIONS_SUM_H

#include <jansson.h>
#include <stdbool.h>

/* Sets "sum" to that of all other members. -1: memory is exhausted. */
int kp_decisions_seal(json_t *root) __attribute__((warn_unused_result));

/*
 * Is the sum that of the text? One without, which a person may have written, is whole.
 * 1 or 0; -1: memory is exhausted.
 */
int kp_decisions_is_whole(const json_t *root);

#endif
