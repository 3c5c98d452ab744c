/* SPDX-License-Identifier: MIT */
/* C = A B, by blocks or, with one row, by columns. */
#ifndef X86_PRODUCT_H
#define X86_PRODUCT_H

#include "kplug/plugin.h"
#include "matrix.h"

/* a is m x k, b k x n, c m x n; the tile says how blocks are computed. */
struct product {
	const struct tile *tile;
	struct matrix a, b, c;
	int64_t m, n, k;
};

/* Cache lines: workspaces start on one. */
enum { PRODUCT_ALIGN = 64 };

/* Bytes of workspace; never falls as an extent grows. */
uint64_t product_workspace(const struct product *product);

/* m, n and k are above 0. A status of kplug/plugin.h. */
int product_by_blocks(
	const struct product *product, const struct kp_host *host, void *workspace);

/* m is 1. Elements are those of product_by_blocks to the last bit; no workspace. */
int product_of_row(const struct product *product, const struct kp_host *host);

/*
 * Runs the tasks [0, n), on the threads of the host where it has some and
 * `worthwhile`. The first status that is not KP_OK.
 */
int product_share(const struct kp_host *host, int worthwhile, uint64_t n,
	int (*task)(void *arg, uint64_t i), void *arg);

#endif
