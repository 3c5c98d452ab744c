/* SPDX-License-Identifier: MIT */
/* Lays tensors out in poisoned memory and says whether the poison is still there. */
#include "tests/support/guarded.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/family/element.h"

/* Numbers that are none, so that reading one spoils a result. */
static const uint32_t poison32 = 0x7fc5a5a5;
static const uint16_t poison16 = 0x7fc5;

/* Odd, so that the tensor starts at an address that is aligned to an element only. */
enum { BAND = 67 };

static void lay_out(struct guarded *guarded, enum guarded_layout layout)
{
	int rank = guarded->tensor.ndim;
	int64_t step = layout == GUARDED_SPREAD ? 2 : 1;

	for (int n = 0; n < rank; n++) {
		int i = layout == GUARDED_COLUMNS ? n : rank - 1 - n;

		guarded->strides[i] = step;
		step *= guarded->shape[i] > 0 ? guarded->shape[i] : 1;
		if (layout == GUARDED_PADDED && n == 0)
			step += 3;
	}
	guarded->total = step + 2 * BAND;
}

static bool is_half(const struct guarded *guarded)
{
	return guarded->bytes == sizeof(poison16);
}

static bool is_poison(const struct guarded *guarded, const void *element)
{
	const void *poison =
		is_half(guarded) ? (const void *)&poison16 : (const void *)&poison32;

	return memcmp(element, poison, guarded->bytes) == 0;
}

static char *slot(const struct guarded *guarded, int64_t i)
{
	return (char *)guarded->memory + i * (int64_t)guarded->bytes;
}

static void spoil(struct guarded *guarded)
{
	for (int64_t i = 0; i < guarded->total; i++) {
		if (is_half(guarded))
			memcpy(slot(guarded, i), &poison16, sizeof(poison16));
		else
			memcpy(slot(guarded, i), &poison32, sizeof(poison32));
	}
}

void guarded_init(struct guarded *guarded, uint8_t code, enum guarded_layout layout,
	int rank, const int64_t *extents)
{
	struct kp_tensor *tensor = &guarded->tensor;

	memset(guarded, 0, sizeof(*guarded));
	guarded->count = 1;
	for (int i = 0; i < rank; i++) {
		guarded->shape[i] = extents[i];
		guarded->count *= extents[i];
	}
	tensor->ndim = rank;
	tensor->shape = guarded->shape;
	tensor->strides = guarded->strides;
	tensor->device.type = KP_DEVICE_CPU;
	tensor->dtype = (struct kp_dtype){code, code == KP_CODE_BFLOAT ? 16 : 32, 1};
	guarded->bytes = tensor->dtype.bits / 8;
	lay_out(guarded, layout);
	guarded->memory = malloc((size_t)guarded->total * guarded->bytes);
	if (!guarded->memory)
		abort();
	spoil(guarded);
	tensor->data = slot(guarded, BAND);
	if (layout == GUARDED_REVERSED && extents[0] > 0) {
		tensor->data =
			slot(guarded, BAND + (extents[0] - 1) * guarded->strides[0]);
		guarded->strides[0] = -guarded->strides[0];
	}
}

void guarded_finish(struct guarded *guarded)
{
	free(guarded->memory);
	guarded->memory = NULL;
}

void *guarded_at(const struct guarded *guarded, int64_t i)
{
	int64_t offset = 0;

	for (int d = guarded->tensor.ndim - 1; d >= 0; d--) {
		offset += i % guarded->shape[d] * guarded->strides[d];
		i /= guarded->shape[d];
	}
	return (char *)guarded->tensor.data + offset * (int64_t)guarded->bytes;
}

static enum kp_element element_of(const struct guarded *guarded)
{
	return is_half(guarded) ? KP_BF16 : KP_F32;
}

float guarded_get(const struct guarded *guarded, int64_t i)
{
	return (float)kp_element_load(element_of(guarded), guarded_at(guarded, i));
}

void guarded_set(const struct guarded *guarded, int64_t i, double value)
{
	kp_element_store(element_of(guarded), guarded_at(guarded, i), value);
}

void guarded_set_int(const struct guarded *guarded, int64_t i, int32_t value)
{
	*(int32_t *)guarded_at(guarded, i) = value;
}

void guarded_fill(const struct guarded *guarded, uint64_t seed)
{
	for (int64_t i = 0; i < guarded->count; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		guarded_set(guarded, i, (float)(int32_t)(seed >> 32) / 2147483648.0f);
	}
}

static int64_t poisoned(const struct guarded *guarded)
{
	int64_t count = 0;

	for (int64_t i = 0; i < guarded->total; i++)
		count += is_poison(guarded, slot(guarded, i));
	return count;
}

bool guarded_untouched(const struct guarded *guarded)
{
	return poisoned(guarded) == guarded->total;
}

bool guarded_intact(const struct guarded *guarded)
{
	int64_t written = 0;

	for (int64_t i = 0; i < guarded->count; i++)
		written += !is_poison(guarded, guarded_at(guarded, i));
	return poisoned(guarded) + written == guarded->total;
}

double guarded_distance(const struct guarded *guarded, const double *expected)
{
	double error = 0, size = 0;

	for (int64_t i = 0; i < guarded->count; i++) {
		double difference = (double)guarded_get(guarded, i) - expected[i];

		error += difference * difference;
		size += expected[i] * expected[i];
	}
	if (!isfinite(error) || !isfinite(size))
		return HUGE_VAL;
	return size > 0 ? sqrt(error / size) : sqrt(error);
}
