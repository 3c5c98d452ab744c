/* SPDX-License-Identifier: MIT */
/* Results of the reference, kept where a kernel can read them and no more. */
#include "daemon/bench/bench_reference.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/file.h"

enum { UNKNOWN_CALL_MS = 1000 };

void bench_reference_init(struct bench_reference *reference)
{
	*reference = (struct bench_reference){.shape = SIZE_MAX,
		.results = -1,
		.writing = -1,
		.call_ms = UNKNOWN_CALL_MS};
}

void bench_reference_drop(struct bench_reference *reference)
{
	kp_file_close(&reference->results);
	kp_file_close(&reference->writing);
}

/* Why this shape has nothing to be held against; said in each of its rows. */
static void say_trouble(struct bench_plan *plan, const char *why)
{
	char **trouble = &plan->trouble;

	if (asprintf(trouble, "the reference %s could not say what is right: %.1000s",
		    plan->reference.id, why) < 0)
		*trouble = NULL;
}

/*
 * A kernel that is measured gets the results for reading, and nobody can change
 * them any more: what it does to them would be believed.
 */
static int seal(struct bench_reference *reference)
{
	const int seals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	char path[64];

	if (fcntl(reference->writing, F_ADD_SEALS, seals) < 0)
		return -1;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", reference->writing);
	reference->results = open(path, O_RDONLY | O_CLOEXEC);
	kp_file_close(&reference->writing);
	return reference->results < 0 ? -1 : 0;
}

int bench_reference_open(struct bench_reference *reference, struct bench_plan *plan)
{
	bench_reference_drop(reference);
	free(plan->trouble);
	plan->trouble = NULL;
	reference->writing =
		memfd_create("kplug-reference", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return reference->writing < 0 ? -1 : 0;
}

void bench_reference_keep(struct bench_reference *reference, struct bench_plan *plan,
	size_t shape, const json_t *report, const struct kp_worker_result *result)
{
	const char *message = json_string_value(json_object_get(report, "message"));
	const json_t *call_ms = json_object_get(report, "call_ms");

	reference->shape = shape;
	if (result->end != KP_WORKER_DONE)
		say_trouble(plan, result->diag.message);
	else if (!report || message)
		say_trouble(plan, message ? message : "it said nothing");
	else if (seal(reference) < 0)
		say_trouble(plan, strerror(errno));
	reference->call_ms =
		json_is_number(call_ms) ? json_number_value(call_ms) : UNKNOWN_CALL_MS;
	/* A worker's word: longer than its timeout no call was. */
	if (!(reference->call_ms >= 0 && reference->call_ms <= BENCH_REFERENCE_MS))
		reference->call_ms = UNKNOWN_CALL_MS;
	if (reference->results < 0)
		bench_reference_drop(reference);
}
