/* SPDX-License-Identifier: MIT */
/*
 * attention/decode. Tokens are taken by blocks; the heads of a group read each key and
 * value once. What was summed is scaled down when a greater score comes (Milakov and
 * Gimelshein, "Online normalizer calculation for softmax"). The host has checked the
 * call against the family, but not what is in the table.
 */
#include "cache.h"
#include "kernels.h"
#include "processor.h"
#include "rows.h"

#include <stdio.h>

enum { Q, K_PAGES, V_PAGES, PAGE_TABLE, LENS, OUT, ROLES };

/* Floats of a head in the workspace: what attention.h keeps of it. */
static inline int64_t head_floats(int64_t d)
{
	return (d / 32 + 2) * 64;
}

static int workspace(const struct kp_call *call, uint64_t *bytes)
{
	const int64_t *shape = call->tensors[Q]->shape;
	uint64_t head = (uint64_t)head_floats(shape[2]) * sizeof(float);

	if (__builtin_mul_overflow((uint64_t)shape[0], (uint64_t)shape[1], bytes) ||
		__builtin_mul_overflow(*bytes, head, bytes))
		return processor_fail(
			call->error, KP_INVALID, "q: the workspace would be too large");
	return KP_OK;
}

static int need(const struct kp_call *call, struct kp_need *need)
{
	uint64_t bytes = 0;
	int status = workspace(call, &bytes);

	if (status != KP_OK)
		return status;
	need->workspace_bytes = bytes;
	need->workspace_align = 64;
	return KP_OK;
}

#if defined(__x86_64__)

#include "attention.h"

enum { SCALE, WINDOW };

/*
 * A task has all cache heads of a sequence, whose keys then are read as they lie, unless
 * that made fewer tasks than these.
 */
enum { LEAST_TASKS = 8 };

/* [sequences, heads, d]; steps count bytes. */
struct heads {
	char *data;
	int64_t sequence_step, head_step, step;
};

struct job {
	struct cache cache;
	struct heads q, out;
	int64_t heads, cache_heads, d, window, heads_of_task;
	float scale;
	float *workspace;
};

static struct heads heads_of(const struct kp_tensor *tensor)
{
	int64_t bytes = tensor->dtype.bits / 8;
	struct heads heads = {tensor->data, tensor->strides[0] * bytes,
		tensor->strides[1] * bytes, tensor->strides[2] * bytes};

	return heads;
}

static inline struct line head_line(struct heads heads, int64_t sequence, int64_t head)
{
	struct line line = {
		heads.data + sequence * heads.sequence_step + head * heads.head_step,
		heads.step};

	return line;
}

/* A task: some cache heads of one sequence, and the first of the heads of each. */
struct share {
	const struct job *job;
	int64_t sequence, first, end;
};

static inline struct group group_of(const struct share *share, int64_t cache_head)
{
	const struct job *job = share->job;
	struct group group = {.heads = job->heads / job->cache_heads,
		.d = job->d,
		.stride = head_floats(job->d),
		.scale = job->scale};

	group.first =
		job->workspace +
		(share->sequence * job->heads + cache_head * group.heads) * group.stride;
	return group;
}

VECTOR INLINE void group_start(
	const struct share *share, int64_t cache_head, enum form form)
{
	struct group group = group_of(share, cache_head);
	struct pair zeros = {vector_all(0), vector_all(0)};

	for (int64_t head = 0; head < group.heads; head++) {
		struct line query = head_line(
			share->job->q, share->sequence, cache_head * group.heads + head);
		struct tally *tally = group_tally(&group, head);

		for (int64_t e = 0; e < group.d; e += STEP) {
			pair_write((char *)(group_query(&group, head) + e),
				row_load(query, e, group.d, form), F32_DENSE, 0);
			pair_write((char *)(group_sums(&group, head) + e), zeros,
				F32_DENSE, 0);
		}
		tally->most = -HUGE_VALF;
		tally->sum = 0;
	}
}

/* Without a token there is nothing to divide: the output is 0. */
VECTOR INLINE void group_end(
	const struct share *share, int64_t cache_head, int64_t tokens, enum form form)
{
	struct group group = group_of(share, cache_head);

	for (int64_t head = 0; head < group.heads; head++) {
		struct line out = head_line(share->job->out, share->sequence,
			cache_head * group.heads + head);
		vector by =
			vector_all(tokens > 0 ? 1 / group_tally(&group, head)->sum : 0);

		for (int64_t e = 0; e < group.d; e += STEP) {
			struct pair sums = pair_read(
				(const char *)(group_sums(&group, head) + e), F32_DENSE);
			int64_t left = group.d - e;

			sums.a = OP(mul_ps)(sums.a, by);
			sums.b = OP(mul_ps)(sums.b, by);
			line_store_part(out, e, left < STEP ? left : STEP, sums, form);
		}
	}
}

/* Where the tokens from `token` on lie, before `end`. */
static void block_find(const struct job *job, int64_t sequence, int64_t token,
	int64_t end, struct block *block)
{
	const struct cache *cache = &job->cache;
	int64_t entry = 0, row = 0;

	block->key_step = cache->keys.step;
	block->value_step = cache->values.step;
	block->count = end - token < BLOCK ? end - token : BLOCK;
	if (block->count <= 0)
		return;
	entry = token / cache->page;
	row = token % cache->page;
	for (int64_t t = 0; t < BLOCK + AHEAD; t++) {
		int64_t page = cache_page(cache, sequence, entry);

		block->keys[t] = (char *)cache->keys.data + page * cache->keys.page_step +
				 row * cache->keys.row_step;
		block->values[t] = (char *)cache->values.data +
				   page * cache->values.page_step +
				   row * cache->values.row_step;
		if (token + t + 1 < end && ++row == cache->page) {
			row = 0;
			entry++;
		}
	}
}

/* What is done with some tokens of a block for one group. */
VECTOR INLINE void take_tokens(const struct share *share, const struct block *block,
	int64_t token, int tokens, int values, enum form form)
{
	const struct cache *cache = &share->job->cache;

	for (int64_t head = share->first; head < share->end; head++) {
		struct group group = group_of(share, head);

		if (values)
			value_tile(&group, block, token, tokens,
				head * cache->values.head_step, form);
		else
			score_tokens(&group, block, token, tokens,
				head * cache->keys.head_step, form);
	}
}

/* Tokens one after the other, as they lie: the processor then sees what comes next. */
VECTOR INLINE void take_block(
	const struct share *share, const struct block *block, enum form form)
{
	int64_t token = 0;

	for (; token + TILE_TOKENS <= block->count; token += TILE_TOKENS)
		take_tokens(share, block, token, TILE_TOKENS, 0, form);
	for (; token < block->count; token++)
		take_tokens(share, block, token, 1, 0, form);
	for (int64_t head = share->first; head < share->end; head++) {
		struct group group = group_of(share, head);

		for (int64_t i = 0; i < group.heads; i++)
			head_weights(&group, i, block->count);
	}
	for (token = 0; token + TILE_VALUES <= block->count; token += TILE_VALUES)
		take_tokens(share, block, token, TILE_VALUES, 1, form);
	for (; token < block->count; token++)
		take_tokens(share, block, token, 1, 1, form);
}

VECTOR INLINE void attend(const struct share *share, enum form form)
{
	const struct job *job = share->job;
	int64_t end = cache_length(&job->cache, share->sequence), first = 0;
	struct block block;

	if (job->window > 0 && job->window < end)
		first = end - job->window;
	for (int64_t head = share->first; head < share->end; head++)
		group_start(share, head, form);
	for (int64_t token = first; token < end; token += BLOCK) {
		block_find(job, share->sequence, token, end, &block);
		take_block(share, &block, form);
	}
	for (int64_t head = share->first; head < share->end; head++)
		group_end(share, head, end, form);
}

VECTOR INLINE void attend_share(const struct job *job, int64_t task, enum form form)
{
	int64_t shares = tasks_of_rows(job->cache_heads, job->heads_of_task);
	struct share share = {job, task / shares, task % shares * job->heads_of_task, 0};

	share.end = share.first + job->heads_of_task;
	if (share.end > job->cache_heads)
		share.end = job->cache_heads;
	attend(&share, form);
}

FORM_TASKS(attend_share);

static int check(const struct kp_call *call, const struct job *job)
{
	uint64_t bytes = 0;
	char text[128];
	int status = workspace(call, &bytes);

	if (status != KP_OK)
		return status;
	if (job->cache_heads == 0 ? job->heads > 0 : job->heads % job->cache_heads != 0) {
		(void)snprintf(text, sizeof(text),
			"q: %lld heads are no multiple of %lld cache heads",
			(long long)job->heads, (long long)job->cache_heads);
		return processor_fail(call->error, KP_INVALID, text);
	}
	if (call->workspace_bytes < bytes || (bytes > 0 && !call->workspace)) {
		(void)snprintf(text, sizeof(text),
			"the workspace has %llu bytes, not %llu",
			(unsigned long long)call->workspace_bytes,
			(unsigned long long)bytes);
		return processor_fail(call->error, KP_INVALID, text);
	}
	return cache_check(&job->cache, call->error);
}

static float scale_of(const struct kp_call *call, int64_t d)
{
	double scale = call->n_attrs > SCALE ? call->attrs[SCALE].f : 0;

	if (scale != scale)
		return NAN;
	return (float)(scale == 0 ? 1 / sqrt((double)d) : scale);
}

static int64_t cached_bytes(const struct job *job, enum form form)
{
	int64_t tokens = 0;

	for (int64_t i = 0; i < job->cache.sequences; i++)
		tokens += cache_length(&job->cache, i);
	return 2 * tokens * job->cache_heads * job->d * form_bytes(form);
}

static int run(const struct kp_call *call)
{
	const struct kp_tensor *q = call->tensors[Q], *out = call->tensors[OUT];
	const struct kp_tensor *elements[] = {
		q, call->tensors[K_PAGES], call->tensors[V_PAGES], out};
	int form = rows_form(elements, 4, call->error);
	struct job job = {.cache = cache_of(call),
		.q = heads_of(q),
		.out = heads_of(out),
		.heads = q->shape[1],
		.cache_heads = call->tensors[K_PAGES]->shape[2],
		.d = q->shape[2],
		.window = call->n_attrs > WINDOW ? call->attrs[WINDOW].i : 0,
		.scale = scale_of(call, q->shape[2]),
		.workspace = call->workspace};
	int status;

	if (form < 0)
		return KP_UNSUPPORTED;
	job.heads_of_task = job.cache_heads * job.cache.sequences / LEAST_TASKS;
	if (job.heads_of_task < 1)
		job.heads_of_task = 1;
	if (job.heads_of_task > job.cache_heads)
		job.heads_of_task = job.cache_heads;
	status = check(call, &job);
	if (status != KP_OK || job.heads == 0 || job.d == 0)
		return status;
	return rows_share(call, cached_bytes(&job, form),
		job.cache.sequences * tasks_of_rows(job.cache_heads, job.heads_of_task),
		attend_share_tasks[form], &job);
}

#else

static int run(const struct kp_call *call)
{
	return processor_available(NULL, call->error);
}

#endif

const struct kp_kernel KERNEL(attention_decode) = {
	KP_SIZED(struct kp_kernel), .run = run, .need = need, .available = AVAILABLE};
