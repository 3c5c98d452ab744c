/* SPDX-License-Identifier: MIT */
/*
 * Tensors of a case many times over in the memory of a GPU, with other numbers in them:
 * who goes through them one after the other finds none in the cache that holds the last.
 */
#ifndef KP_WORKER_MEASURE_SETS_H
#define KP_WORKER_MEASURE_SETS_H

#include "daemon/worker/measure_case.h"

struct measure_set {
	struct kp_tensor passed[KP_FAMILY_ROLES];
	const struct kp_tensor *tensors[KP_FAMILY_ROLES];
};

struct measure_sets {
	struct device_piece arena; /* of all but the first, which is the case itself */
	size_t count;
	struct measure_set *items;
	size_t bytes; /* that one of them has */
	size_t cache; /* bytes of the GPU's last cache */
	bool is_cold; /* together they are larger than it, several times */
};

/*
 * ceil(5 caches / bytes) + 1 sets, as far as a quarter of the free memory and SETS_MOST
 * allow. Roles of integers (lengths, pages) hold the same in all: plans stay right.
 * Codes error, no_memory, those of lib/family/fill.h.
 */
int measure_sets_init(struct measure_sets *sets, struct measure_case *c,
	struct kp_diag *diag) __attribute__((warn_unused_result));
void measure_sets_finish(struct measure_sets *sets, struct measure_case *c);

#endif
