/* SPDX-License-Identifier: MIT */
/* Rounding to bf16. */
#include "element.h"

#include <math.h>

enum { TIE = 0x8000, QUIET = 0x0040 };

/* A float that was rounded to a tie may hide that the value is beside it. */
static int rounds_up(double value, float rounded, uint32_t bits)
{
	uint32_t rest = bits & 0xffff;

	if (rest != TIE || fabs(value) == fabs((double)rounded))
		return rest > TIE || (rest == TIE && (bits >> 16 & 1));
	return fabs(value) > fabs((double)rounded);
}

uint16_t bf16_nearest(double value)
{
	float rounded = (float)value;
	uint32_t bits;

	memcpy(&bits, &rounded, sizeof(bits));
	/* The bits that tell a NaN from infinity may all be in the lower half. */
	if (isnan(value))
		return (uint16_t)(bits >> 16 | QUIET);
	return (uint16_t)((bits >> 16) + (uint32_t)rounds_up(value, rounded, bits));
}
