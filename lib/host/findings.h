/* SPDX-License-Identifier: MIT */
/* Kernels that a site's guard found wrong: told to plugind, and not more often than that.
 */
#ifndef KP_LIB_HOST_FINDINGS_H
#define KP_LIB_HOST_FINDINGS_H

#include "kplug/plugin.h"

struct kp_inner_rung;
struct kp_inner_site;
struct kp_sample;
struct kp_wrong;

/*
 * A call of this kernel was wrong. The first is told at once, then what has come together
 * a minute later, with its number and the last of them. Takes the site's lock.
 */
void kp_findings_add(struct kp_inner_site *site, const struct kp_inner_rung *rung,
	const struct kp_sample *sample, const struct kp_wrong *wrong,
	const struct kp_call *call);
/* Tells what has waited for a minute. Takes the lock. */
void kp_findings_flush(struct kp_inner_site *site);
/* Tells what waits; nobody calls the site any more. */
void kp_findings_finish(struct kp_inner_site *site);

#endif
