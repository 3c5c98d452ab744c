/* SPDX-License-Identifier: MIT */
/*
 * One block of tokens of attention/decode: scores, weights and sums of the heads that
 * share a cache head. Knows where keys and values lie, but no tables and no calls.
 */
#ifndef X86_ATTENTION_H
#define X86_ATTENTION_H

#include "vector.h"

#if defined(__x86_64__)

#include "exponential.h"

/* Tokens of a block, heads that share what is loaded, and tokens that do. */
enum { BLOCK = 32, TILE_HEADS = 4, TILE_TOKENS = 2 };

/* Rows of keys and of values of cache head 0; steps of their elements in bytes. */
struct block {
	char *keys[BLOCK], *values[BLOCK];
	int64_t count, key_step, value_step;
};

/* Most of what is known of a head: sum is that of exp(score - most). */
struct tally {
	float most, sum, factor, unused[13];
};

/*
 * Heads of one group, each with `stride` floats: its query, the weighted sum of values,
 * the weights of a block, its tally. Vectors of d elements are padded to whole steps and
 * have the order of pairs.
 */
struct group {
	float *first;
	int64_t heads, d, stride;
	float scale;
};

static inline int64_t padded(int64_t d)
{
	return (d + 31) / 32 * 32;
}

static inline float *group_query(const struct group *group, int64_t head)
{
	return group->first + head * group->stride;
}

static inline float *group_sums(const struct group *group, int64_t head)
{
	return group_query(group, head) + padded(group->d);
}

static inline float *group_weights(const struct group *group, int64_t head)
{
	return group_sums(group, head) + padded(group->d);
}

static inline struct tally *group_tally(const struct group *group, int64_t head)
{
	return (struct tally *)(void *)(group_weights(group, head) + BLOCK);
}

/* Elements [e, e + STEP) of a row, 0 after its end. */
VECTOR INLINE struct pair row_load(struct line row, int64_t e, int64_t d, enum form form)
{
	if (e + STEP <= d)
		return line_load(row, e, form);
	return line_load_part(row, e, d - e, form, 0);
}

VECTOR INLINE vector dot_step(vector sum, struct pair query, struct pair key)
{
	return OP(fmadd_ps)(query.b, key.b, OP(fmadd_ps)(query.a, key.a, sum));
}

/* Scores of `heads` heads from `head` on with `tokens` tokens from `token` on. */
VECTOR INLINE void score_tile(const struct group *group, int64_t head, int heads,
	const struct block *block, int64_t token, int tokens, int64_t offset,
	enum form form)
{
	vector sums[TILE_TOKENS][TILE_HEADS];
	struct pair keys[TILE_TOKENS];

	for (int t = 0; t < tokens; t++)
		for (int h = 0; h < heads; h++)
			sums[t][h] = vector_all(0);
	for (int64_t e = 0; e < group->d; e += STEP) {
		for (int t = 0; t < tokens; t++) {
			struct line row = {
				block->keys[token + t] + offset, block->key_step};

			keys[t] = row_load(row, e, group->d, form);
		}
		for (int h = 0; h < heads; h++) {
			struct pair query = pair_read(
				(const char *)(group_query(group, head + h) + e),
				F32_DENSE);

			for (int t = 0; t < tokens; t++)
				sums[t][h] = dot_step(sums[t][h], query, keys[t]);
		}
	}
	for (int t = 0; t < tokens; t++)
		for (int h = 0; h < heads; h++)
			group_weights(group, head + h)[token + t] =
				vector_sum(sums[t][h]) * group->scale;
}

VECTOR INLINE void score_tokens(const struct group *group, const struct block *block,
	int64_t token, int tokens, int64_t offset, enum form form)
{
	int64_t head = 0;

	for (; head + TILE_HEADS <= group->heads; head += TILE_HEADS)
		score_tile(group, head, TILE_HEADS, block, token, tokens, offset, form);
	for (; head < group->heads; head++)
		score_tile(group, head, 1, block, token, tokens, offset, form);
}

/* Asks for a row of the next block. */
INLINE void row_prefetch(const char *row, int64_t bytes)
{
	for (int64_t byte = 0; byte < bytes; byte += CACHE_LINE)
		_mm_prefetch(row + byte, _MM_HINT_T1);
}

VECTOR INLINE void block_scores(const struct group *group, const struct block *block,
	const struct block *next, int64_t key_offset, int64_t value_offset,
	enum form form)
{
	int64_t token = 0, bytes = group->d * form_bytes(form);

	for (; token + TILE_TOKENS <= block->count; token += TILE_TOKENS) {
		for (int64_t t = token; t < token + TILE_TOKENS && t < next->count; t++) {
			row_prefetch(next->keys[t] + key_offset, bytes);
			row_prefetch(next->values[t] + value_offset, bytes);
		}
		score_tokens(group, block, token, TILE_TOKENS, key_offset, form);
	}
	for (; token < block->count; token++)
		score_tokens(group, block, token, 1, key_offset, form);
}

/* Scores become weights, exp(score - most); what was summed is to be scaled by factor. */
VECTOR INLINE void head_weights(const struct group *group, int64_t head, int64_t count)
{
	float *weights = group_weights(group, head), shift;
	struct tally *tally = group_tally(group, head);
	vector most = vector_all(tally->most), sum = vector_all(0);

	for (int64_t t = count; t < BLOCK; t++)
		weights[t] = -HUGE_VALF;
	for (int64_t t = 0; t < BLOCK; t += LANES)
		most = OP(max_ps)(OP(loadu_ps)(weights + t), most);
	/* From -infinity nothing can be taken away. */
	shift = vector_max(most) == -HUGE_VALF ? 0 : vector_max(most);
	for (int64_t t = 0; t < BLOCK; t += LANES) {
		vector power = vector_exp(
			OP(sub_ps)(OP(loadu_ps)(weights + t), vector_all(shift)));

		OP(storeu_ps)(weights + t, power);
		sum = OP(add_ps)(sum, power);
	}
	most = vector_exp(vector_all(tally->most - shift));
	tally->factor = _mm_cvtss_f32(LOW_LANES(most));
	tally->sum = tally->sum * tally->factor + vector_sum(sum);
	tally->most = vector_max(OP(max_ps)(vector_all(tally->most), vector_all(shift)));
}

/* STEP elements from e on of the sums of `heads` heads, over all tokens. */
VECTOR INLINE void value_tile(const struct group *group, int64_t head, int heads,
	const struct block *block, int64_t e, int64_t offset, enum form form)
{
	struct pair sums[TILE_HEADS];

	for (int h = 0; h < heads; h++)
		sums[h].a = sums[h].b = vector_all(0);
	for (int64_t t = 0; t < block->count; t++) {
		struct line row = {block->values[t] + offset, block->value_step};
		struct pair value = row_load(row, e, group->d, form);

		for (int h = 0; h < heads; h++) {
			vector weight = vector_all(group_weights(group, head + h)[t]);

			sums[h].a = OP(fmadd_ps)(weight, value.a, sums[h].a);
			sums[h].b = OP(fmadd_ps)(weight, value.b, sums[h].b);
		}
	}
	for (int h = 0; h < heads; h++) {
		vector factor = vector_all(group_tally(group, head + h)->factor);
		char *at = (char *)(group_sums(group, head + h) + e);
		struct pair before = pair_read(at, F32_DENSE);

		sums[h].a = OP(fmadd_ps)(before.a, factor, sums[h].a);
		sums[h].b = OP(fmadd_ps)(before.b, factor, sums[h].b);
		pair_write(at, sums[h], F32_DENSE, 0);
	}
}

VECTOR INLINE void block_values(const struct group *group, const struct block *block,
	int64_t offset, enum form form)
{
	int64_t head = 0;

	for (; head + TILE_HEADS <= group->heads; head += TILE_HEADS)
		for (int64_t e = 0; e < group->d; e += STEP)
			value_tile(group, head, TILE_HEADS, block, e, offset, form);
	for (; head < group->heads; head++)
		for (int64_t e = 0; e < group->d; e += STEP)
			value_tile(group, head, 1, block, e, offset, form);
}

/* Takes a block into the group, while the next one is asked for. */
VECTOR INLINE void group_add(const struct group *group, const struct block *block,
	const struct block *next, int64_t key_offset, int64_t value_offset,
	enum form form)
{
	block_scores(group, block, next, key_offset, value_offset, form);
	for (int64_t head = 0; head < group->heads; head++)
		head_weights(group, head, block->count);
	block_values(group, block, value_offset, form);
}

#endif
#endif
