/* SPDX-License-Identifier: MIT */
/* Where a placement puts a role, and which placements mean anything for a case. */
#include "daemon/worker/measure_layout.h"

#include <string.h>

/* A signature that says how a role lies is not contradicted. */
static bool is_free(const struct measure_case *c, size_t role)
{
	const struct kp_operand *operand =
		kp_signature_find(&c->signature, c->family.roles[role].name);

	return c->plain[role].rank > 0 && (!operand || !operand->format.layout[0]);
}

static bool is_reversed(
	const struct kp_placement *layout, const struct measure_case *c, size_t role)
{
	return layout->reversed && c->plain[role].rank > 1 &&
	       (!layout->alternating || role % 2 == 1);
}

int measure_layout_of(const struct kp_placement *layout, const struct measure_case *c,
	size_t role, struct kp_layout *out, struct kp_diag *diag)
{
	struct kp_layout made = c->plain[role];
	struct kp_arrangement arrangement = {.step = layout->step, .gap = layout->gap};
	bool reversed = is_reversed(layout, c, role);

	for (int32_t i = 0; i < made.rank; i++)
		arrangement.order[i] = reversed ? made.rank - 1 - i : i;
	if (is_free(c, role) && kp_layout_arrange(&made, &arrangement, diag) < 0)
		return -1;
	*out = made;
	return 0;
}

static bool is_same(const struct kp_layout *a, const struct kp_layout *b)
{
	bool same = a->rank == b->rank && a->element == b->element;

	for (int32_t i = 0; same && i < a->rank; i++)
		same = a->shape[i] == b->shape[i] && a->strides[i] == b->strides[i];
	return same;
}

size_t measure_layout_owner(
	const struct kp_placement *layout, const struct measure_case *c, size_t role)
{
	const char *alias = layout->in_place ? c->family.roles[role].alias : NULL;

	for (size_t i = 0; alias && i < c->family.n_roles; i++)
		if (strcmp(c->family.roles[i].name, alias) == 0 && c->tensors[i] &&
			c->family.roles[i].direction == KP_IN &&
			is_same(&c->plain[i], &c->plain[role]))
			return i;
	return role;
}

/* Does a role lie other than in `before`? */
static bool differs(const struct kp_placement *layout, const struct kp_placement *before,
	const struct measure_case *c, size_t role)
{
	struct kp_layout one, other;

	if (layout->shifted != before->shifted)
		return true;
	if (measure_layout_owner(layout, c, role) !=
		measure_layout_owner(before, c, role))
		return true;
	/* What does not fit says so when it is mapped. */
	return measure_layout_of(layout, c, role, &one, NULL) < 0 ||
	       measure_layout_of(before, c, role, &other, NULL) < 0 ||
	       !is_same(&one, &other);
}

bool measure_layout_applies(
	const struct kp_placement *layout, const struct measure_case *c)
{
	for (const struct kp_placement *before = kp_placements; before != layout;
		before++) {
		bool any = false;
		for (size_t i = 0; i < c->family.n_roles; i++)
			any |= c->tensors[i] && differs(layout, before, c, i);
		if (!any)
			return false;
	}
	return true;
}
