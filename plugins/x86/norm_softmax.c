/* SPDX-License-Identifier: MIT */
/*
 * norm/softmax. A row that fits is read from memory once: its exponentials wait in the
 * first cache until their sum is known. A longer row is taken by chunks, and what was
 * summed is scaled down when a greater element comes (Milakov and Gimelshein, "Online
 * normalizer calculation for softmax"); its exponentials are made twice. The host
 * has checked the call against the family.
 */
#include "kernels.h"
#include "processor.h"
#include "rows.h"

#if defined(__x86_64__)

#include "exponential.h"

enum { X, Y, ROLES };

/* Elements of a chunk, whose exponentials are kept as floats. */
enum { CHUNK = 4096 };

struct job {
	struct plane x, y;
	int64_t rows, n, rows_of_task;
	int streamed;
};

/* A row and the one after it, which is asked for meanwhile. */
struct place {
	struct line x, y, next;
};

VECTOR INLINE struct pair greater(struct pair a, struct pair b)
{
	struct pair pair = {OP(max_ps)(a.a, b.a), OP(max_ps)(a.b, b.b)};

	return pair;
}

/* The greatest of the elements from i to end. One that is NaN may be passed over. */
VECTOR INLINE float greatest(struct line x, int64_t i, int64_t end, enum form form)
{
	struct pair low = {vector_all(-HUGE_VALF), vector_all(-HUGE_VALF)}, high = low;

	for (; i + 2 * STEP <= end; i += 2 * STEP) {
		low = greater(line_load(x, i, form), low);
		high = greater(line_load(x, i + STEP, form), high);
	}
	for (; i < end; i += STEP)
		low = greater(line_load_part(x, i, end - i < STEP ? end - i : STEP, form,
				      -HUGE_VALF),
			low);
	return vector_max(
		OP(max_ps)(OP(max_ps)(low.a, low.b), OP(max_ps)(high.a, high.b)));
}

/* Of two pairs, or of the first alone. */
VECTOR INLINE void exponentials(struct pair *x, int pairs, vector most, int rough)
{
	struct abreast powers;

#pragma GCC unroll 2
	for (int i = 0; i < pairs; i++) {
		powers.of[2 * i] = OP(sub_ps)(x[i].a, most);
		powers.of[2 * i + 1] = OP(sub_ps)(x[i].b, most);
	}
	powers = vectors_exp(powers, 2 * pairs, rough);
#pragma GCC unroll 2
	for (int i = 0; i < pairs; i++) {
		x[i].a = powers.of[2 * i];
		x[i].b = powers.of[2 * i + 1];
	}
}

VECTOR INLINE struct pair added(struct pair a, struct pair b)
{
	struct pair sum = {OP(add_ps)(a.a, b.a), OP(add_ps)(a.b, b.b)};

	return sum;
}

/*
 * The sum of exp(x - most) from i to end; each is put at `kept`, which ends with what
 * elements of -infinity make, up to whole steps.
 */
VECTOR INLINE float chunk_sum(const struct place *at, int64_t i, int64_t end, float most,
	float *kept, enum form form)
{
	struct pair sums = {vector_all(0), vector_all(0)}, powers[2];
	vector shift = vector_all(most);
	int rough = form_is_bf16(form);

	for (; i + 2 * STEP <= end; i += 2 * STEP, kept += 2 * STEP) {
		line_prefetch(at->next, i, form);
		line_prefetch(at->next, i + STEP, form);
		powers[0] = line_load(at->x, i, form);
		powers[1] = line_load(at->x, i + STEP, form);
		exponentials(powers, 2, shift, rough);
		sums = added(added(sums, powers[0]), powers[1]);
		pair_write((char *)kept, powers[0], F32_DENSE, 0);
		pair_write((char *)(kept + STEP), powers[1], F32_DENSE, 0);
	}
	for (; i < end; i += STEP, kept += STEP) {
		int64_t left = end - i < STEP ? end - i : STEP;

		powers[0] = line_load_part(at->x, i, left, form, -HUGE_VALF);
		exponentials(powers, 1, shift, rough);
		sums = added(sums, powers[0]);
		pair_write((char *)kept, powers[0], F32_DENSE, 0);
	}
	return vector_sum(OP(add_ps)(sums.a, sums.b));
}

VECTOR INLINE struct pair scaled(struct pair pair, vector by)
{
	pair.a = OP(mul_ps)(pair.a, by);
	pair.b = OP(mul_ps)(pair.b, by);
	return pair;
}

/* `count` kept exponentials from element i on. */
VECTOR INLINE void store_kept(struct line y, int64_t i, int64_t count, const float *kept,
	vector by, enum form form)
{
	struct pair pair = scaled(pair_read((const char *)kept, F32_DENSE), by);

	line_store_part(y, i, count, pair, form);
}

/* Writes the kept exponentials of a chunk, which starts at `first`, times a factor. */
VECTOR INLINE void write_chunk(struct line y, int64_t first, int64_t end,
	const float *kept, vector by, enum form form, int streamed)
{
	int64_t i = first;

	for (; i + STEP <= end; i += STEP)
		line_store(y, i,
			scaled(pair_read((const char *)(kept + i - first), F32_DENSE),
				by),
			form, streamed);
	if (i < end)
		store_kept(y, i, end - i, kept + i - first, by, form);
}

/* What is known of a row after some of its chunks: the sum is of exp(x - most). */
struct normalizer {
	float most;
	double sum;
};

/* Without -infinity for the greatest, from which nothing can be taken away. */
static inline float shift_of(float most)
{
	return most == -HUGE_VALF ? 0 : most;
}

VECTOR INLINE void add_chunk(struct normalizer *row, const struct place *at, int64_t i,
	int64_t end, float *kept, enum form form)
{
	float most = greatest(at->x, i, end, form);
	float sum, before = row->most;

	if (most > row->most)
		row->most = most;
	sum = chunk_sum(at, i, end, shift_of(row->most), kept, form);
	if (before != row->most)
		row->sum *= exp((double)before - row->most);
	row->sum += sum;
}

/* The factor of exponentials. A row that is -infinity throughout becomes 0. */
static inline float factor_of(const struct normalizer *row)
{
	if (row->sum == 0)
		return 0;
	return row->sum == row->sum ? (float)(1 / row->sum) : NAN;
}

VECTOR INLINE void softmax(
	const struct place *at, int64_t n, enum form form, int streamed)
{
	float kept[CHUNK + STEP] __attribute__((aligned(CACHE_LINE)));
	struct normalizer row = {-HUGE_VALF, 0};
	vector by;

	for (int64_t i = 0; i < n; i += CHUNK)
		add_chunk(&row, at, i, i + CHUNK < n ? i + CHUNK : n, kept, form);
	by = vector_all(factor_of(&row));
	for (int64_t i = 0; i < n; i += CHUNK) {
		int64_t end = i + CHUNK < n ? i + CHUNK : n;

		if (n > CHUNK)
			(void)chunk_sum(at, i, end, shift_of(row.most), kept, form);
		write_chunk(at->y, i, end, kept, by, form, streamed);
	}
}

/* Streamed where each row, and with it each step, starts on a cache line. */
VECTOR INLINE void softmax_rows(const struct job *job, int64_t task, enum form form)
{
	int64_t i = task * job->rows_of_task, end = i + job->rows_of_task;

	if (end > job->rows)
		end = job->rows;
	for (; i < end; i++) {
		int64_t next = i + 1 < job->rows ? i + 1 : i;
		struct place at = {plane_row(job->x, i), plane_row(job->y, i),
			plane_row(job->x, next)};

		if (form == form_dense(form) && job->streamed &&
			line_before_aligned(at.y, job->n, form) == 0)
			softmax(&at, job->n, form, 1);
		else
			softmax(&at, job->n, form, 0);
	}
}

FORM_TASKS(softmax_rows);

static int run(const struct kp_call *call)
{
	const struct kp_tensor *x = call->tensors[X];
	int form = rows_form(call->tensors, ROLES, call->error);
	struct job job = {.x = plane_of(x),
		.y = plane_of(call->tensors[Y]),
		.rows = x->shape[0],
		.n = x->shape[1]};
	int64_t row_bytes;

	if (form < 0)
		return KP_UNSUPPORTED;
	row_bytes = 2 * job.n * form_bytes(form);
	job.rows_of_task = rows_of_task(row_bytes);
	job.streamed = job.x.data != job.y.data &&
		       job.rows * row_bytes >= 2 * (int64_t)STREAM_BYTES;
	return rows_share(call, job.rows * row_bytes,
		tasks_of_rows(job.rows, job.rows_of_task), softmax_rows_tasks[form],
		&job);
}

#else

static int run(const struct kp_call *call)
{
	return processor_available(NULL, call->error);
}

#endif

const struct kp_kernel KERNEL(norm_softmax) = {
	KP_SIZED(struct kp_kernel), .run = run, .available = AVAILABLE};
