/* SPDX-License-Identifier: MIT */
/* Compares the kernels of plugins, operation by operation. */
#include "lib/lint/ties.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/lint/mend.h"
#include "lib/base/owned.h"

enum { PAIRS_MOST = 1 << 24 }; /* that are compared */

struct item {
	const struct kp_spec *spec;
	size_t plugin, index; /* in the note */
};

struct ties {
	struct kp_lint *lint;
	const struct kp_families *families;
	const struct kp_lint_plugin *plugins;
	struct item *items;
	size_t count, compared;
};

/* Those that may tie lie side by side, plugin by plugin. */
static int compare(const void *left, const void *right)
{
	const struct item *a = left;
	const struct item *b = right;
	int order = strcmp(a->spec->operation, b->spec->operation);

	if (order)
		return order;
	if (a->spec->priority != b->spec->priority)
		return a->spec->priority < b->spec->priority ? -1 : 1;
	if (a->plugin != b->plugin)
		return a->plugin < b->plugin ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

static bool collect(struct ties *ties, size_t count)
{
	size_t room = 0;

	for (size_t i = 0; i < count; i++)
		room += ties->plugins[i].note->n_kernels;
	ties->items = calloc(room + 1, sizeof(*ties->items));
	if (!ties->items)
		return false;
	for (size_t i = 0; i < count; i++) {
		const struct kp_note *note = ties->plugins[i].note;
		for (size_t k = 0; k < note->n_kernels; k++)
			if (strcmp(note->kernels[k].operation, kp_mend_operation) != 0)
				ties->items[ties->count++] =
					(struct item){&note->kernels[k], i, k};
	}
	qsort(ties->items, ties->count, sizeof(*ties->items), compare);
	return true;
}

/* The winner is the first by name of plugin, then of kernel. */
static bool wins(const struct ties *ties, const struct item *a, const struct item *b)
{
	int order = strcmp(ties->plugins[a->plugin].name, ties->plugins[b->plugin].name);
	return order ? order < 0 : strcmp(a->spec->name, b->spec->name) < 0;
}

/* What is known of one kernel: who comes before it, and how many more do. */
struct loss {
	const struct item *winner;
	size_t more;
};

static void tell(
	const struct ties *ties, const struct item *loser, const struct loss *loss)
{
	const struct kp_lint_plugin *plugin = &ties->plugins[loser->plugin];
	const char *winner = ties->plugins[loss->winner->plugin].name;
	struct kp_diag diag;
	char path[48], more[48] = "";

	if (loss->more > 0)
		(void)snprintf(more, sizeof(more), ", as to %zu more", loss->more);
	(void)snprintf(path, sizeof(path), "kernels[%zu].priority", loser->index);
	kp_diag_set(&diag, "equal_rank", path,
		"%s/%s has priority %d for %s, as %s/%s, and accepts requests that the "
		"other accepts: it always loses them to %s/%s by its name%s",
		plugin->name, loser->spec->name, loser->spec->priority,
		loser->spec->operation, winner, loss->winner->spec->name, winner,
		loss->winner->spec->name, more);
	kp_lint_add_placed(ties->lint, &plugin->text, &diag);
}

static void take_rival(
	struct ties *ties, const struct item *item, size_t rival, struct loss *loss)
{
	const struct item *other = &ties->items[rival];
	const struct kp_family *family =
		kp_families_find(ties->families, item->spec->operation);

	if (!wins(ties, other, item) || !kp_specs_meet(item->spec, other->spec, family))
		return;
	if (loss->winner)
		loss->more++;
	if (!loss->winner || wins(ties, other, loss->winner))
		loss->winner = other;
}

static bool is_rival(const struct item *a, const struct item *b)
{
	return a->spec->priority == b->spec->priority &&
	       strcmp(a->spec->operation, b->spec->operation) == 0;
}

/* Rivals lie side by side: items first to end. */
static void compare_rivals(struct ties *ties, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++) {
		struct loss loss = {0};
		for (size_t k = first; k < end && ties->compared < PAIRS_MOST; k++) {
			ties->compared++;
			if (k != i)
				take_rival(ties, &ties->items[i], k, &loss);
		}
		if (loss.winner)
			tell(ties, &ties->items[i], &loss);
	}
}

static void compare_all(struct ties *ties)
{
	for (size_t first = 0, end = 0; first < ties->count; first = end) {
		while (end < ties->count &&
			is_rival(&ties->items[first], &ties->items[end]))
			end++;
		compare_rivals(ties, first, end);
	}
}

void kp_lint_ties(struct kp_lint *lint, const struct kp_families *families,
	const struct kp_lint_plugin *plugins, size_t count)
{
	struct ties ties = {.lint = lint, .families = families, .plugins = plugins};

	if (!collect(&ties, count))
		lint->failed = true;
	else
		compare_all(&ties);
	free(ties.items);
}
