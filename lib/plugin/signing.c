/* SPDX-License-Identifier: MIT */
/* A short list of rules. */
#include "lib/plugin/signing.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { RULES_MOST = 64 };

static const char *const names[] = {"off", "warn", "require"};

const char *kp_signing_policy_name(enum kp_signing_policy policy)
{
	return names[policy];
}

static bool read_policy(const char *name, enum kp_signing_policy *policy)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(names[i], name) == 0) {
			*policy = (enum kp_signing_policy)i;
			return true;
		}
	}
	return false;
}

/* Without the slashes at its end: "/" is "". */
static size_t length_of(const char *dir, size_t length)
{
	while (length > 0 && dir[length - 1] == '/')
		length--;
	return length;
}

int kp_signing_add(struct kp_signing *signing, const char *text)
{
	const char *equals = strrchr(text, '=');
	struct kp_signing_rule rule = {NULL, KP_SIGNING_OFF};

	if (!read_policy(equals ? equals + 1 : text, &rule.policy) ||
		(equals && text[0] != '/'))
		return -1;
	if (signing->count >= RULES_MOST)
		return -2;
	struct kp_signing_rule *rules =
		reallocarray(signing->rules, signing->count + 1, sizeof(*rules));
	if (!rules)
		return -2;
	signing->rules = rules;
	if (equals &&
		!(rule.dir = strndup(text, length_of(text, (size_t)(equals - text)))))
		return -2;
	rules[signing->count++] = rule;
	return 0;
}

void kp_signing_print(const struct kp_signing *signing, FILE *out)
{
	for (size_t i = 0; i < signing->count; i++)
		(void)fprintf(out, "%s=%s\n",
			signing->rules[i].dir ? signing->rules[i].dir : "",
			names[signing->rules[i].policy]);
}

void kp_signing_finish(struct kp_signing *signing)
{
	for (size_t i = 0; i < signing->count; i++)
		free(signing->rules[i].dir);
	free(signing->rules);
	signing->rules = NULL;
	signing->count = 0;
}

static bool is_in(const char *manifest, const char *dir)
{
	const char *slash = strrchr(manifest, '/');
	size_t length = slash ? length_of(manifest, (size_t)(slash - manifest)) : 0;

	return slash && strlen(dir) == length && memcmp(manifest, dir, length) == 0;
}

enum kp_signing_policy kp_signing_of(
	const struct kp_signing *signing, const char *manifest)
{
	enum kp_signing_policy others = KP_SIGNING_OFF, own = KP_SIGNING_OFF;
	bool has_own = false;

	for (size_t i = 0; signing && i < signing->count; i++) {
		const struct kp_signing_rule *rule = &signing->rules[i];
		if (!rule->dir) {
			others = rule->policy;
		} else if (is_in(manifest, rule->dir)) {
			own = rule->policy;
			has_own = true;
		}
	}
	return has_own ? own : others;
}
