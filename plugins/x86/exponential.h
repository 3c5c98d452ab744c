/* SPDX-License-Identifier: MIT */
/*
 * exp of a register of floats.
 *
 * x = n ln 2 + r with |r| <= ln 2 / 2, exp(x) = 2^n exp(r), as Cody and Waite have it
 * ("Software Manual for the Elementary Functions", 6). exp(r) is a polynomial of degree
 * 5 whose first two coefficients are 1, the minimax of its relative error, 1.05e-7, found
 * by the exchange algorithm of Remez. For results that become bf16, whose rounding is
 * 3.9e-3, x / ln 2 is parted into n and r instead and 2^r is of degree 3, 7.5e-5.
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

VECTOR INLINE struct abreast polynomial(
	struct abreast r, int count, const float *terms, int degree)
{
	struct abreast p;

	EACH(k, count, p.of[k] = vector_all(terms[0]));
	for (int i = 1; i <= degree; i++)
		EACH(k, count,
			p.of[k] = OP(fmadd_ps)(r.of[k], p.of[k], vector_all(terms[i])));
	return p;
}

/* Of x from -88 to 89, or NaN; ln 2 as a float is off by 1.9e-9. */
VECTOR INLINE struct power power_of(struct abreast x, int count, int rough)
{
	static const float fine[] = {
		0.00831252014f, 0.0418901568f, 0.166671146f, 0.499992315f, 1, 1};
	static const float coarse[] = {
		0.0551716691f, 0.242611122f, 0.693260985f, 0.999928074f};
	/* Adding it leaves n + 127 in the low bits: the exponent of 2^n. */
	vector shift = vector_all(0x1.8p23f + 127), by = vector_all(0x1.715476p0f);
	struct abreast shifted, n;
	struct power power;

	EACH(k, count, shifted.of[k] = OP(fmadd_ps)(x.of[k], by, shift));
	EACH(k, count, n.of[k] = OP(sub_ps)(shifted.of[k], shift));
	EACH(k, count,
		x.of[k] = rough ? OP(fmsub_ps)(x.of[k], by, n.of[k])
				: OP(fnmadd_ps)(
					  n.of[k], vector_all(0x1.62e43p-1f), x.of[k]));
	EACH(k, count,
		power.scale.of[k] =
			CAST_FLOAT(OP(slli_epi32)(CAST_WORDS(shifted.of[k]), 23)));
	power.rest =
		rough ? polynomial(x, count, coarse, 3) : polynomial(x, count, fine, 5);
	return power;
}

#if defined(VECTOR_512)

/*
 * exp(sign x) of any x, roughly: the processor multiplies by 2^n for whichever n, which
 * is below x / ln 2 here.
 */
VECTOR INLINE struct abreast rough_exp(struct abreast x, int count, float sign)
{
	static const float terms[] = {
		0.0780245227f, 0.226067155f, 0.695833541f, 0.999925219f};
	struct abreast r;

	EACH(k, count,
		x.of[k] = _mm512_mul_ps(x.of[k], vector_all(sign * 0x1.715476p0f)));
	EACH(k, count,
		r.of[k] = _mm512_reduce_ps(
			x.of[k], _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC));
	r = polynomial(r, count, terms, 3);
	EACH(k, count, x.of[k] = _mm512_scalef_ps(r.of[k], x.of[k]));
	return x;
}

#endif

/*
 * exp(x) of `count` registers, x up to 88: below -87.68 and for -infinity 0, or less
 * than the smallest normal float, NaN for NaN. Where it is a normal float its relative
 * error is below 5e-7, or 9e-5 if rough.
 */
VECTOR INLINE struct abreast vectors_exp(struct abreast x, int count, int rough)
{
	struct power power;

#if defined(VECTOR_512)
	if (rough)
		return rough_exp(x, count, 1);
#endif
	/* The second operand is what is returned when one is NaN. */
	EACH(k, count, x.of[k] = OP(max_ps)(vector_all(-88), x.of[k]));
	power = power_of(x, count, rough);
	EACH(k, count, x.of[k] = OP(mul_ps)(power.rest.of[k], power.scale.of[k]));
	return x;
}

/* 1 + exp(-x) of any x, as rough as that; below -88.8 infinity. */
VECTOR INLINE struct abreast vectors_1_and_exp_minus(
	struct abreast x, int count, int rough)
{
	vector one = vector_all(1);
	struct power power;

#if defined(VECTOR_512)
	if (rough) {
		x = rough_exp(x, count, -1);
		EACH(k, count, x.of[k] = OP(add_ps)(x.of[k], one));
		return x;
	}
#endif
	EACH(k, count, x.of[k] = OP(sub_ps)(vector_all(0), x.of[k]));
	EACH(k, count,
		x.of[k] =
			OP(min_ps)(vector_all(89), OP(max_ps)(vector_all(-88), x.of[k])));
	power = power_of(x, count, rough);
	EACH(k, count, x.of[k] = OP(fmadd_ps)(power.rest.of[k], power.scale.of[k], one));
	return x;
}

/* One register alone. */
VECTOR INLINE vector vector_exp(vector x)
{
	struct abreast one = {{x}};

	return vectors_exp(one, 1, 0).of[0];
}

#endif
#endif
