/* SPDX-License-Identifier: MIT */
/*
 * The libraries that come with a stored plugin, against what is mapped already: the
 * loader takes whatever has the name. Knows no plugin.
 */
#ifndef KP_LIB_HOST_BUNDLE_H
#define KP_LIB_HOST_BUNDLE_H

#include "lib/base/diag.h"

/*
 * `stored` is a library below a directory `closure`, whose other files it brings. Code
 * soname_conflict: one of them would be taken from another file; both are named.
 */
int kp_bundle_check(const char *stored, const char *closure, struct kp_diag *diag)
	__attribute__((warn_unused_result));

#endif
