/* SPDX-License-Identifier: MIT */
/*
 * What is asked of signatures, by the directory of a plugin's manifest, and whose keys
 * count. Knows no keys and no signatures.
 */
#ifndef KP_LIB_SIGNING_H
#define KP_LIB_SIGNING_H

#include <stddef.h>
#include <stdio.h>

enum kp_signing_policy { KP_SIGNING_OFF, KP_SIGNING_WARN, KP_SIGNING_REQUIRE };

struct kp_signing_rule {
	char *dir; /* NULL: of all others */
	enum kp_signing_policy policy;
};

struct kp_signing {
	size_t count;
	struct kp_signing_rule *rules; /* the last one for a directory holds */
	char *trusted;		       /* directory of public keys; not owned */
};

/*
 * Adds POLICY or DIR=POLICY; DIR is absolute. -1: it is none; -2: too many, or no memory.
 */
int kp_signing_add(struct kp_signing *signing, const char *text)
	__attribute__((warn_unused_result));
/* The rules, DIR=POLICY a line, for whoever sees by a digest that they have changed. */
void kp_signing_print(const struct kp_signing *signing, FILE *out);
/* Of the rules. */
void kp_signing_finish(struct kp_signing *signing);

/* Of a manifest, by its path. NULL: off. */
enum kp_signing_policy kp_signing_of(
	const struct kp_signing *signing, const char *manifest);
/* "off", "warn", "require". */
const char *kp_signing_policy_name(enum kp_signing_policy policy);

#endif
