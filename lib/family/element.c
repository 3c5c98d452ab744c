/* SPDX-License-Identifier: MIT */
/* Loads and stores by dtype; the small floats go through one conversion. */
#include "lib/family/element.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

bool kp_element_is_real(enum kp_element element)
{
	return element <= KP_F8_E5M2;
}

struct kp_dtype kp_element_dtype(enum kp_element element)
{
	return (struct kp_dtype){
		kp_element_code(element), (uint8_t)(kp_element_bytes(element) * 8), 1};
}

bool kp_element_of_dtype(struct kp_dtype dtype, enum kp_element *element)
{
	for (int i = 0; i < KP_ELEMENTS; i++) {
		struct kp_dtype known = kp_element_dtype((enum kp_element)i);
		if (known.code == dtype.code && known.bits == dtype.bits &&
			dtype.lanes == 1) {
			*element = (enum kp_element)i;
			return true;
		}
	}
	return false;
}

/* ---- floats of 16 and 8 bits ---------------------------------------------------- */

/* IEEE 754 binary formats by their widths; `finite` has no infinity, one NaN. */
struct small {
	int exponent_bits, mantissa_bits;
	bool finite;
};
static const struct small f16 = {5, 10, false};
static const struct small bf16 = {8, 7, false};
static const struct small f8_e4m3fn = {4, 3, true};
static const struct small f8_e5m2 = {5, 2, false};

static double load_small(const struct small *s, unsigned bits)
{
	int bias = (1 << (s->exponent_bits - 1)) - 1;
	unsigned top = (1u << s->exponent_bits) - 1;
	unsigned exponent = bits >> s->mantissa_bits & top;
	unsigned mantissa = bits & ((1u << s->mantissa_bits) - 1);
	bool negative = bits >> (s->exponent_bits + s->mantissa_bits) & 1;
	double value;

	if (exponent == top && s->finite && mantissa == (1u << s->mantissa_bits) - 1)
		value = NAN;
	else if (exponent == top && !s->finite)
		value = mantissa ? NAN : INFINITY;
	else if (exponent == 0)
		value = ldexp(mantissa, 1 - bias - s->mantissa_bits);
	else
		value = ldexp(mantissa | 1u << s->mantissa_bits,
			(int)exponent - bias - s->mantissa_bits);
	return negative ? -value : value;
}

/* The bits of the largest magnitude that is a number. */
static unsigned largest(const struct small *s)
{
	unsigned all = (1u << (s->exponent_bits + s->mantissa_bits)) - 1;
	return s->finite ? all - 1 : all - (1u << s->mantissa_bits);
}

static unsigned store_small(const struct small *s, double value)
{
	int bias = (1 << (s->exponent_bits - 1)) - 1;
	unsigned sign = signbit(value) ? 1u << (s->exponent_bits + s->mantissa_bits) : 0;
	unsigned infinity = largest(s) + 1; /* of a finite format: its NaN */
	int exponent;

	if (isnan(value))
		return sign |
		       (s->finite ? infinity : infinity | 1u << (s->mantissa_bits - 1));
	value = fabs(value);
	if (isinf(value))
		return sign | infinity;
	if (value == 0)
		return sign;
	(void)frexp(value, &exponent);
	/* The unit of the last place: fixed below the smallest normal number. */
	int unit = exponent - 1 > 1 - bias ? exponent - 1 : 1 - bias;
	unit -= s->mantissa_bits;
	double units = rint(ldexp(value, -unit));
	/* Above the subnormals the implicit bit adds one to the exponent field. */
	double field = (double)(unit + s->mantissa_bits - (1 - bias)) *
			       (double)(1u << s->mantissa_bits) +
		       units;
	return sign | (field > largest(s) ? infinity : (unsigned)field);
}

/* ---- loads and stores ------------------------------------------------------------ */

#define LOAD(type)                                                                       \
	do {                                                                             \
		type loaded;                                                             \
		memcpy(&loaded, at, sizeof(loaded));                                     \
		return (double)loaded;                                                   \
	} while (0)

static unsigned load_bits(const void *at, size_t bytes)
{
	uint8_t byte;
	uint16_t word;
	if (bytes == 1) {
		memcpy(&byte, at, 1);
		return byte;
	}
	memcpy(&word, at, 2);
	return word;
}

double kp_element_load(enum kp_element element, const void *at)
{
	switch (element) {
	case KP_F64:
		LOAD(double);
	case KP_F32:
		LOAD(float);
	case KP_F16:
		return load_small(&f16, load_bits(at, 2));
	case KP_BF16:
		return load_small(&bf16, load_bits(at, 2));
	case KP_F8_E4M3FN:
		return load_small(&f8_e4m3fn, load_bits(at, 1));
	case KP_F8_E5M2:
		return load_small(&f8_e5m2, load_bits(at, 1));
	case KP_I8:
		LOAD(int8_t);
	case KP_I16:
		LOAD(int16_t);
	case KP_I32:
		LOAD(int32_t);
	case KP_I64:
		LOAD(int64_t);
	case KP_U8:
	case KP_BOOL:
		LOAD(uint8_t);
	case KP_U16:
		LOAD(uint16_t);
	case KP_U32:
		LOAD(uint32_t);
	case KP_U64:
		LOAD(uint64_t);
	case KP_ELEMENTS:
		break;
	}
	return NAN;
}

/* Held within [-2^(bits-1), 2^(bits-1)). */
static int64_t to_signed(double value, int bits)
{
	double end = ldexp(1, bits - 1);
	value = isnan(value) ? 0 : rint(value);
	if (value >= end)
		return bits == 64 ? INT64_MAX : ((int64_t)1 << (bits - 1)) - 1;
	return value < -end ? -(int64_t)(end / 2) * 2 : (int64_t)value;
}

static uint64_t to_unsigned(double value, int bits)
{
	value = isnan(value) ? 0 : rint(value);
	if (value >= ldexp(1, bits))
		return bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
	return value < 0 ? 0 : (uint64_t)value;
}

/* The low bytes of a value; every machine that kplug runs on is little-endian. */
static void store_bits(void *at, uint64_t bits, size_t bytes)
{
	memcpy(at, &bits, bytes);
}

void kp_element_store(enum kp_element element, void *at, double value)
{
	size_t bytes = kp_element_bytes(element);
	float single;

	switch (element) {
	case KP_F64:
		memcpy(at, &value, sizeof(value));
		return;
	case KP_F32:
		single = (float)value;
		memcpy(at, &single, sizeof(single));
		return;
	case KP_F16:
		store_bits(at, store_small(&f16, value), bytes);
		return;
	case KP_BF16:
		store_bits(at, store_small(&bf16, value), bytes);
		return;
	case KP_F8_E4M3FN:
		store_bits(at, store_small(&f8_e4m3fn, value), bytes);
		return;
	case KP_F8_E5M2:
		store_bits(at, store_small(&f8_e5m2, value), bytes);
		return;
	case KP_I8:
	case KP_I16:
	case KP_I32:
	case KP_I64:
		store_bits(at, (uint64_t)to_signed(value, (int)bytes * 8), bytes);
		return;
	case KP_U8:
	case KP_U16:
	case KP_U32:
	case KP_U64:
		store_bits(at, to_unsigned(value, (int)bytes * 8), bytes);
		return;
	case KP_BOOL:
		store_bits(at, value != 0, bytes);
		return;
	case KP_ELEMENTS:
		return;
	}
}
