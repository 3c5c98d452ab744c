/* SPDX-License-Identifier: MIT */
/* activation/silu_mul. The host has checked the call against the family. */
#include "kernels.h"
#include "processor.h"

#include "elementwise.h"

#if defined(__x86_64__)

#include "exponential.h"

enum { GATE, UP, OUT, ROLES };

/*
 * 1 / x of x from 1 on, 0 of infinity: what the processor guesses, off by 7e-5 with
 * AVX-512 and by 4e-4 with AVX2, for results that become bf16, whose rounding is 3.9e-3.
 */
VECTOR INLINE vector rough_inverse(vector x)
{
#if defined(VECTOR_512)
	return _mm512_rcp14_ps(x);
#else
	return _mm256_rcp_ps(x);
#endif
}

/* gate / (1 + exp(-gate)) * up of one register, with the divisor given. */
VECTOR INLINE vector silu_mul(vector gate, vector divisor, vector up, int rough)
{
	vector silu = rough ? OP(mul_ps)(gate, rough_inverse(divisor))
			    : OP(div_ps)(gate, divisor);

	return OP(mul_ps)(silu, up);
}

/* As the family writes it: -0 for a large negative gate, NaN for -infinity. */
VECTOR INLINE void silu_mul_pairs(
	struct pair *gate, const struct pair *up, int count, enum form form)
{
	int rough = form_is_bf16(form);
	struct abreast x;

#pragma GCC unroll 2
	for (int i = 0; i < count; i++) {
		x.of[2 * i] = gate[i].a;
		x.of[2 * i + 1] = gate[i].b;
	}
	x = vectors_1_and_exp_minus(x, 2 * count, rough);
#pragma GCC unroll 2
	for (int i = 0; i < count; i++) {
		gate[i].a = silu_mul(gate[i].a, x.of[2 * i], up[i].a, rough);
		gate[i].b = silu_mul(gate[i].b, x.of[2 * i + 1], up[i].b, rough);
	}
}

VECTOR INLINE void silu_mul_part(
	const struct elementwise *job, int64_t task, enum form form)
{
	elementwise_do(job, task, form, 2, silu_mul_pairs);
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
