/* SPDX-License-Identifier: MIT */
/*
 * What a benchmark will do: rows of kernel and shape, in the order in which they
 * are done, and where everything lies. Made at once from the table and the
 * registry; what changes later takes rows away only. Runs nothing.
 */
#ifndef KP_DAEMON_BENCH_PLAN_H
#define KP_DAEMON_BENCH_PLAN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "daemon/bench/bench_taken.h"
#include "lib/base/diag.h"
#include "lib/family/family.h"
#include "lib/registry/registry.h"
#include "lib/table/table.h"

enum {
	BENCH_SHAPES = 64,
	BENCH_ROWS = 4096,
	BENCH_TIME_MOST_S = 60,
	BENCH_THREADS_MOST = 1024,
};

/* A kernel and what a worker needs to run it. */
struct bench_source {
	char *id;			    /* plugin/kernel */
	char *stored;			    /* NULL: it cannot be run */
	char *digest;			    /* of the library, or NULL */
	char *version, *closure, *solution; /* or NULL */
	int priority;			    /* or -1 */
	json_t *config;
	unsigned timeout_ms; /* of its manifest */
};

struct bench_row {
	size_t shape; /* index */
	struct bench_source source;
	/* Not NULL: the row is not run, and this is what it says. */
	const char *verdict;
	char *message;
	json_t *details; /* of the task that is done with it; or NULL */
	json_t *device;	 /* of the job: null for the CPU; NULL: not known yet */
	bool is_forced;	 /* run though selection would not take it: it was named */

	/* While it is done. */
	struct bench_taken taken;
	json_t *run; /* what became of it; NULL: not yet */
};

struct bench_task;

struct bench_plan {
	const struct bench_task *task;	/* NULL: bench_measuring */
	const struct kp_family *family; /* borrowed */
	char signature[KP_SIGNATURE_BYTES];
	json_t *request; /* operation, signature and traits: a Request but for its shape
			  */
	json_t *traits;	 /* name -> value, as asked for */
	json_t *attributes; /* those of them that the family passes to kernels */
	bool is_unusual;    /* so that the family's work terms do not hold */
	json_t *shapes;	    /* array of whole shapes */
	json_int_t seed;
	json_t *details;   /* of the task; or NULL */
	double time_s;	   /* of all rounds together */
	unsigned rounds;   /* 0 is 1 */
	unsigned threads;  /* of a kernel that divides its work; 0 is 1 */
	bool is_unchecked; /* nobody asks whether it is right */
	size_t n_rows;
	struct bench_row *rows;	       /* by shape, then as in selection order */
	struct bench_source reference; /* stored NULL: there is none */
	char *remark;  /* why there is no reference, or that it is off; or NULL */
	char *trouble; /* why it said nothing of the shape under way; or NULL */
	struct bench_plan *next; /* what is done after it; or NULL */
};

/*
 * Parameters are those of Bench. Codes of kp_request_from_json and kp_table_find,
 * unknown_operation, bad_operation (a family alone), no_family (it is not described),
 * no_such_kernel (nor any other), no_signature, no_shape, bad_shape, bad_time, bad_seed,
 * bad_trait, bad_rounds, bad_threads, too_many. A kernel's name may be a plugin's: all
 * that it has of the operation. With no name, all that may run; a shape that none may run
 * has a row for each, which says why. Zero the plan; it is to be finished in any case.
 */
int bench_plan_make(struct bench_plan *plan, const struct kp_table *table,
	const struct kp_registry *registry, const struct kp_families *families,
	const json_t *parameters, struct kp_diag *diag)
	__attribute__((warn_unused_result));
/*
 * Has something happened to a row's kernel since the plan was made? Then the row says
 * so, and is not run.
 */
void bench_plan_look(struct bench_plan *plan, size_t row, const struct kp_table *table,
	const struct kp_registry *registry);
void bench_plan_finish(struct bench_plan *plan);

/*
 * A plugin stands for its kernels: where no kernel's name is near, that of a candidate's
 * plugin is offered. Returns -1.
 */
int bench_plan_offer(const json_t *candidates, const char *name, struct kp_diag *diag);

#endif
