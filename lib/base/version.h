/* SPDX-License-Identifier: MIT */
/* Versions by SemVer 2.0.0, and ranges of them. */
#ifndef KP_LIB_VERSION_H
#define KP_LIB_VERSION_H

#include <stdbool.h>

#include "lib/base/diag.h"

struct kp_version {
	unsigned major, minor, patch;
	char pre[64];	/* "rc.1", or "" */
	char build[64]; /* no part in comparisons */
};

/* [min, max); max absent is the next major, the next minor while major is 0. */
struct kp_version_range {
	struct kp_version min, max;
};

/*
 * Code bad_version; the message names the part that is wrong: "1.02.3: the
 * minor version has a leading zero".
 */
int kp_version_parse(const char *text, struct kp_version *version, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/* Negative, 0, positive by SemVer precedence (pre-releases before the release). */
int kp_version_compare(const struct kp_version *a, const struct kp_version *b);

/* Prints the whole version; returns `text`. 160 bytes hold every one. */
const char *kp_version_print(const struct kp_version *version, char *text, size_t size);

/*
 * Either text may be NULL: min is then 0.0.0; without both the range holds every
 * version. A pre-release counts by SemVer order, so 0.2.0-rc.1 is inside [0.1.0,
 * 0.2.0). Codes: bad_version, empty_range (min is not below max).
 */
int kp_version_range_parse(const char *min, const char *max,
	struct kp_version_range *range, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/*
 * Codes host_too_old, host_too_new; the message has the host's version and the
 * range, and what to do.
 */
int kp_version_range_check(const struct kp_version_range *range,
	const struct kp_version *host, struct kp_diag *diag)
	__attribute__((warn_unused_result));

#endif
