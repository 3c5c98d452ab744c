/* SPDX-License-Identifier: MIT */
/* Rules: solutions of operations that an operator turned off, whoever brings them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/sorted.h"
#include "lib/registry/decisions_kind.h"

static struct kp_sorted list_of(const struct kp_decisions *d)
{
	return (struct kp_sorted){(char *)d->rules, d->n_rules, sizeof(*d->rules)};
}

static void rule_free(struct kp_rule *rule)
{
	free(rule->name);
	free(rule->operation);
	free(rule->solution);
	free(rule->reason);
}

static char *name_of(const char *operation, const char *solution)
{
	char *name;
	return asprintf(&name, "%s/%s", operation, solution) < 0 ? NULL : name;
}

/* One until the end never weakens one for good. */
static int change_rule(struct kp_rule *rule, const char *reason, int64_t at, uint32_t uid,
	bool runtime, bool *changed)
{
	bool differs = rule->runtime && !runtime;

	*changed = false;
	if (runtime && !rule->runtime)
		return 0;
	if (reason[0] && kp_decisions_replace(&rule->reason, reason, &differs) < 0)
		return -1;
	if (differs) {
		rule->at = at;
		rule->uid = uid;
		rule->runtime = runtime;
	}
	*changed = differs;
	return 0;
}

int kp_decisions_rule(struct kp_decisions *decisions, const char *operation,
	const char *solution, const char *reason, int64_t at, uint32_t uid, bool runtime,
	bool *changed)
{
	struct kp_sorted list = list_of(decisions);
	struct kp_rule item = {name_of(operation, solution), strdup(operation),
		strdup(solution), strdup(reason ? reason : ""), at, uid, runtime};
	bool is_whole = item.name && item.operation && item.solution && item.reason;
	bool found = false;
	size_t i = is_whole ? kp_sorted_place(&list, item.name, &found) : 0;

	if (is_whole && !found && kp_sorted_open(&list, i) == 0) {
		decisions->rules = (struct kp_rule *)(void *)list.base;
		decisions->rules[i] = item;
		decisions->n_rules = list.count;
		*changed = true;
		return 0;
	}
	int result = found ? change_rule(&decisions->rules[i], item.reason, at, uid,
				     runtime, changed)
			   : -1;
	rule_free(&item);
	return result;
}

static size_t find(const struct kp_decisions *decisions, const char *operation,
	const char *solution, bool *found)
{
	struct kp_sorted list = list_of(decisions);
	char space[256];
	int n = snprintf(space, sizeof(space), "%s/%s", operation, solution);

	*found = false;
	/* Names are bounded: one that does not fit has no rule. */
	return n < 0 || (size_t)n >= sizeof(space) ? 0
						   : kp_sorted_place(&list, space, found);
}

bool kp_decisions_unrule(
	struct kp_decisions *decisions, const char *operation, const char *solution)
{
	struct kp_sorted list = list_of(decisions);
	bool found;
	size_t i = find(decisions, operation, solution, &found);

	if (!found)
		return false;
	rule_free(&decisions->rules[i]);
	kp_sorted_close(&list, i);
	decisions->n_rules = list.count;
	return true;
}

const struct kp_rule *kp_decisions_find_rule(
	const struct kp_decisions *decisions, const char *operation, const char *solution)
{
	bool found;

	if (decisions->n_rules == 0 || !solution || !solution[0])
		return NULL;
	size_t i = find(decisions, operation, solution, &found);
	return found ? &decisions->rules[i] : NULL;
}

int kp_decisions_copy_rules(const struct kp_decisions *from, struct kp_decisions *to)
{
	bool changed;
	int result = 0;

	for (size_t i = 0; i < from->n_rules && result == 0; i++) {
		const struct kp_rule *rule = &from->rules[i];
		result = kp_decisions_rule(to, rule->operation, rule->solution,
			rule->reason, rule->at, rule->uid, rule->runtime, &changed);
	}
	return result;
}

void kp_decisions_finish_rules(struct kp_decisions *decisions)
{
	for (size_t i = 0; i < decisions->n_rules; i++)
		rule_free(&decisions->rules[i]);
	free(decisions->rules);
}
