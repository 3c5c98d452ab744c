/* SPDX-License-Identifier: MIT */
/*
 * What plugind reads once, before it starts: families, platform, and whether
 * there is a worker to run. Blocks on files.
 */
#ifndef KP_DAEMON_INPUTS_H
#define KP_DAEMON_INPUTS_H

#include "daemon/options.h"
#include "lib/base/diag.h"
#include "lib/family/family.h"
#include "lib/platform/platform.h"

/*
 * A directory or file that was named and cannot be used fails (bad_families_dir,
 * bad_platform, bad_worker and codes of lib/platform/platform.h). A single wrong family
 * is left out and added to `warnings`.
 */
int inputs_read(const struct options *options, struct kp_families *families,
	struct kp_platform *platform, struct kp_diags *warnings, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/* Where /sys and /proc of the devices are: "" for this machine's own. Borrowed. */
const char *inputs_root(const struct options *options);

/*
 * A text that differs when other devices or another driver are there, so that a plugin
 * may answer otherwise; what a worker has found out of them is no part of it. malloc'ed,
 * NULL when memory is exhausted.
 */
char *inputs_platform_key(const struct kp_platform *platform);

/* Adds a warning (policy_of_no_layer) for each policy of signatures that is of nothing.
 */
void inputs_look_at_signing(const struct options *options, struct kp_diags *warnings);

/*
 * Adds a remark (missing_directory) for each directory of manifests or libraries that
 * somebody named and that is not there, and for that of keys where signatures are asked
 * for: it may come later.
 */
void inputs_look_for_dirs(const struct options *options, struct kp_diags *remarks);

#endif
