/* SPDX-License-Identifier: MIT */
/* A verification under way: measure_verify.c has the job, ..._cases.c its cases. */
#ifndef KP_WORKER_MEASURE_VERIFY_H
#define KP_WORKER_MEASURE_VERIFY_H

#include <jansson.h>
#include <stdbool.h>

#include "daemon/worker/measure_kernel.h"
#include "daemon/worker/measure_layout.h"
#include "daemon/worker/report.h"

struct verifying {
	struct device device;
	struct measure_case c;
	struct measure_kernel kernel;
	struct kp_parallel *alone;
	const struct report *report;
	const json_t *seeds, *layouts, *grown;
	json_int_t cases, passed, unsupported;
	json_t *at;		   /* the case that is under way */
	json_t *failed;		   /* the first that failed, or NULL */
	const char *verdict;	   /* of the first failure, or NULL */
	char message[REPORT_TEXT]; /* of it; else why something is unsupported */
	json_t *findings;
	double call_ms;
};

uint64_t verify_seed(const struct verifying *v, size_t index);

/* Says which case begins. */
void verify_begin(struct verifying *v, const struct kp_placement *layout, uint64_t seed);
/* Keeps the first failure, and until there is one why something is unsupported. */
void verify_fail(struct verifying *v, const struct kp_diag *diag);

/* New tensors that lie so, and the kernel's memory for them. */
int verify_attach(struct verifying *v, const struct kp_placement *layout,
	struct kp_diag *diag) __attribute__((warn_unused_result));
/* Inputs, and the plan for them. */
int verify_fill(struct verifying *v, size_t seed, struct kp_diag *diag)
	__attribute__((warn_unused_result));
/* Poison, a call, and a check. */
int verify_run(struct verifying *v, struct kp_diag *diag)
	__attribute__((warn_unused_result));
/* By one thread instead of all, and back. */
void verify_swap_threads(struct verifying *v);

/* Every layout that was asked for, until one ends the job. */
void verify_cases(struct verifying *v);
/* Right in every case: is it still so after as many calls again? */
bool verify_further(struct verifying *v);

#endif
