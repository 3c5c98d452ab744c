/* SPDX-License-Identifier: MIT */
/* activation/silu_mul. The host has checked the call against the family. */
#include "kernels.h"
#include "processor.h"

#include "elementwise.h"

#if defined(__x86_64__)

#include "exponential.h"

enum { GATE, UP, OUT, ROLES };

/* As the family writes it: -0 for a large negative gate, NaN for -infinity. */
VECTOR INLINE vector silu_mul(vector gate, vector up)
{
	vector power = vector_exp(OP(sub_ps)(vector_all(0), gate));
	vector silu = OP(div_ps)(gate, OP(add_ps)(vector_all(1), power));

	return OP(mul_ps)(silu, up);
}

VECTOR INLINE struct pair silu_mul_pair(struct pair gate, struct pair up)
{
	struct pair out = {silu_mul(gate.a, up.a), silu_mul(gate.b, up.b)};

	return out;
}

VECTOR INLINE void silu_mul_part(
	const struct elementwise *job, int64_t task, enum form form)
{
	elementwise_do(job, task, form, 2, silu_mul_pair);
}

FORM_TASKS(silu_mul_part);

static int run(const struct kp_call *call)
{
	int form = rows_form(call->tensors, ROLES, call->error);
	struct elementwise job;

	if (form < 0)
		return KP_UNSUPPORTED;
	job = elementwise_of(call, OUT);
	return elementwise_run(call, OUT, &job, silu_mul_part_tasks[form]);
}

#else

static int run(const struct kp_call *call)
{
	return processor_available(NULL, call->error);
}

#endif

const struct kp_kernel KERNEL(activation_silu_mul) = {
	KP_SIZED(struct kp_kernel), .run = run, .available = AVAILABLE};
