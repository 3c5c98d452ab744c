/* SPDX-License-Identifier: MIT */
/*
 * exp of a register of floats.
 *
 * x = n ln 2 + r with |r| <= ln 2 / 2, exp(x) = 2^n exp(r); ln 2 is taken away in two
 * parts (Cody and Waite, "Software Manual for the Elementary Functions", 6). exp(r) is
 * a polynomial of degree 5 whose first two coefficients are 1: the others are the
 * minimax of its relative error, 1.05e-7, found by the exchange algorithm of Remez.
 */
#ifndef X86_EXPONENTIAL_H
#define X86_EXPONENTIAL_H

#include "vector.h"

#if defined(__x86_64__)

/*
 * exp(x) with a relative error below 3e-7 where it is a normal float and x below
 * 88.37; above that infinity, below -87.68 and for -infinity 0. NaN stays NaN.
 */
VECTOR INLINE vector vector_exp(vector x)
{
	/* Adding it leaves n + 127 in the low bits: the exponent of 2^n. */
	vector shift = vector_all(0x1.8p23f + 127), n, r, p, shifted;

	/* The second operand is what is returned when one is NaN. */
	x = OP(min_ps)(vector_all(89), OP(max_ps)(vector_all(-88), x));
	shifted = OP(fmadd_ps)(x, vector_all(0x1.715476p0f), shift);
	n = OP(sub_ps)(shifted, shift);
	r = OP(fnmadd_ps)(n, vector_all(0x1.62e4p-1f), x);
	r = OP(fnmadd_ps)(n, vector_all(0x1.7f7d1cp-20f), r);
	p = OP(fmadd_ps)(r, vector_all(0.00831252014f), vector_all(0.0418901568f));
	p = OP(fmadd_ps)(r, p, vector_all(0.166671146f));
	p = OP(fmadd_ps)(r, p, vector_all(0.499992315f));
	p = OP(fmadd_ps)(r, p, vector_all(1));
	p = OP(fmadd_ps)(r, p, vector_all(1));
	return OP(mul_ps)(p, CAST_FLOAT(OP(slli_epi32)(CAST_WORDS(shifted), 23)));
}

#endif
#endif
