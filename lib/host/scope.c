/* SPDX-License-Identifier: MIT */
/* A short list; the texts of choices stay, since calls may be looking at them. */
#include "lib/host/scope.h"

#include <stdlib.h>
#include <string.h>

struct kp_choice {
	struct kp_choice *next;
	char text[];
};

static const char *intern(struct kp_scopes *scopes, const char *text)
{
	struct kp_choice *choice = scopes->choices;

	while (choice && strcmp(choice->text, text) != 0)
		choice = choice->next;
	if (choice)
		return choice->text;
	size_t size = strlen(text) + 1;
	choice = malloc(sizeof(*choice) + size);
	if (!choice)
		return NULL;
	memcpy(choice->text, text, size);
	choice->next = scopes->choices;
	scopes->choices = choice;
	return choice->text;
}

uint64_t kp_scopes_begin(struct kp_scopes *scopes, const char *operation,
	const char *choice, uint64_t thread)
{
	struct kp_scope *scope = calloc(1, sizeof(*scope));

	if (!scope || !(scope->operation = strdup(operation)) ||
		!(scope->choice = intern(scopes, choice))) {
		if (scope)
			free(scope->operation);
		free(scope);
		return 0;
	}
	scope->id = ++scopes->last;
	scope->thread = thread;
	scope->next = scopes->first;
	scopes->first = scope;
	return scope->id;
}

char *kp_scopes_end(struct kp_scopes *scopes, uint64_t id)
{
	struct kp_scope **link = &scopes->first;

	while (*link && (*link)->id != id)
		link = &(*link)->next;
	if (!*link)
		return NULL;
	struct kp_scope *scope = *link;
	char *operation = scope->operation;
	*link = scope->next;
	free(scope);
	return operation;
}

void kp_scopes_finish(struct kp_scopes *scopes)
{
	while (scopes->first)
		free(kp_scopes_end(scopes, scopes->first->id));
	while (scopes->choices) {
		struct kp_choice *next = scopes->choices->next;
		free(scopes->choices);
		scopes->choices = next;
	}
}

const char *kp_scopes_choice(
	const struct kp_scopes *scopes, const char *operation, uint64_t thread)
{
	const struct kp_scope *scope = scopes->first;

	while (scope &&
		(scope->thread != thread || strcmp(scope->operation, operation) != 0))
		scope = scope->next;
	return scope ? scope->choice : NULL;
}

bool kp_scopes_has_threads(const struct kp_scopes *scopes, const char *operation)
{
	for (const struct kp_scope *scope = scopes->first; scope; scope = scope->next)
		if (scope->thread && strcmp(scope->operation, operation) == 0)
			return true;
	return false;
}
