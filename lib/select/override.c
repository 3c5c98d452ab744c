/* SPDX-License-Identifier: MIT */
/* Which kernel an override names, and whether it may have its way. */
#include "lib/select/override.h"

#include <stdio.h>
#include <string.h>

#include "lib/select/predicate.h"
#include "lib/select/rank.h"

enum { SOLUTIONS_OFFERED = 256 };

/* A value, and what its force leaves aside. */
struct wish {
	const char *value;
	unsigned skip;
};

static int ineligible(const struct kp_query *query, const struct wish *wish,
	size_t kernel, struct kp_diag *diag)
{
	struct kp_exclusions exclusions = {.count = 0};
	char id[KP_KERNEL_ID_BYTES];

	kp_predicate_check(query, kernel, wish->skip, &exclusions, NULL);
	const struct kp_exclusion *first = &exclusions.items[0];
	kp_table_kernel_id(query->table, kernel, id, sizeof(id));
	bool is_id = strcmp(id, wish->value) == 0;
	return kp_diag_set(diag, "override_ineligible", wish->value,
		"the override %s%s%s%s not eligible: %s: required %s, is %s", wish->value,
		is_id ? "" : " names ", is_id ? "" : id, is_id ? " is" : ", which is",
		first->code, first->required, first->actual);
}

/*
 * The kernel passes, or is forced. Forced past the device, it still has the one that
 * passes; none of them does: NULL.
 */
static bool take(const struct kp_query *query, unsigned skip, size_t kernel,
	struct kp_decision *decision)
{
	size_t device;

	if (!kp_predicate_check(query, kernel, skip, NULL, &device))
		return false;
	if (device == SIZE_MAX)
		kp_predicate_check(query, kernel, 0, NULL, &device);
	decision->selected = kernel;
	decision->device = device == SIZE_MAX ? NULL : query->devices[device].id;
	return true;
}

static bool has_solution(const struct kp_query *query, size_t kernel, uint32_t solution)
{
	const unsigned char *profile =
		kp_table_profile(query->table, kp_table_kernel(query->table, kernel));
	return kp_load32(profile + KP_PROFILE_SOLUTION) == solution;
}

/*
 * The best eligible kernel of a solution is taken into *decision (NULL: none is), or
 * *first is its best one, SIZE_MAX when there is none. 1: taken; -1: memory.
 */
static int take_solution(const struct kp_query *query, uint32_t solution, unsigned skip,
	struct kp_decision *decision, size_t *first)
{
	struct kp_rank_walk walk;
	size_t kernel;
	int result = 0;

	*first = SIZE_MAX;
	if (kp_rank_walk_init_all(&walk, query) < 0)
		return -1;
	while (result == 0 && kp_rank_walk_next(&walk, &kernel, NULL)) {
		if (!has_solution(query, kernel, solution))
			continue;
		if (*first == SIZE_MAX)
			*first = kernel;
		result = decision && take(query, skip, kernel, decision);
	}
	kp_rank_walk_finish(&walk);
	return result;
}

static const char *solution_of(const struct kp_query *query, size_t kernel)
{
	return kp_table_text(
		query->table, kp_load32(kp_table_profile(query->table,
						kp_table_kernel(query->table, kernel)) +
					KP_PROFILE_SOLUTION));
}

/* Where no kernel's name is near, a solution may be meant. */
static void offer_solution(
	const struct kp_query *query, const char *value, struct kp_diag *diag)
{
	const char *names[SOLUTIONS_OFFERED];
	struct kp_rank_walk walk;
	size_t count = 0, kernel;

	if (kp_rank_walk_init_all(&walk, query) < 0)
		return;
	while (count < SOLUTIONS_OFFERED && kp_rank_walk_next(&walk, &kernel, NULL)) {
		const char *name = solution_of(query, kernel);
		if (name[0])
			names[count++] = name;
	}
	kp_rank_walk_finish(&walk);
	(void)kp_diag_offer(diag, value, names, count);
}

/* A kernel's id or name goes before a solution. 1: taken; 0: *kernel was meant. */
static int find(const struct kp_query *query, const struct wish *wish,
	struct kp_decision *decision, size_t *kernel, struct kp_diag *diag)
{
	const char *value = wish->value;
	struct kp_diag why;

	if (kp_table_find(query->table, query->request->operation, value, kernel, &why) ==
		0)
		return decision && take(query, wish->skip, *kernel, decision);
	uint32_t solution = kp_table_symbol(query->table, value);
	if (solution && strcmp(why.code, "no_such_kernel") == 0) {
		int result = take_solution(query, solution, wish->skip, decision, kernel);
		if (result < 0)
			return kp_diag_no_memory(diag);
		if (result > 0 || *kernel != SIZE_MAX)
			return result;
	}
	if (diag) {
		*diag = why;
		if (strcmp(why.code, "no_such_kernel") == 0 && !strchr(value, '/'))
			offer_solution(query, value, diag);
	}
	return -1;
}

int kp_override_find(const struct kp_query *query, const char *value, size_t *kernel,
	struct kp_diag *diag)
{
	return find(query, &(struct wish){value, 0}, NULL, kernel, diag);
}

int kp_override_has_solution(
	const struct kp_query *query, const char *solution, struct kp_diag *diag)
{
	uint32_t symbol = kp_table_symbol(query->table, solution);
	size_t kernel = SIZE_MAX;

	if (symbol && take_solution(query, symbol, 0, NULL, &kernel) < 0)
		return kp_diag_no_memory(diag);
	if (kernel != SIZE_MAX)
		return 0;
	kp_diag_set(diag, "no_such_solution", solution,
		"no kernel of %s has the solution %s", query->request->operation,
		solution);
	if (diag)
		offer_solution(query, solution, diag);
	return -1;
}

static int try(const struct kp_query *query, const struct wish *wish,
	struct kp_decision *decision, struct kp_diag *diag)
{
	size_t kernel;
	int result = find(query, wish, decision, &kernel, diag);

	if (result == 0)
		return ineligible(query, wish, kernel, diag);
	return result > 0 ? 0 : -1;
}

static void ignore(struct kp_decision *decision, const char *value,
	enum kp_override_source source, const struct kp_diag *why)
{
	size_t i = decision->n_ignored++;

	decision->ignored[i].value = value;
	decision->ignored[i].source = source;
	decision->ignored[i].code = why ? why->code : NULL;
	(void)snprintf(decision->ignored[i].message, sizeof(decision->ignored[i].message),
		"%.*s", (int)sizeof(decision->ignored[i].message) - 1,
		why ? why->message : "a stronger override is present");
}

static struct wish wish_of(const struct kp_query *query, enum kp_override_source source)
{
	const struct kp_request *request = query->request;
	bool force = false;
	const char *value =
		source == KP_OVERRIDE_PIN
			? kp_table_pin(query->table, request->operation, &force)
			: request->overrides[source];
	return (struct wish){value, force || request->force ? KP_SKIP_FIT : 0};
}

int kp_override_apply(
	const struct kp_query *query, struct kp_decision *decision, struct kp_diag *diag)
{
	for (unsigned s = 0; s < KP_OVERRIDES; s++) {
		struct kp_diag why;
		const struct wish wish = wish_of(query, s);
		const char *value = wish.value;
		if (!value)
			continue;
		if (decision->overridden) {
			ignore(decision, value, s, NULL);
		} else if (try(query, &wish, decision, &why) == 0) {
			decision->overridden = true;
			decision->source = s;
			decision->override_value = value;
		} else if (s == KP_OVERRIDE_PIN) {
			ignore(decision, value, s, &why);
		} else {
			if (diag)
				*diag = why;
			return -1;
		}
	}
	return 0;
}
