/* SPDX-License-Identifier: MIT */
/* Every kernel of an operation: its rank, or all that excludes it. */
#include <stdlib.h>

#include "lib/base/json.h"
#include "lib/select/override.h"
#include "lib/select/predicate.h"
#include "lib/select/rank.h"
#include "lib/select/select.h"

json_t *kp_exclusions_json(const struct kp_exclusions *exclusions)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < exclusions->count; i++) {
		const struct kp_exclusion *e = &exclusions->items[i];
		/* Cutting to fit may have split a character. */
		list = kp_json_append(list,
			json_pack("{s:s, s:o, s:o, s:s}", "code", e->code, "required",
				kp_json_clean_string(e->required), "actual",
				kp_json_clean_string(e->actual), "source", e->source));
	}
	return list;
}

/* Adds the candidate to the eligible or to the others. */
static int explain_kernel(const struct kp_query *query, size_t kernel,
	struct kp_exclusions *exclusions, json_t *eligible, json_t *others)
{
	char id[KP_KERNEL_ID_BYTES];
	struct kp_rank rank = kp_rank_of(query, kernel);

	exclusions->count = 0;
	bool passes = kp_predicate_check(query, kernel, 0, exclusions, NULL);
	json_t *position =
		passes ? json_integer((json_int_t)json_array_size(eligible) + 1)
		       : json_null();
	json_t *candidate = json_pack("{s:s, s:b, s:o, s:o, s:o}", "kernel",
		kp_table_kernel_id(query->table, kernel, id, sizeof(id)), "eligible",
		passes, "position", position, "rank", kp_rank_json(&rank), "reasons",
		kp_exclusions_json(exclusions));
	return json_array_append_new(passes ? eligible : others, candidate);
}

static json_t *explain_all(const struct kp_query *query, struct kp_exclusions *exclusions)
{
	struct kp_rank_walk walk;
	json_t *eligible = json_array();
	json_t *others = json_array();
	size_t kernel;
	int result = eligible && others ? kp_rank_walk_init_all(&walk, query) : -1;

	if (result == 0) {
		while (result == 0 && kp_rank_walk_next(&walk, &kernel, NULL))
			result = explain_kernel(
				query, kernel, exclusions, eligible, others);
		kp_rank_walk_finish(&walk);
	}
	if (result == 0)
		result = json_array_extend(eligible, others);
	json_decref(others);
	if (result == 0)
		return eligible;
	json_decref(eligible);
	return NULL;
}

json_t *kp_explain_json(const struct kp_table *table, const struct kp_request *request)
{
	struct kp_query *query = kp_query_new(table, request, NULL);
	struct kp_exclusions *exclusions = malloc(sizeof(*exclusions));
	json_t *candidates = query && exclusions ? explain_all(query, exclusions) : NULL;

	free(exclusions);
	free(query);
	return candidates;
}

/* The first that is present; a pin is never ineligible, but skipped. */
static const char *override_of(const struct kp_request *request)
{
	for (unsigned s = 0; s < KP_OVERRIDE_PIN; s++)
		if (request->overrides[s])
			return request->overrides[s];
	return NULL;
}

json_t *kp_override_reasons_json(
	const struct kp_table *table, const struct kp_request *request)
{
	const char *value = override_of(request);
	struct kp_query *query = kp_query_new(table, request, NULL);
	struct kp_exclusions *exclusions = malloc(sizeof(*exclusions));
	size_t kernel;
	json_t *list = NULL;

	if (query && exclusions) {
		exclusions->count = 0;
		if (value && kp_override_find(query, value, &kernel, NULL) == 0)
			kp_predicate_check(query, kernel,
				request->force ? KP_SKIP_FIT : 0, exclusions, NULL);
		list = kp_exclusions_json(exclusions);
	}
	free(exclusions);
	free(query);
	return list;
}
