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

/* exp(x) as a product: exp(r) and 2^n. */
struct power {
	vector rest, scale;
};

VECTOR INLINE vector exp_polynomial(vector r, int rough)
{
	vector p;

	if (rough) {
		p = OP(fmadd_ps)(r, vector_all(0.042380678f), vector_all(0.16808661f));
		p = OP(fmadd_ps)(r, p, vector_all(0.499959612f));
		p = OP(fmadd_ps)(r, p, vector_all(0.999951539f));
		return OP(fmadd_ps)(r, p, vector_all(1));
	}
	p = OP(fmadd_ps)(r, vector_all(0.00831252014f), vector_all(0.0418901568f));
	p = OP(fmadd_ps)(r, p, vector_all(0.166671146f));
	p = OP(fmadd_ps)(r, p, vector_all(0.499992315f));
	p = OP(fmadd_ps)(r, p, vector_all(1));
	return OP(fmadd_ps)(r, p, vector_all(1));
}

/* Of x from -88 to 89, or NaN; ln 2 as a float is off by 1.9e-9. */
VECTOR INLINE struct power power_of(vector x, int rough)
{
	/* Adding it leaves n + 127 in the low bits: the exponent of 2^n. */
	vector shift = vector_all(0x1.8p23f + 127);
	vector shifted = OP(fmadd_ps)(x, vector_all(0x1.715476p0f), shift);
	vector n = OP(sub_ps)(shifted, shift);
	struct power power = {
		exp_polynomial(OP(fnmadd_ps)(n, vector_all(0x1.62e43p-1f), x), rough),
		CAST_FLOAT(OP(slli_epi32)(CAST_WORDS(shifted), 23))};

	return power;
}

/*
 * exp(x) of x up to 88: below -87.68 and for -infinity 0, NaN for NaN. Where it is a
 * normal float its relative error is below 5e-7, or 4e-6 if rough.
 */
VECTOR INLINE vector vector_exp(vector x, int rough)
{
	/* The second operand is what is returned when one is NaN. */
	struct power power = power_of(OP(max_ps)(vector_all(-88), x), rough);

	return OP(mul_ps)(power.rest, power.scale);
}

/* 1 + exp(x) of any x; above 88.37 infinity. */
VECTOR INLINE vector vector_exp_and_1(vector x, int rough)
{
	struct power power = power_of(
		OP(min_ps)(vector_all(89), OP(max_ps)(vector_all(-88), x)), rough);

	return OP(fmadd_ps)(power.rest, power.scale, vector_all(1));
}

#endif
#endif
