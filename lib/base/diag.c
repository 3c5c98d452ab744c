/* SPDX-License-Identifier: MIT */
/* Filling, placing and printing of diagnostics. */
#include "lib/base/diag.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/text.h"

/* In brackets: the function, where the header has a macro, too. */
int(kp_diag_set)(struct kp_diag *diag, const char *code, const char *object,
	const char *format, ...)
{
	char raw[sizeof(diag->message)];
	va_list args;

	if (!diag)
		return -1;
	va_start(args, format);
	(void)vsnprintf(raw, sizeof(raw), format, args);
	va_end(args);
	diag->code = code;
	diag->file[0] = '\0';
	diag->line = 0;
	diag->column = 0;
	/* `object` may point into *diag itself. */
	char name[sizeof(diag->object)];
	kp_text_clean(object ? object : "", name, sizeof(name));
	memcpy(diag->object, name, sizeof(name));
	kp_text_clean(raw, diag->message, sizeof(diag->message));
	return -1;
}

int kp_diag_at(struct kp_diag *diag, const char *file, unsigned line, unsigned column)
{
	if (!diag)
		return -1;
	kp_text_clean(file ? file : "", diag->file, sizeof(diag->file));
	diag->line = line;
	diag->column = column;
	return -1;
}

int kp_diag_rename(struct kp_diag *diag, const char *object)
{
	if (!diag)
		return -1;
	struct kp_diag said = *diag;
	kp_diag_set(diag, said.code, object, "%s: %s", object, said.message);
	return kp_diag_at(diag, said.file, said.line, said.column);
}

int kp_diag_offer(
	struct kp_diag *diag, const char *wanted, const char *const *names, size_t count)
{
	char offer[KP_TEXT_OFFER];
	size_t used;

	if (!diag || kp_text_offered(diag->message, offer, sizeof(offer)))
		return -1;
	used = strlen(diag->message);
	kp_text_offer(wanted, names, count, NULL, offer);
	/* Half an offer is another one. */
	if (used + strlen(offer) < sizeof(diag->message))
		memcpy(diag->message + used, offer, strlen(offer) + 1);
	return -1;
}

int(kp_diag_no_memory)(struct kp_diag *diag)
{
	return kp_diag_set(diag, "no_memory", NULL, "memory is exhausted");
}

const char *kp_diag_text(const struct kp_diag *diag, char *text, size_t size)
{
	if (diag->file[0] && diag->line)
		(void)snprintf(text, size, "%s:%u:%u: %s", diag->file, diag->line,
			diag->column, diag->message);
	else if (diag->file[0])
		(void)snprintf(text, size, "%s: %s", diag->file, diag->message);
	else
		(void)snprintf(text, size, "%s", diag->message);
	return text;
}

void kp_diags_add(struct kp_diags *list, const struct kp_diag *diag)
{
	if (!list || list->count == KP_DIAGS_MOST)
		return;
	struct kp_diag *items =
		reallocarray(list->items, list->count + 1, sizeof(*items));
	if (!items) {
		list->no_memory = true;
		return;
	}
	items[list->count++] = *diag;
	list->items = items;
}

bool kp_diags_has(const struct kp_diags *list, const struct kp_diag *diag)
{
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->items[i].code, diag->code) == 0 &&
			strcmp(list->items[i].message, diag->message) == 0)
			return true;
	return false;
}

void kp_diags_add_new(struct kp_diags *list, const struct kp_diag *diag)
{
	if (!list || !kp_diags_has(list, diag))
		kp_diags_add(list, diag);
}

void kp_diags_finish(struct kp_diags *list)
{
	free(list->items);
	list->items = NULL;
	list->count = 0;
}
