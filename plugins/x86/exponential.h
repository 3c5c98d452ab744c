/* SPDX-License-Identifier: MIT */
/*
 * exp of a register of floats.
 *
 * x = n ln 2 + r with |r| <= ln 2 / 2, exp(x) = 2^n exp(r), as Cody and Waite have it
 * ("Software Manual for the Elementary Functions", 6). exp(r) is a polynomial, the
 * minimax of its relative error found by the exchange algorithm of Remez: of degree 5
 * whose first two coefficients are 1, 1.05e-7, and, for results that become bf16, of
 * degree 4 whose first is 1, 3.6e-6.
 */
#ifndef X86_EXPONENTIAL_H
#define X86_EXPONENTIAL_H

#include "vector.h"

#if defined(__x86_64__)

/*
 * Registers that go through the same steps side by side: one alone would wait for each
 * of its results.
 */
enum { ABREAST = 4 };
struct abreast {
	vector of[ABREAST];
};

/* exp(x) as a product: exp(r) and 2^n. */
struct power {
	struct abreast rest, scale;
};

/* Applies `expression` to each register, of number k. */
#define EACH(k, count, expression)                                                       \
	_Pragma("GCC unroll 4") for (int k = 0; k < (count); k++)                        \
	{                                                                                \
		expression;                                                              \
	}

VECTOR INLINE struct abreast exp_polynomial(struct abreast r, int count, int rough)
{
	static const float fine[] = {
		0.00831252014f, 0.0418901568f, 0.166671146f, 0.499992315f, 1, 1};
	static const float coarse[] = {
		0.042380678f, 0.16808661f, 0.499959612f, 0.999951539f, 1};
	const float *terms = rough ? coarse : fine;
	struct abreast p;

	EACH(k, count, p.of[k] = vector_all(terms[0]));
	for (int i = 1; i < (rough ? 5 : 6); i++)
		EACH(k, count,
			p.of[k] = OP(fmadd_ps)(r.of[k], p.of[k], vector_all(terms[i])));
	return p;
}

/* Of x from -88 to 89, or NaN; ln 2 as a float is off by 1.9e-9. */
VECTOR INLINE struct power power_of(struct abreast x, int count, int rough)
{
	/* Adding it leaves n + 127 in the low bits: the exponent of 2^n. */
	vector shift = vector_all(0x1.8p23f + 127);
	struct abreast shifted, n;
	struct power power;

	EACH(k, count,
		shifted.of[k] = OP(fmadd_ps)(x.of[k], vector_all(0x1.715476p0f), shift));
	EACH(k, count, n.of[k] = OP(sub_ps)(shifted.of[k], shift));
	EACH(k, count,
		x.of[k] = OP(fnmadd_ps)(n.of[k], vector_all(0x1.62e43p-1f), x.of[k]));
	EACH(k, count,
		power.scale.of[k] =
			CAST_FLOAT(OP(slli_epi32)(CAST_WORDS(shifted.of[k]), 23)));
	power.rest = exp_polynomial(x, count, rough);
	return power;
}

/*
 * exp(x) of `count` registers, x up to 88: below -87.68 and for -infinity 0, NaN for NaN.
 * Where it is a normal float its relative error is below 5e-7, or 4e-6 if rough.
 */
VECTOR INLINE struct abreast vectors_exp(struct abreast x, int count, int rough)
{
	struct power power;

	/* The second operand is what is returned when one is NaN. */
	EACH(k, count, x.of[k] = OP(max_ps)(vector_all(-88), x.of[k]));
	power = power_of(x, count, rough);
	EACH(k, count, x.of[k] = OP(mul_ps)(power.rest.of[k], power.scale.of[k]));
	return x;
}

/* 1 + exp(x) of any x; above 88.37 infinity. */
VECTOR INLINE struct abreast vectors_exp_and_1(struct abreast x, int count, int rough)
{
	struct power power;

	EACH(k, count,
		x.of[k] =
			OP(min_ps)(vector_all(89), OP(max_ps)(vector_all(-88), x.of[k])));
	power = power_of(x, count, rough);
	EACH(k, count,
		x.of[k] =
			OP(fmadd_ps)(power.rest.of[k], power.scale.of[k], vector_all(1)));
	return x;
}

/* One register alone. */
VECTOR INLINE vector vector_exp(vector x, int rough)
{
	struct abreast one = {{x}};

	return vectors_exp(one, 1, rough).of[0];
}

#endif
#endif
