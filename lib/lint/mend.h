/* SPDX-License-Identifier: MIT */
/*
 * Mending a JSON text after a fault was told, so that its reader goes on to the next
 * one: readers of manifests and notes stop at the first.
 */
#ifndef KP_LIB_LINT_MEND_H
#define KP_LIB_LINT_MEND_H

#include <jansson.h>
#include <stdbool.h>

enum { KP_MENDS_MOST = 256 }; /* of one text */

/*
 * Takes away, or replaces by what `good` has in its place, the member that the path
 * begins with: of "config.x" the member config, of "kernels[2].traits.k" the member
 * traits of that kernel, for which `good_kernel` is asked (NULL: there are none). False:
 * the path leads to nothing that could be changed.
 */
bool kp_mend(
	json_t *root, const char *path, const json_t *good, const json_t *good_kernel);

/* What is left of a kernel that could not be understood: no operation has this name. */
extern const char kp_mend_operation[];

#endif
