/* SPDX-License-Identifier: MIT */
/* The rows of placements. */
#include "lib/family/placement.h"

#include <stddef.h>
#include <string.h>

#include "lib/base/text.h"

const struct kp_placement kp_placements[] = {
	{.name = "contiguous", .step = 1},
	{.name = "offset", .step = 1, .shifted = true},
	{.name = "transposed", .step = 1, .reversed = true},
	{.name = "mixed", .step = 1, .reversed = true, .alternating = true},
	{.name = "gaps", .step = 1, .gap = 3},
	{.name = "strided", .step = 2, .gap = 1},
	{.name = "in_place", .step = 1, .in_place = true},
	{.name = NULL},
};

enum { PLACEMENTS = sizeof(kp_placements) / sizeof(kp_placements[0]) - 1 };

const struct kp_placement *kp_placement_find(const char *name, struct kp_diag *diag)
{
	const char *names[PLACEMENTS];
	char offer[KP_TEXT_OFFER];

	for (size_t i = 0; i < PLACEMENTS; i++) {
		if (strcmp(kp_placements[i].name, name) == 0)
			return &kp_placements[i];
		names[i] = kp_placements[i].name;
	}
	(void)kp_diag_set(diag, "unknown_layout", name, "there is no layout %s%s", name,
		kp_text_offer(name, names, PLACEMENTS, "it is one of", offer));
	return NULL;
}
