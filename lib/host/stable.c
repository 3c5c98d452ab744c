/* SPDX-License-Identifier: MIT */
/* An odometer over the points where predicates change, a wheel a dim. */
#include "lib/host/stable.h"

#include <stdlib.h>
#include <string.h>

#include "lib/host/resolve.h"
#include "lib/select/predicate.h"

bool kp_range_walk_init(struct kp_range_walk *walk, const struct kp_inner_site *site)
{
	const struct kp_bounds bounds = {site->least, site->most};
	size_t total = 1;

	*walk = (struct kp_range_walk){.n_dims = site->check.n_dims};
	for (size_t d = 0; d < walk->n_dims; d++) {
		walk->points[d] = calloc(KP_LADDER_POINTS, sizeof(*walk->points[d]));
		if (!walk->points[d]) {
			kp_range_walk_finish(walk);
			return false;
		}
		walk->counts[d] =
			kp_ladder_points(site->ladder, d, &bounds, walk->points[d]);
		/* Wheels that would go round for too long show their ends alone. */
		if (total * walk->counts[d] > KP_RANGE_MOST) {
			walk->points[d][1] = walk->points[d][walk->counts[d] - 1];
			walk->counts[d] = total * 2 > KP_RANGE_MOST ? 1 : 2;
		}
		total *= walk->counts[d];
	}
	return true;
}

bool kp_range_walk_next(struct kp_range_walk *walk)
{
	size_t d = walk->n_dims;

	/* The last dim turns fastest. */
	while (walk->done > 0 && d > 0 && ++walk->at[d - 1] == walk->counts[d - 1])
		walk->at[--d] = 0;
	if (walk->done > 0 && d == 0)
		return false;
	for (size_t i = 0; i < walk->n_dims; i++)
		walk->dims[i] = walk->points[i][walk->at[i]];
	walk->done++;
	return true;
}

void kp_range_walk_finish(struct kp_range_walk *walk)
{
	for (size_t d = 0; d < walk->n_dims; d++)
		free(walk->points[d]);
}

static int exclude_by(
	struct kp_inner_site *site, const int64_t *dims, struct kp_diag *diag)
{
	const struct kp_table *table = &site->sight->table;
	struct kp_request *request = kp_resolve_request(site, dims, NULL);
	struct kp_query *query = kp_query_new(table, request, diag);

	if (!query)
		return -1;
	const unsigned char *record =
		kp_table_record(table, KP_SECTION_OPERATIONS, query->operation);
	size_t first = kp_load32(record + KP_OPERATION_KERNELS);
	size_t count = kp_load32(record + KP_OPERATION_KERNELS + 4);
	for (size_t i = first; i < first + count; i++)
		if (!site->stable_out[i] &&
			!kp_predicate_check(query, i, KP_SKIP_STATE, NULL, NULL))
			site->stable_out[i] = true;
	free(query);
	return 0;
}

int kp_stable_find(struct kp_inner_site *site, struct kp_diag *diag)
{
	struct kp_range_walk walk;
	uint64_t masks[KP_ENTRIES];
	size_t n_masks = 0;
	int result = 0;

	if (!(site->flags & KP_SITE_STABLE) || !site->contract->described)
		return 0;
	free(site->stable_out);
	site->n_stable = kp_table_kernels(&site->sight->table);
	site->stable_out = calloc(site->n_stable + 1, sizeof(*site->stable_out));
	if (!site->stable_out || !kp_range_walk_init(&walk, site))
		return kp_diag_no_memory(diag);
	while (result == 0 && kp_range_walk_next(&walk)) {
		uint64_t mask = kp_ladder_mask(site->ladder, walk.dims);
		size_t i = 0;
		while (i < n_masks && masks[i] != mask)
			i++;
		if (i < n_masks)
			continue;
		if (n_masks < KP_ENTRIES)
			masks[n_masks++] = mask;
		result = exclude_by(site, walk.dims, diag);
	}
	kp_range_walk_finish(&walk);
	return result;
}
