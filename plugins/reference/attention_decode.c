/* SPDX-License-Identifier: MIT */
/* attention/decode: one query token a sequence against its paged cache. */
#include <inttypes.h>
#include <math.h>

#include "kernels.h"
#include "operand.h"

enum { Q, K_PAGES, V_PAGES, PAGE_TABLE, LENS, OUT, ROLES };
enum { SCALE, WINDOW };

/* b sequences, h heads, g cache heads, d elements; p pages of s tokens; t entries. */
static const struct operand roles[ROLES] = {
	{"q", "bhd", REAL, 0},
	{"k_pages", "psgd", REAL, 0},
	{"v_pages", "psgd", REAL, 0},
	{"page_table", "bt", INTEGER, 0},
	{"lens", "b", INTEGER, 0},
	{"out", "bhd", REAL, 0},
};

/*
 * One head of one sequence. Tokens [first, end) count, each has a weight; a
 * sequence has at most `capacity` of them.
 */
struct head {
	const struct kp_tensor *const *t;
	int64_t sequence, head, cache_head, page, d, first, end;
	uint64_t capacity;
	double scale;
	double *weights, *sums;
};

static struct row vector(const struct kp_tensor *tensor, int64_t i, int64_t j)
{
	return operand_line(tensor, i * tensor->strides[0] + j * tensor->strides[1], 2);
}

/* The key or value of a token. */
static struct row cached(
	const struct head *head, const struct kp_tensor *pages, int64_t token)
{
	const struct kp_tensor *table = head->t[PAGE_TABLE];
	int64_t page =
		((const int32_t *)table->data)[head->sequence * table->strides[0] +
					       token / head->page * table->strides[1]];

	return operand_line(pages,
		page * pages->strides[0] + token % head->page * pages->strides[1] +
			head->cache_head * pages->strides[2],
		3);
}

static double dot(struct row a, struct row b, int64_t n)
{
	double sum = 0;

	for (int64_t i = 0; i < n; i++)
		sum += row_get(a, i) * row_get(b, i);
	return sum;
}

/* Fills weights with exp(score - greatest score). Returns their sum. */
static double weigh(const struct head *head)
{
	struct row query = vector(head->t[Q], head->sequence, head->head);
	double most = -HUGE_VAL, sum = 0;

	for (int64_t i = head->first; i < head->end; i++) {
		double score = dot(query, cached(head, head->t[K_PAGES], i), head->d) *
			       head->scale;

		head->weights[i - head->first] = score;
		most = score > most ? score : most;
	}
	for (int64_t i = 0; i < head->end - head->first; i++) {
		head->weights[i] = exp(head->weights[i] - most);
		sum += head->weights[i];
	}
	return sum;
}

static void attend(const struct head *head)
{
	double total = weigh(head);
	struct row out = vector(head->t[OUT], head->sequence, head->head);

	for (int64_t e = 0; e < head->d; e++)
		/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): d is 0 then */
		head->sums[e] = 0;
	for (int64_t i = head->first; i < head->end; i++) {
		struct row value = cached(head, head->t[V_PAGES], i);

		for (int64_t e = 0; e < head->d; e++)
			head->sums[e] +=
				head->weights[i - head->first] * row_get(value, e);
	}
	for (int64_t e = 0; e < head->d; e++)
		row_set(out, e, head->end > head->first ? head->sums[e] / total : 0);
}

/* Doubles of workspace: a weight for every token that a table can name, and a head. */
static int workspace(const struct kp_call *call, const struct extents *extents,
	uint64_t *capacity, uint64_t *bytes)
{
	if (__builtin_mul_overflow(
		    extent(extents, 's'), extent(extents, 't'), capacity) ||
		__builtin_add_overflow(*capacity, extent(extents, 'd'), bytes) ||
		__builtin_mul_overflow(*bytes, sizeof(double), bytes))
		return operand_fail(call->error, KP_INVALID,
			"page_table: the cache that it can name is too large");
	return KP_OK;
}

/* A wrong table would send us out of the cache: refuse it before anything is read. */
static int check_sequence(const struct kp_call *call, const struct head *head,
	const struct extents *extents, int64_t length)
{
	const struct kp_tensor *table = head->t[PAGE_TABLE];
	const int32_t *entries =
		(const int32_t *)table->data + head->sequence * table->strides[0];

	if (length < 0 || (uint64_t)length > head->capacity)
		return operand_fail(call->error, KP_INVALID,
			"lens: sequence %" PRId64 " has %" PRId64
			" tokens, its pages hold %" PRIu64,
			head->sequence, length, head->capacity);
	for (int64_t i = 0; i * head->page < length; i++) {
		int32_t entry = entries[i * table->strides[1]];

		if (entry < 0 || entry >= extent(extents, 'p'))
			return operand_fail(call->error, KP_INVALID,
				"page_table: page %" PRId32 " of sequence %" PRId64
				" is not one of %" PRId64,
				entry, head->sequence, extent(extents, 'p'));
	}
	return KP_OK;
}

static int attend_sequence(
	const struct kp_call *call, struct head *head, const struct extents *extents)
{
	const struct kp_tensor *lens = head->t[LENS];
	int64_t length = ((const int32_t *)lens->data)[head->sequence * lens->strides[0]];
	int64_t window = operand_integer(call, WINDOW, 0);
	int64_t group = extent(extents, 'h') / extent(extents, 'g');
	int status = check_sequence(call, head, extents, length);

	if (status != KP_OK)
		return status;
	head->first = window > 0 && window < length ? length - window : 0;
	head->end = length;
	for (head->head = 0; head->head < extent(extents, 'h'); head->head++) {
		head->cache_head = head->head / group;
		attend(head);
	}
	return KP_OK;
}

static int need(const struct kp_call *call, struct kp_need *need)
{
	const struct kp_tensor *t[ROLES];
	struct extents extents;
	uint64_t capacity, bytes = 0;
	int status = operands_take(call, roles, ROLES, t, &extents);

	if (status == KP_OK)
		status = workspace(call, &extents, &capacity, &bytes);
	if (status != KP_OK)
		return status;
	need->workspace_bytes = bytes;
	need->workspace_align = sizeof(double);
	return KP_OK;
}

static int check_heads(const struct kp_call *call, const struct extents *extents)
{
	int64_t h = extent(extents, 'h'), g = extent(extents, 'g');

	if (g == 0 ? h == 0 : h % g == 0)
		return KP_OK;
	return operand_fail(call->error, KP_INVALID,
		"q: %" PRId64 " heads are no multiple of %" PRId64 " cache heads", h, g);
}

static int run(const struct kp_call *call)
{
	const struct kp_tensor *t[ROLES];
	struct extents extents;
	struct head head = {.t = t, .scale = operand_real(call, SCALE, 0)};
	uint64_t bytes = 0;
	int status = operands_take(call, roles, ROLES, t, &extents);

	if (status == KP_OK)
		status = check_heads(call, &extents);
	if (status == KP_OK)
		status = workspace(call, &extents, &head.capacity, &bytes);
	if (status != KP_OK || extent(&extents, 'h') == 0)
		return status;
	if (call->workspace_bytes < bytes || (bytes > 0 && !call->workspace))
		return operand_fail(call->error, KP_INVALID,
			"the workspace has %" PRIu64 " bytes, not %" PRIu64,
			call->workspace_bytes, bytes);
	head.page = extent(&extents, 's');
	head.d = extent(&extents, 'd');
	head.weights = call->workspace;
	head.sums = bytes > 0 ? head.weights + head.capacity : NULL;
	if (head.scale == 0 && head.d > 0)
		head.scale = 1 / sqrt((double)head.d);
	for (; head.sequence < extent(&extents, 'b') && status == KP_OK; head.sequence++)
		status = attend_sequence(call, &head, &extents);
	return status;
}

const struct kp_kernel attention_decode = {
	KP_SIZED(struct kp_kernel), .run = run, .need = need};
