/* SPDX-License-Identifier: MIT */
/* The decision: an override, or the first eligible kernel by rank. */
#include "lib/select/select.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/text.h"
#include "lib/select/override.h"
#include "lib/select/predicate.h"
#include "lib/select/rank.h"
#include "lib/table/table_read.h"

static const char *const objective_names[KP_OBJECTIVES] = {
	[KP_OBJECTIVE_DEFAULT] = "default",
	[KP_OBJECTIVE_LATENCY] = "latency",
	[KP_OBJECTIVE_THROUGHPUT] = "throughput",
	[KP_OBJECTIVE_PORTABILITY] = "portability",
	[KP_OBJECTIVE_DETERMINISM] = "determinism",
	[KP_OBJECTIVE_DEBUG] = "debug",
};

static const char *const source_names[KP_OVERRIDES] = {
	[KP_OVERRIDE_ARGUMENT] = "argument",
	[KP_OVERRIDE_SCOPE] = "scope",
	[KP_OVERRIDE_ENVIRONMENT] = "environment",
	[KP_OVERRIDE_PIN] = "pin",
};

const char *kp_objective_name(enum kp_objective objective)
{
	return objective_names[objective];
}

const char *kp_override_source_name(enum kp_override_source source)
{
	return source_names[source];
}

/* The nearest plugin, or NULL. */
static const char *nearest_plugin(const struct kp_table *table, const char *name)
{
	const char *nearest = NULL;
	size_t best = SIZE_MAX;

	for (size_t i = 0; i < kp_table_count(table, KP_SECTION_PLUGINS); i++) {
		const char *known = kp_table_text(
			table, kp_load32(kp_table_record(table, KP_SECTION_PLUGINS, i) +
					 KP_PLUGIN_NAME));
		size_t distance = kp_text_distance(name, known);
		if (distance < best && kp_text_nearest(name, &known, 1)) {
			best = distance;
			nearest = known;
		}
	}
	return nearest;
}

/* Is there nothing of this name to leave out? *diag says so, and what was meant. */
static bool is_unknown(
	const struct kp_table *table, const char *name, struct kp_diag *diag)
{
	char offer[KP_TEXT_OFFER];
	struct kp_diag why;
	size_t kernel;

	if (strchr(name, '/')) {
		if (kp_table_find(table, NULL, name, &kernel, &why) == 0)
			return false;
		kp_diag_set(diag, "unknown_without", name,
			"nothing is left out for %s: %s", name, why.message);
		return true;
	}
	if (kp_table_plugin(table, name) != SIZE_MAX)
		return false;
	kp_diag_set(diag, "unknown_without", name,
		"there is no plugin or kernel %s to leave out%s", name,
		kp_text_meant(nearest_plugin(table, name), offer));
	return true;
}

static void warn_unknown(const struct kp_query *query, struct kp_decision *decision)
{
	const struct kp_request *request = query->request;
	struct kp_diag diag;

	for (size_t i = 0; query->n_unknown_without > 0 && i < request->n_without; i++)
		if (is_unknown(query->table, request->without[i], &diag))
			kp_diags_add(&decision->warnings, &diag);
}

static void warn(const struct kp_query *query, struct kp_decision *decision)
{
	struct kp_diag diag;

	if (!query->family && query->request->n_traits > 0) {
		kp_diag_set(&diag, "unknown_family", query->request->operation,
			"no family describes %s: its traits are taken as they are",
			query->request->operation);
		kp_diags_add(&decision->warnings, &diag);
	}
	warn_unknown(query, decision);
}

/* What force left aside is said with the result. */
static void warn_forced(const struct kp_query *query, struct kp_decision *decision)
{
	struct kp_exclusions exclusions;
	char id[KP_KERNEL_ID_BYTES];
	struct kp_diag diag;

	/* Large, and seldom wanted. */
	exclusions.count = 0;
	if (!decision->overridden ||
		(!query->request->force && decision->source != KP_OVERRIDE_PIN) ||
		kp_predicate_check(query, decision->selected, 0, &exclusions, NULL))
		return;
	const struct kp_exclusion *first = &exclusions.items[0];
	kp_diag_set(&diag, "forced", decision->override_value,
		"%s is selected by force only: %s: required %s, is %s",
		kp_table_kernel_id(query->table, decision->selected, id, sizeof(id)),
		first->code, first->required, first->actual);
	kp_diags_add(&decision->warnings, &diag);
}

/* "What if" asks about a machine on which nothing was probed. */
static void warn_elsewhere(const struct kp_query *query, struct kp_decision *decision)
{
	const char *code, *message;
	char id[KP_KERNEL_ID_BYTES];
	struct kp_diag diag;

	if (!query->request->on || decision->selected == SIZE_MAX ||
		!kp_predicate_is_off(query->table, decision->selected, &code, &message))
		return;
	kp_table_kernel_id(query->table, decision->selected, id, sizeof(id));
	kp_diag_set(&diag, "unavailable_here", id,
		"%s is unavailable on this machine (%s); whether it is there is not "
		"known",
		id, message && *message ? message : code);
	kp_diags_add(&decision->warnings, &diag);
}

/* Was something turned off that would have come before all others, being fit? */
static bool fell_back(const struct kp_query *query, size_t kernel)
{
	const char *code, *message;

	return (kp_predicate_is_off(query->table, kernel, &code, &message) ||
		       kp_predicate_is_overlaid(query, kernel, NULL)) &&
	       kp_predicate_check(
		       query, kernel, KP_SKIP_STATE | KP_SKIP_SIGNATURE, NULL, NULL);
}

static void take_first(const struct kp_query *query, struct kp_rank_walk *walk,
	struct kp_fits *known, struct kp_decision *decision)
{
	size_t kernel, like, device;
	bool fits;

	while (kp_rank_walk_step(walk, &kernel, &like) ||
		kp_rank_walk_next(walk, &kernel, &like)) {
		/* What is true of one is true of many: most go here. */
		if (kp_fits_exclude(known, like))
			continue;
		if (!kp_predicate_passes(query, known, kernel, like, &fits, &device)) {
			if (fits && decision->fallback_from == SIZE_MAX &&
				fell_back(query, kernel))
				decision->fallback_from = kernel;
			continue;
		}
		decision->selected = kernel;
		decision->device = query->devices[device].id;
		decision->rank = kp_rank_of(query, kernel);
		return;
	}
}

/* The next of the same rank competes for this very request. */
static void find_equal(const struct kp_query *query, struct kp_rank_walk *walk,
	struct kp_fits *known, struct kp_decision *decision)
{
	size_t kernel, like, device;
	bool fits;

	while (kp_rank_walk_next(walk, &kernel, &like)) {
		struct kp_rank rank = kp_rank_of(query, kernel);
		if (!kp_rank_equal(&rank, &decision->rank))
			return;
		if (!kp_predicate_passes(query, known, kernel, like, &fits, &device))
			continue;
		decision->equal_rank = true;
		decision->equal = kernel;
		return;
	}
}

static int by_rank(const struct kp_query *query, struct kp_decision *decision)
{
	struct kp_fits known = {0};
	struct kp_rank_walk walk;

	if (kp_rank_walk_init(&walk, query) < 0)
		return -1;
	take_first(query, &walk, &known, decision);
	if (decision->selected != SIZE_MAX)
		find_equal(query, &walk, &known, decision);
	kp_rank_walk_finish(&walk);
	return 0;
}

static int decide(
	const struct kp_query *query, struct kp_decision *decision, struct kp_diag *diag)
{
	if (kp_override_apply(query, decision, diag) < 0)
		return -1;
	if (decision->overridden)
		decision->rank = kp_rank_of(query, decision->selected);
	else if (by_rank(query, decision) < 0)
		return kp_diag_no_memory(diag);
	/* The family's own text, or the request's: both outlive the query. */
	decision->signature = query->signature;
	warn(query, decision);
	warn_forced(query, decision);
	warn_elsewhere(query, decision);
	return 0;
}

/* Not all of it: messages of what is ignored are large, and seldom there. */
static void begin(struct kp_decision *decision)
{
	decision->selected = decision->fallback_from = decision->equal = SIZE_MAX;
	decision->rank = (struct kp_rank){0, 0, 0};
	decision->signature = decision->device = decision->override_value = NULL;
	decision->overridden = decision->equal_rank = false;
	decision->source = KP_OVERRIDE_ARGUMENT;
	decision->n_ignored = 0;
	decision->warnings = (struct kp_diags){.items = NULL};
}

int kp_select(const struct kp_table *table, const struct kp_request *request,
	struct kp_decision *decision, struct kp_diag *diag)
{
	struct kp_query *query = kp_query_new(table, request, diag);

	begin(decision);
	int result = query ? decide(query, decision, diag) : -1;
	free(query);
	if (result < 0)
		kp_decision_finish(decision);
	return result;
}

void kp_decision_finish(struct kp_decision *decision)
{
	kp_diags_finish(&decision->warnings);
}
