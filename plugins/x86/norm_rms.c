/* SPDX-License-Identifier: MIT */
/*
 * norm/rms with AVX2. A row is summed in the same order whatever the other rows
 * are. The host has checked the call against the family.
 */
#include "kernels.h"
#include "processor.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <math.h>

enum { X, WEIGHT, Y };
enum { LANES = 8 };

struct line {
	float *data;
	int64_t step;
};

AVX2 static inline __m256 load(struct line line, int64_t i)
{
	const float *at = line.data + i * line.step;
	int64_t s = line.step;

	if (s == 1)
		return _mm256_loadu_ps(at);
	return _mm256_setr_ps(at[0], at[s], at[2 * s], at[3 * s], at[4 * s], at[5 * s],
		at[6 * s], at[7 * s]);
}

AVX2 static inline void store(struct line line, int64_t i, __m256 values)
{
	float lanes[LANES];

	if (line.step == 1) {
		_mm256_storeu_ps(line.data + i, values);
		return;
	}
	_mm256_storeu_ps(lanes, values);
	for (int lane = 0; lane < LANES; lane++)
		line.data[(i + lane) * line.step] = lanes[lane];
}

AVX2 static float lanes_sum(__m256 values)
{
	__m128 four = _mm_add_ps(
		_mm256_castps256_ps128(values), _mm256_extractf128_ps(values, 1));
	__m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));

	return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

/* Four sums at a time hide the latency of FMA. */
AVX2 static float sum_of_squares(struct line x, int64_t n)
{
	__m256 sums[4] = {0};
	float rest = 0;
	int64_t i = 0;

	for (; i + 4 * LANES <= n; i += 4 * LANES) {
		for (int lane = 0; lane < 4; lane++) {
			__m256 values = load(x, i + lane * LANES);

			sums[lane] = _mm256_fmadd_ps(values, values, sums[lane]);
		}
	}
	for (; i + LANES <= n; i += LANES)
		sums[0] = _mm256_fmadd_ps(load(x, i), load(x, i), sums[0]);
	for (; i < n; i++)
		rest += x.data[i * x.step] * x.data[i * x.step];
	return rest + lanes_sum(_mm256_add_ps(_mm256_add_ps(sums[0], sums[1]),
			      _mm256_add_ps(sums[2], sums[3])));
}

AVX2 static void scale(
	struct line x, struct line weight, struct line y, int64_t n, float by)
{
	__m256 factor = _mm256_set1_ps(by);
	int64_t i = 0;

	for (; i + LANES <= n; i += LANES) {
		__m256 values = _mm256_mul_ps(load(x, i), factor);

		if (weight.data)
			values = _mm256_mul_ps(values, load(weight, i));
		store(y, i, values);
	}
	for (; i < n; i++) {
		float value = x.data[i * x.step] * by;

		y.data[i * y.step] =
			weight.data ? value * weight.data[i * weight.step] : value;
	}
}

static struct line row(const struct kp_tensor *tensor, int64_t i)
{
	struct line line = {
		(float *)tensor->data + i * tensor->strides[0], tensor->strides[1]};

	return line;
}

static int run(const struct kp_call *call)
{
	const struct kp_tensor *x = call->tensors[X], *weight = call->tensors[WEIGHT];
	struct line factors = {0};
	int64_t rows = x->shape[0], n = x->shape[1];
	double eps = call->n_attrs > 0 ? call->attrs[0].f : 1e-6;

	if (weight) {
		factors.data = weight->data;
		factors.step = weight->strides[0];
	}
	for (int64_t i = 0; i < rows; i++) {
		struct line in = row(x, i);
		double mean = sum_of_squares(in, n) / (double)n;

		scale(in, factors, row(call->tensors[Y], i), n,
			(float)(1 / sqrt(mean + eps)));
	}
	return KP_OK;
}

#else

static int run(const struct kp_call *call)
{
	return processor_available(NULL, call->error);
}

#endif

const struct kp_kernel norm_rms = {
	KP_SIZED(struct kp_kernel), .run = run, .available = processor_available};
