/* SPDX-License-Identifier: MIT */
/*
 * What memory gives at best: three ways of going over bytes, as tasks for threads. Half
 * of the bytes are copied to the other half, or all are read. For one driver.
 */
#ifndef TESTS_BENCH_STREAMS_H
#define TESTS_BENCH_STREAMS_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Pieces start at multiples of this. */
enum { PIECE = 64 << 10 };

enum stream { MEMCPY, NON_TEMPORAL, READ, STREAMS };
static const char *const stream_names[STREAMS] = {
	"memcpy", "non-temporal copy", "read only"};

struct piece {
	char *data;
	size_t bytes;	/* of all */
	float *sinks;	/* of each piece, so that reading is not left out */
	uint64_t count; /* of pieces */
};

static void span(
	const struct piece *piece, uint64_t i, size_t of, size_t *from, size_t *to)
{
	*from = of / PIECE * i / piece->count * PIECE;
	*to = i + 1 == piece->count ? of : of / PIECE * (i + 1) / piece->count * PIECE;
}

static int copy_piece(void *arg, uint64_t i)
{
	const struct piece *piece = arg;
	size_t from, to, half = piece->bytes / 2;

	span(piece, i, half, &from, &to);
	memcpy(piece->data + half + from, piece->data + from, to - from);
	return 0;
}

__attribute__((target("avx2"))) static int stream_piece(void *arg, uint64_t i)
{
	const struct piece *piece = arg;
	size_t from, to, half = piece->bytes / 2;

	span(piece, i, half, &from, &to);
	for (; from < to; from += 128) {
		const __m256i *in = (const __m256i *)(void *)(piece->data + from);
		__m256i *out = (__m256i *)(void *)(piece->data + half + from);

		for (int j = 0; j < 4; j++)
			_mm256_stream_si256(out + j, _mm256_load_si256(in + j));
	}
	_mm_sfence();
	return 0;
}

__attribute__((target("avx2"))) static int read_piece(void *arg, uint64_t i)
{
	const struct piece *piece = arg;
	__m256 sums[4] = {0};
	size_t from, to;

	span(piece, i, piece->bytes, &from, &to);
	for (; from < to; from += 128)
		for (int j = 0; j < 4; j++)
			sums[j] = _mm256_add_ps(sums[j],
				_mm256_load_ps(
					(const float *)(void *)(piece->data + from) +
					8 * j));
	sums[0] = _mm256_add_ps(
		_mm256_add_ps(sums[0], sums[1]), _mm256_add_ps(sums[2], sums[3]));
	piece->sinks[i] = _mm256_cvtss_f32(sums[0]);
	return 0;
}

static int (*const stream_tasks[STREAMS])(void *arg, uint64_t i) = {
	copy_piece, stream_piece, read_piece};

#endif
