/* SPDX-License-Identifier: MIT */
/* Families as plugind tells them, asked once an operation. Knows no table. */
#ifndef KP_LIB_HOST_CONTRACT_H
#define KP_LIB_HOST_CONTRACT_H

#include <pthread.h>

#include "lib/base/diag.h"
#include "lib/family/family.h"
#include "lib/host/attach.h"

/* Immutable. */
struct kp_contract {
	struct kp_contract *next;
	bool described; /* false: kernels have the operation, no family does */
	struct kp_family family;
	char *text; /* its file's content, compact; NULL: not described */
	char *operation;
};

/* All that were asked for, by any thread. */
struct kp_contracts {
	pthread_mutex_t lock;
	struct kp_contract *first;
};
void kp_contracts_init(struct kp_contracts *contracts);
void kp_contracts_finish(struct kp_contracts *contracts);

/*
 * Finds or asks, of an operation that some kernel has, whether a family describes it or
 * not; nobody else waits meanwhile. Codes of kp_attach_ask and kp_family_parse. NULL on
 * failure.
 */
const struct kp_contract *kp_contract_get(struct kp_contracts *contracts,
	struct kp_attach *attach, const char *operation, struct kp_diag *diag);

#endif
