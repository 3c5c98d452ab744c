/* SPDX-License-Identifier: MIT */
/* Dims that the family calls independent are halved until the rest is cheap. */
#include "lib/host/slices.h"

#include <math.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/random.h"
#include "lib/family/element.h"
#include "lib/family/family.h"
#include "lib/family/tensor.h"

/*
 * Operations of the other call, an element copied being as much as some: about a
 * millisecond. What cannot be divided may cost more, but not any amount.
 */
static const double WORK = 1 << 20;

/* ---- which dims ----------------------------------------------------------------- */

static bool has_dim(const struct kp_check_role *role, size_t dim)
{
	for (size_t d = 0; d < role->rank; d++)
		if (role->dims[d] == (int)dim)
			return true;
	return false;
}

/* Whatever is compared as a set stays whole; so does what an output does not have. */
static bool can_divide(
	const struct kp_check *check, const struct kp_tensor *const *tensors, size_t dim)
{
	for (size_t i = 0; i < check->n_roles; i++) {
		const struct kp_check_role *role = &check->roles[i];
		if (!role->writes || !tensors[i])
			continue;
		bool is_row = role->rank > 0 && role->dims[role->rank - 1] == (int)dim;
		if (!has_dim(role, dim) ||
			(check->family->check == KP_CHECK_SET && is_row))
			return false;
	}
	return true;
}

static size_t find_divisible(const struct kp_check *check,
	const struct kp_tensor *const *tensors, size_t dims[KP_FAMILY_DIMS])
{
	const struct kp_family *family = check->family;
	size_t count = 0;

	for (size_t i = 0; i < family->dims.count; i++)
		for (size_t k = 0; k < family->independent.count; k++)
			if (strcmp(family->dims.items[i], family->independent.items[k]) ==
					0 &&
				can_divide(check, tensors, i))
				dims[count++] = i;
	return count;
}

/* ---- how many ------------------------------------------------------------------- */

static double sum_of(const struct kp_tensor *tensor)
{
	struct kp_walk walk = kp_walk_start(tensor);
	enum kp_element element;
	double sum = 0;

	if (!kp_element_of_dtype(tensor->dtype, &element))
		return 0;
	while (kp_walk_next(&walk))
		sum += fmax(kp_element_load(element, walk.at), 0);
	return sum;
}

/* How many dims of the family a call has beyond those of its tensors: lengths that sum
 * up to them. */
struct total {
	const char *dim;
	size_t role;
	double whole;
};

static size_t find_totals(const struct kp_check *check,
	const struct kp_tensor *const *tensors, struct total totals[KP_FAMILY_ROLES])
{
	size_t count = 0;

	for (size_t i = 0; i < check->n_roles; i++) {
		const struct kp_fill *fill = &check->family->roles[i].fill;
		const char *dim = fill->kind && strcmp(fill->kind, "lens") == 0
					  ? json_string_value(json_object_get(
						    fill->parameters, "total"))
					  : NULL;
		if (dim && tensors[i])
			totals[count++] = (struct total){dim, i, sum_of(tensors[i])};
	}
	return count;
}

struct choice {
	const struct kp_check *check;
	const struct kp_tensor *const *tensors;
	const int64_t *whole; /* the call's extents */
	int64_t *extents;     /* the sample's */
	size_t n_divided, divided[KP_FAMILY_DIMS];
	size_t n_totals;
	struct total totals[KP_FAMILY_ROLES];
};

/* The part of the role's elements that the sample has. */
static double part_of(const struct choice *choice, size_t role)
{
	double part = 1;

	for (size_t i = 0; i < choice->n_divided; i++) {
		size_t dim = choice->divided[i];
		if (choice->whole[dim] > 0 && has_dim(&choice->check->roles[role], dim))
			part *= (double)choice->extents[dim] / (double)choice->whole[dim];
	}
	return part;
}

static double operations(const struct choice *choice)
{
	const struct kp_family *family = choice->check->family;
	struct kp_shape shape = {.count = 0};

	for (size_t i = 0; i < family->dims.count; i++)
		if (choice->extents[i] >= 0)
			(void)kp_shape_set(
				&shape, family->dims.items[i], choice->extents[i]);
	for (size_t i = 0; i < choice->n_totals; i++) {
		const struct total *total = &choice->totals[i];
		(void)kp_shape_set(&shape, total->dim,
			(int64_t)fmin(total->whole * part_of(choice, total->role), 1e15));
	}
	return kp_family_work(family, &shape, &family->flops);
}

static double elements(const struct choice *choice, size_t role)
{
	const struct kp_check_role *of = &choice->check->roles[role];
	double count = 1;

	for (size_t d = 0; d < of->rank; d++)
		count *= (double)choice->tensors[role]->shape[d];
	return count * part_of(choice, role);
}

static bool is_divided(const struct choice *choice, size_t role)
{
	for (size_t i = 0; i < choice->n_divided; i++)
		if (has_dim(&choice->check->roles[role], choice->divided[i]))
			return true;
	return false;
}

static double cost(const struct choice *choice)
{
	double copied = 0;

	for (size_t i = 0; i < choice->check->n_roles; i++)
		if (choice->tensors[i] &&
			(choice->check->roles[i].writes || is_divided(choice, i)))
			copied += elements(choice, i);
	return fmax(operations(choice), copied * KP_SLICES_COPY);
}

/* False: no dim can be less. */
static bool halve_the_largest(struct choice *choice)
{
	int64_t *largest = NULL;

	for (size_t i = 0; i < choice->n_divided; i++) {
		int64_t *extent = &choice->extents[choice->divided[i]];
		if (!largest || *extent > *largest)
			largest = extent;
	}
	if (!largest || *largest <= 1)
		return false;
	*largest = (*largest + 1) / 2;
	return true;
}

static int choose_extents(struct choice *choice, struct kp_diag *diag)
{
	double spent = cost(choice);

	while (spent > WORK && halve_the_largest(choice))
		spent = cost(choice);
	if (spent <= KP_SLICES_WORK)
		return 0;
	return kp_diag_set(diag, "too_large", choice->check->family->operation,
		"the least part of the call that can be computed by itself costs %.3g "
		"operations, at most %.3g are spent",
		spent, (double)KP_SLICES_WORK);
}

/* ---- which ones ----------------------------------------------------------------- */

/* One of each of as many equal parts; the last is the end, where tails are. */
static int64_t *choose_one(
	int64_t count, int64_t whole, struct kp_random *random, struct kp_arena *memory)
{
	int64_t *slices = kp_arena_alloc(memory, (size_t)count, sizeof(*slices));

	for (int64_t i = 0; slices && i < count; i++) {
		int64_t first = (int64_t)((double)whole * (double)i / (double)count);
		int64_t next = (int64_t)((double)whole * (double)(i + 1) / (double)count);
		slices[i] = first +
			    (int64_t)kp_random_below(random, (uint64_t)(next - first));
	}
	if (slices && count > 1)
		slices[count - 1] = whole - 1;
	return slices;
}

int kp_slices_choose(struct kp_slices *slices, const struct kp_check *check,
	const struct kp_tensor *const *tensors, const int64_t *dims, uint64_t seed,
	struct kp_arena *memory, struct kp_diag *diag)
{
	struct choice choice = {check, tensors, dims, slices->extents, .n_divided = 0};
	struct kp_random random;

	*slices = (struct kp_slices){.extents = {0}};
	for (size_t i = 0; i < KP_FAMILY_DIMS; i++)
		slices->extents[i] = i < check->n_dims ? dims[i] : -1;
	choice.n_divided = find_divisible(check, tensors, choice.divided);
	choice.n_totals = find_totals(check, tensors, choice.totals);
	if (choose_extents(&choice, diag) < 0)
		return -1;
	kp_random_seed(&random, seed, "slices");
	for (size_t i = 0; i < choice.n_divided; i++) {
		size_t dim = choice.divided[i];
		int64_t count = slices->extents[dim];
		if (count == dims[dim])
			continue;
		slices->of[dim] = choose_one(count, dims[dim], &random, memory);
		if (!slices->of[dim])
			return kp_diag_no_memory(diag);
	}
	return 0;
}
