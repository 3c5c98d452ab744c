/* SPDX-License-Identifier: MIT */
/* elementwise/square. The host has checked the call against the family. */
#include "kernels.h"
#include "processor.h"

#include "elementwise.h"

#if defined(__x86_64__)

enum { X, Y, ROLES };

VECTOR INLINE void square_pairs(
	struct pair *x, const struct pair *same, int count, enum form form)
{
	(void)form;
#pragma GCC unroll 2
	for (int i = 0; i < count; i++) {
		x[i].a = OP(mul_ps)(x[i].a, same[i].a);
		x[i].b = OP(mul_ps)(x[i].b, same[i].b);
	}
}

VECTOR INLINE void square_part(
	const struct elementwise *job, int64_t task, enum form form)
{
	elementwise_do(job, task, form, 1, square_pairs);
}

FORM_TASKS(square_part);

static int run(const struct kp_call *call)
{
	int form = rows_form(call->tensors, ROLES, call->error);
	struct elementwise job;

	if (form < 0)
		return KP_UNSUPPORTED;
	job = elementwise_of(call, Y);
	return elementwise_run(call, Y, &job, square_part_tasks[form]);
}

#else

static int run(const struct kp_call *call)
{
	return processor_available(NULL, call->error);
}

#endif

const struct kp_kernel KERNEL(elementwise_square) = {
	KP_SIZED(struct kp_kernel), .run = run, .available = AVAILABLE};
