/* SPDX-License-Identifier: MIT */
/* Elements in memory as the numbers they stand for. Knows no tensor. */
#ifndef REFERENCE_ELEMENT_H
#define REFERENCE_ELEMENT_H

#include <stdint.h>
#include <string.h>

/* The upper half of a float: every one is a float. */
static inline double bf16_value(uint16_t half)
{
	uint32_t bits = (uint32_t)half << 16;
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* The nearest bf16, ties to even; beyond the largest infinity; a NaN stays one. */
uint16_t bf16_nearest(double value);

#endif
