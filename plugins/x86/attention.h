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

/*
 * Tokens of a block; heads that share what is loaded, and tokens that do; how many
 * tokens before they are needed keys and values are asked for.
 */
enum { BLOCK = 32, TILE_HEADS = 4, TILE_TOKENS = 2, TILE_VALUES = 4, AHEAD = 8 };

/*
 * Rows of keys and of values of cache head 0, `count` of a block and those to come, at
 * the end the last one again; steps of their elements in bytes.
 */
struct block {
	char *keys[BLOCK + AHEAD], *values[BLOCK + AHEAD];
	int64_t count, key_step, value_step;
};

/* What is known of a head: the greatest score, the sum of exp(score - most). */
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

/* Into the second cache: into the first it would wait for a place among what is read. */
VECTOR INLINE void row_prefetch(const char *row, int64_t e, enum form form)
{
	for (int64_t byte = 0; byte < STEP * form_bytes(form); byte += CACHE_LINE)
		_mm_prefetch(row + e * form_bytes(form) + byte, _MM_HINT_T1);
}

VECTOR INLINE vector dot_step(vector sum, struct pair query, struct pair key)
{
	return OP(fmadd_ps)(query.b, key.b, OP(fmadd_ps)(query.a, key.a, sum));
}

/* Adds STEP elements from e on to the products of `heads` queries and `tokens` keys. */
VECTOR INLINE void score_step(const struct group *group, int64_t head, int heads,
	const struct pair *keys, int tokens, int64_t e,
	vector sums[TILE_TOKENS][TILE_HEADS])
{
#pragma GCC unroll 4
	for (int h = 0; h < heads; h++) {
		struct pair query = pair_read(
			(const char *)(group_query(group, head + h) + e), F32_DENSE);

#pragma GCC unroll 2
		for (int t = 0; t < tokens; t++)
			sums[t][h] = dot_step(sums[t][h], query, keys[t]);
	}
}

/* Scores of `heads` heads from `head` on with `tokens` tokens from `token` on. */
VECTOR INLINE void score_tile(const struct group *group, int64_t head, int heads,
	const struct block *block, int64_t token, int tokens, int64_t offset,
	enum form form)
{
	vector sums[TILE_TOKENS][TILE_HEADS];
	struct pair keys[TILE_TOKENS];
	struct line rows[TILE_TOKENS];
	int64_t e = 0;

#pragma GCC unroll 2
	for (int t = 0; t < tokens; t++) {
		rows[t].data = block->keys[token + t] + offset;
		rows[t].step = block->key_step;
#pragma GCC unroll 4
		for (int h = 0; h < heads; h++)
			sums[t][h] = vector_all(0);
	}
	for (; e + STEP <= group->d; e += STEP) {
#pragma GCC unroll 2
		for (int t = 0; t < tokens; t++) {
			if (head == 0)
				row_prefetch(
					block->keys[token + t + AHEAD] + offset, e, form);
			keys[t] = line_load(rows[t], e, form);
		}
		score_step(group, head, heads, keys, tokens, e, sums);
	}
	if (e < group->d) {
#pragma GCC unroll 2
		for (int t = 0; t < tokens; t++)
			keys[t] = line_load_part(rows[t], e, group->d - e, form, 0);
		score_step(group, head, heads, keys, tokens, e, sums);
	}
#pragma GCC unroll 2
	for (int t = 0; t < tokens; t++) {
#pragma GCC unroll 4
		for (int h = 0; h < heads; h++)
			group_weights(group, head + h)[token + t] =
				vector_sum(sums[t][h]) * group->scale;
	}
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

/* Where the values of some tokens start, and the first of these tokens. */
struct values {
	struct line rows[TILE_VALUES];
	int64_t token, e;
};

/* Adds STEP elements of `tokens` values, by their weights, to the sums of a head. */
VECTOR INLINE void value_head(const struct group *group, int64_t head,
	const struct values *at, const struct pair *values, int tokens)
{
	const float *weights = group_weights(group, head) + at->token;
	float factor = at->token == 0 ? group_tally(group, head)->factor : 1;
	char *sums = (char *)(group_sums(group, head) + at->e);
	struct pair sum = pair_read(sums, F32_DENSE);

	sum.a = OP(mul_ps)(sum.a, vector_all(factor));
	sum.b = OP(mul_ps)(sum.b, vector_all(factor));
#pragma GCC unroll 4
	for (int t = 0; t < tokens; t++) {
		vector weight = vector_all(weights[t]);

		sum.a = OP(fmadd_ps)(weight, values[t].a, sum.a);
		sum.b = OP(fmadd_ps)(weight, values[t].b, sum.b);
	}
	pair_write(sums, sum, F32_DENSE, 0);
}

VECTOR INLINE void value_tile(const struct group *group, const struct block *block,
	int64_t token, int tokens, int64_t offset, enum form form)
{
	struct values at = {.token = token};
	struct pair values[TILE_VALUES];

#pragma GCC unroll 4
	for (int t = 0; t < tokens; t++) {
		at.rows[t].data = block->values[token + t] + offset;
		at.rows[t].step = block->value_step;
	}
	for (; at.e < group->d; at.e += STEP) {
#pragma GCC unroll 4
		for (int t = 0; t < tokens; t++) {
			row_prefetch(
				block->values[token + t + AHEAD] + offset, at.e, form);
			values[t] = row_load(at.rows[t], at.e, group->d, form);
		}
		for (int64_t head = 0; head < group->heads; head++)
			value_head(group, head, &at, values, tokens);
	}
}

#endif
#endif
