/* SPDX-License-Identifier: MIT */
/*
 * What is asked of signatures, by the directory of a plugin's manifest, and whose keys
 * count. Knows no keys and no signatures.
 */
#ifndef KP_DAEMON_SIGNING_H
#define KP_DAEMON_SIGNING_H

#include <stddef.h>

enum signing_policy { SIGNING_OFF, SIGNING_WARN, SIGNING_REQUIRE };

struct signing_rule {
	char *dir; /* NULL: of all others */
	enum signing_policy policy;
};

struct signing {
	size_t count;
	struct signing_rule *rules; /* the last one for a directory holds */
	char *trusted;		    /* directory of public keys; not owned */
};

/*
 * Adds POLICY or DIR=POLICY; DIR is absolute. -1: it is none; -2: too many, or no memory.
 */
int signing_add(struct signing *signing, const char *text)
	__attribute__((warn_unused_result));
/* Of the rules. */
void signing_finish(struct signing *signing);

/* Of a manifest, by its path. NULL: off. */
enum signing_policy signing_of(const struct signing *signing, const char *manifest);
/* "off", "warn", "require". */
const char *signing_policy_name(enum signing_policy policy);

#endif
