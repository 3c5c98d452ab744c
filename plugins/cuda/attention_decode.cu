/* SPDX-License-Identifier: MIT */
/*
 * attention/decode: a warp takes a few tokens at a time and keeps, for each of its
 * heads, the greatest score so far, the sum of weights and the weighted sum of values
 * (scores are powers of two). The parts of warps, then of blocks, are joined at the
 * end. A page number that is none of the cache's makes the result not a number.
 */
#include "device.cuh"
#include "parameters.h"

/* `each` elements of a lane, as f32; 0 where there are none. */
template <typename T, int each, bool vectors> struct decode_piece {
	static __device__ __forceinline__ void load(
		const T *p, int64_t step, int64_t left, float out[each])
	{
#pragma unroll
		for (int e = 0; e < each; e++)
			out[e] = e < left ? T::get(p + e * step) : 0;
	}
};

template <int each> struct decode_piece<kp_f32, each, true> {
	static __device__ __forceinline__ void load(
		const kp_f32 *p, int64_t, int64_t left, float out[each])
	{
#pragma unroll
		for (int e = 0; e < each; e++)
			out[e] = 0;
		if (left <= 0)
			return;
		if (each == 2) {
			uint2 v = kp_load_const8(p);

			out[0] = __uint_as_float(v.x);
			out[1] = __uint_as_float(v.y);
		} else {
#pragma unroll
			for (int e = 0; e + 4 <= each; e += 4)
				kp_f32::unpack(kp_load_const16(p + e), out + e);
		}
	}
};

template <int each> struct decode_piece<kp_bf16, each, true> {
	static __device__ __forceinline__ void load(
		const kp_bf16 *p, int64_t, int64_t left, float out[each])
	{
#pragma unroll
		for (int e = 0; e < each; e++)
			out[e] = 0;
		if (left <= 0)
			return;
		if (each == 2) {
			kp_bf16::unpack_pair(kp_load_const4(p), out);
		} else if (each == 4) {
			uint2 v = kp_load_const8(p);

			kp_bf16::unpack_pair(v.x, out);
			kp_bf16::unpack_pair(v.y, out + each / 2);
		} else {
			uint4 v = kp_load_const16(p);

			kp_bf16::unpack_pair(v.x, out);
			kp_bf16::unpack_pair(v.y, out + each / 4);
			kp_bf16::unpack_pair(v.z, out + each / 2);
			kp_bf16::unpack_pair(v.w, out + each / 4 * 3);
		}
	}
};

/*
 * The sums of `count` values over all lanes, a power of two: lane l gets that of value
 * l / (32 / count). Each step halves the values that a lane still holds.
 */
template <int count, int mask> struct decode_sums {
	static __device__ __forceinline__ float of(float *values)
	{
		enum { half = count / 2 };
		const bool upper = threadIdx.x & mask;

#pragma unroll
		for (int i = 0; i < half; i++) {
			float kept = upper ? values[i + half] : values[i];
			float sent = upper ? values[i] : values[i + half];

			values[i] = kept + __shfl_xor_sync(KP_ALL_LANES, sent, mask);
		}
		return decode_sums<half, mask / 2>::of(values);
	}
};

template <int mask> struct decode_sums<1, mask> {
	static __device__ __forceinline__ float of(float *values)
	{
		values[0] += __shfl_xor_sync(KP_ALL_LANES, values[0], mask);
		return decode_sums<1, mask / 2>::of(values);
	}
};

template <> struct decode_sums<1, 0> {
	static __device__ __forceinline__ float of(float *values)
	{
		return values[0];
	}
};

/* Which heads and tokens a block has. */
struct decode_task {
	int64_t sequence, cache_head, head, split, first, end;
	int heads;
};

static __device__ __forceinline__ struct decode_task decode_find(
	const struct decode_parameters &p, int heads_at_once)
{
	struct decode_task t;
	int64_t at = blockIdx.x;

	t.split = at % p.splits;
	at /= p.splits;
	int64_t tile = at % p.tiles;
	at /= p.tiles;
	t.cache_head = at % p.cache_heads;
	t.sequence = at / p.cache_heads;
	t.head = t.cache_head * p.group + tile * heads_at_once;
	int64_t heads = p.group - tile * heads_at_once;
	t.heads = heads < heads_at_once ? (int)heads : heads_at_once;

	const int64_t room = p.pages > 0 ? p.page * p.max_pages : 0;
	int64_t length = p.lens[t.sequence * p.lens_step];
	length = length < 0 ? 0 : length > room ? room : length;
	t.first = p.window > 0 && p.window < length ? length - p.window : 0;
	const int64_t part = (length - t.first + p.splits - 1) / p.splits;
	t.first += t.split * part;
	t.end = t.first + part < length ? t.first + part : length;
	return t;
}

/* Where a lane's token lies; page is negative where the table names no page. */
struct decode_slot {
	int32_t page, token;
};

static __device__ __forceinline__ struct decode_slot decode_look_up(
	const struct decode_parameters &p, const struct decode_task &t, int64_t token)
{
	struct decode_slot slot = {0, 0};

	if (token >= t.end)
		return slot;
	/* Extents of a table's entries fit in 32 bits, and so do tokens. */
	const uint32_t page = (uint32_t)p.page, at = (uint32_t)token / page;

	slot.token = (int32_t)((uint32_t)token % page);
	slot.page = p.table[t.sequence * p.table_sequence + at * p.table_step];
	if (slot.page < 0 || slot.page >= p.pages)
		slot.page = -1;
	return slot;
}

/* What a warp has of each head; a lane has `each` sums of all heads. */
template <int heads, int each> struct decode_state {
	float most, weight; /* of the head of this lane; weight is its own part */
	float sums[heads][each];
};

template <typename T, int heads, int each, bool vectors> struct decode_warp {
	enum {
		at_once = heads == 8 ? 4 : 8, /* tokens */
		count = heads * at_once,
		copies = KP_WARP / count /* lanes with the same score */
	};
	typedef decode_piece<T, each, vectors> piece;

	static __device__ __forceinline__ void load(const void *data, int64_t page_step,
		int64_t token_step, int64_t offset, int64_t step, int64_t left,
		struct decode_slot slot, int64_t tokens, float out[at_once][each])
	{
#pragma unroll
		for (int i = 0; i < at_once; i++) {
			int64_t page = __shfl_sync(KP_ALL_LANES, slot.page, i);
			int64_t token = __shfl_sync(KP_ALL_LANES, slot.token, i);

			piece::load(static_cast<const T *>(data) + page * page_step +
					    token * token_step + offset,
				step, i < tokens && page >= 0 ? left : 0, out[i]);
		}
	}

	/* Takes the scores of at_once tokens into the state; values are theirs. */
	static __device__ __forceinline__ void take(decode_state<heads, each> *state,
		float score, const float values[at_once][each])
	{
		float most = score;

#pragma unroll
		for (int mask = heads * copies; mask < KP_WARP; mask *= 2)
			most = kp_max(most, __shfl_xor_sync(KP_ALL_LANES, most, mask));
		most = kp_max(state->most, most);
		const float shrink = kp_exp2(state->most - most);
		const float weight = kp_exp2(score - most);

		state->most = most;
		state->weight = state->weight * shrink + weight;
#pragma unroll
		for (int h = 0; h < heads; h++) {
			float factor = __shfl_sync(KP_ALL_LANES, shrink, h * copies);

#pragma unroll
			for (int e = 0; e < each; e++)
				state->sums[h][e] *= factor;
		}
#pragma unroll
		for (int i = 0; i < at_once; i++)
#pragma unroll
			for (int h = 0; h < heads; h++) {
				float w = __shfl_sync(
					KP_ALL_LANES, weight, (i * heads + h) * copies);

#pragma unroll
				for (int e = 0; e < each; e++)
					state->sums[h][e] += w * values[i][e];
			}
	}

	static __device__ __forceinline__ void attend(const struct decode_parameters &p,
		const struct decode_task &t, decode_state<heads, each> *state)
	{
		const int lane = threadIdx.x % KP_WARP, warp = threadIdx.x / KP_WARP;
		const int64_t element = lane * each, left = p.d - element;
		const int64_t k_at = t.cache_head * p.k_head + element * p.k_step;
		const int64_t v_at = t.cache_head * p.v_head + element * p.v_step;
		const int own_token = lane / copies / heads,
			  own_head = lane / copies % heads;
		const float none = __uint_as_float(0xff800000u); /* -inf */
		float q[heads][each];

#pragma unroll
		for (int h = 0; h < heads; h++) {
			piece::load(static_cast<const T *>(p.q) +
					    t.sequence * p.q_sequence +
					    (t.head + h) * p.q_head + element * p.q_step,
				p.q_step, h < t.heads ? left : 0, q[h]);
#pragma unroll
			for (int e = 0; e < each; e++)
				q[h][e] *= (float)p.scale * KP_LOG2_E;
		}
		int64_t token = t.first + warp * at_once;
		struct decode_slot slot = decode_look_up(p, t, token + lane % at_once);

		for (; token < t.end; token += CUDA_DECODE_WARPS * at_once) {
			float k[at_once][each], v[at_once][each], scores[count];
			const bool lost =
				__shfl_sync(KP_ALL_LANES, slot.page, own_token) < 0;

			load(p.k, p.k_page, p.k_token, k_at, p.k_step, left, slot,
				t.end - token, k);
			load(p.v, p.v_page, p.v_token, v_at, p.v_step, left, slot,
				t.end - token, v);
			slot = decode_look_up(p, t,
				token + CUDA_DECODE_WARPS * at_once + lane % at_once);
#pragma unroll
			for (int i = 0; i < at_once; i++)
#pragma unroll
				for (int h = 0; h < heads; h++) {
					float sum = 0;

#pragma unroll
					for (int e = 0; e < each; e++)
						sum += q[h][e] * k[i][e];
					scores[i * heads + h] = sum;
				}
			float score = decode_sums<count, KP_WARP / 2>::of(scores);

			if (lost)
				score = __uint_as_float(0x7fffffffu);
			if (token + own_token >= t.end && own_head < t.heads)
				score = none;
			take(state, score, v);
		}
		/* Each lane has the weights of its own tokens. */
#pragma unroll
		for (int mask = heads * copies; mask < KP_WARP; mask *= 2)
			state->weight +=
				__shfl_xor_sync(KP_ALL_LANES, state->weight, mask);
	}
};

/* A part that saw no token counts nothing: its greatest score is -inf. */
static __device__ __forceinline__ float decode_share(float most, float all)
{
	return most == __uint_as_float(0xff800000u) ? 0 : kp_exp2(most - all);
}

template <typename T>
static __device__ __forceinline__ void decode_put(const struct decode_parameters &p,
	int64_t sequence, int64_t head, int64_t e, float sum, float weight, float most)
{
	bool empty = most == __uint_as_float(0xff800000u);

	T::set(static_cast<T *>(p.out) + sequence * p.out_sequence + head * p.out_head +
			e * p.out_step,
		empty ? 0 : sum / weight);
}

template <typename T, int heads, int each, bool vectors>
static __device__ __forceinline__ void decode(const struct decode_parameters &p)
{
	enum { width = KP_WARP * each, line = width + 2 };
	typedef decode_warp<T, heads, each, vectors> warp_of;
	KP_SHARED(float, shared, CUDA_DECODE_SHARED(heads, each) / sizeof(float));
	const struct decode_task t = decode_find(p, heads);
	const int lane = threadIdx.x % KP_WARP, warp = threadIdx.x / KP_WARP;
	decode_state<heads, each> state = {__uint_as_float(0xff800000u), 0, {}};

	warp_of::attend(p, t, &state);
	float *mine = shared + warp * heads * line;

	if (lane % warp_of::copies == 0 && lane / warp_of::copies < heads) {
		mine[lane / warp_of::copies * line + width] = state.most;
		mine[lane / warp_of::copies * line + width + 1] = state.weight;
	}
#pragma unroll
	for (int h = 0; h < heads; h++)
#pragma unroll
		for (int e = 0; e < each; e++)
			mine[h * line + lane * each + e] = state.sums[h][e];
	__syncthreads();
	for (int i = threadIdx.x; i < t.heads * width; i += CUDA_DECODE_THREADS) {
		const int h = i / width, e = i % width;
		float most = __uint_as_float(0xff800000u), sum = 0, weight = 0;

		if (e >= p.d)
			continue;
		for (int w = 0; w < CUDA_DECODE_WARPS; w++)
			most = kp_max(most, shared[(w * heads + h) * line + width]);
		for (int w = 0; w < CUDA_DECODE_WARPS; w++) {
			const float *part = shared + (w * heads + h) * line;
			float share = decode_share(part[width], most);

			sum += share * part[e];
			weight += share * part[width + 1];
		}
		if (p.splits == 1) {
			decode_put<T>(p, t.sequence, t.head + h, e, sum, weight, most);
			continue;
		}
		int64_t row = (t.sequence * p.h + t.head + h) * p.splits + t.split;

		p.sums[row * p.d + e] = sum;
		if (e == 0) {
			p.stats[row * 2] = most;
			p.stats[row * 2 + 1] = weight;
		}
	}
}

/* Grid: b * h. */
template <typename T>
static __device__ __forceinline__ void decode_join(const struct decode_parameters &p)
{
	const float *stats = p.stats + (int64_t)blockIdx.x * p.splits * 2;
	const float *sums = p.sums + (int64_t)blockIdx.x * p.splits * p.d;
	float most = __uint_as_float(0xff800000u), weight = 0;

	for (int64_t s = 0; s < p.splits; s++)
		most = kp_max(most, stats[s * 2]);
	for (int64_t s = 0; s < p.splits; s++)
		weight += decode_share(stats[s * 2], most) * stats[s * 2 + 1];
	for (int64_t e = threadIdx.x; e < p.d; e += CUDA_JOIN_THREADS) {
		float sum = 0;

		for (int64_t s = 0; s < p.splits; s++)
			sum += decode_share(stats[s * 2], most) * sums[s * p.d + e];
		decode_put<T>(
			p, blockIdx.x / p.h, blockIdx.x % p.h, e, sum, weight, most);
	}
}

KP_KERNEL(decode_join_f32, decode_parameters, CUDA_JOIN_THREADS)
{
	decode_join<kp_f32>(p);
}
KP_KERNEL(decode_join_bf16, decode_parameters, CUDA_JOIN_THREADS)
{
	decode_join<kp_bf16>(p);
}

/* decode_HEADS_EACH_TYPE: so many heads, so many elements a lane; any: any steps. */
#define DECODE_KERNEL(name, heads, each, vectors)                                        \
	KP_KERNEL_WIDE(name##_f32, decode_parameters, CUDA_DECODE_THREADS)               \
	{                                                                                \
		decode<kp_f32, heads, each, vectors>(p);                                 \
	}                                                                                \
	KP_KERNEL_WIDE(name##_bf16, decode_parameters, CUDA_DECODE_THREADS)              \
	{                                                                                \
		decode<kp_bf16, heads, each, vectors>(p);                                \
	}

DECODE_KERNEL(decode_1_2, 1, 2, true)
DECODE_KERNEL(decode_2_2, 2, 2, true)
DECODE_KERNEL(decode_4_2, 4, 2, true)
DECODE_KERNEL(decode_8_2, 8, 2, true)
DECODE_KERNEL(decode_1_4, 1, 4, true)
DECODE_KERNEL(decode_2_4, 2, 4, true)
DECODE_KERNEL(decode_4_4, 4, 4, true)
DECODE_KERNEL(decode_8_4, 8, 4, true)
DECODE_KERNEL(decode_1_8, 1, 8, true)
DECODE_KERNEL(decode_2_8, 2, 8, true)
DECODE_KERNEL(decode_4_8, 4, 8, true)
DECODE_KERNEL(decode_1_any, 1, 8, false)
DECODE_KERNEL(decode_2_any, 2, 8, false)
