/* SPDX-License-Identifier: MIT */
/*
 * norm/rms. A row is read twice, the second time from the first cache, while the next
 * row is asked for. It is summed in the same order whatever the other rows are. The
 * host has checked the call against the family.
 */
#include "kernels.h"
#include "processor.h"
#include "rows.h"

#if defined(__x86_64__)

enum { X, WEIGHT, Y, ROLES };
enum { EPS };

/* Elements that are summed as floats; such sums are added as doubles. */
enum { CHUNK = 8192 };

struct job {
	struct plane x, y;
	struct line weight; /* data is NULL without one */
	int64_t rows, n, rows_of_task;
	double eps;
	int streamed;
};

VECTOR INLINE struct pair add_squares(struct pair sums, struct pair x)
{
	sums.a = OP(fmadd_ps)(x.a, x.a, sums.a);
	sums.b = OP(fmadd_ps)(x.b, x.b, sums.b);
	return sums;
}

/* Four sums at a time hide the latency of FMA. */
VECTOR INLINE double chunk_squares(struct line x, int64_t i, int64_t end, enum form form)
{
	struct pair low = {vector_all(0), vector_all(0)}, high = low;

	for (; i + 2 * STEP <= end; i += 2 * STEP) {
		low = add_squares(low, line_load(x, i, form));
		high = add_squares(high, line_load(x, i + STEP, form));
	}
	for (; i + STEP <= end; i += STEP)
		low = add_squares(low, line_load(x, i, form));
	if (i < end)
		high = add_squares(high, line_load_part(x, i, end - i, form, 0));
	return vector_sum(
		OP(add_ps)(OP(add_ps)(low.a, low.b), OP(add_ps)(high.a, high.b)));
}

VECTOR INLINE double squares(struct line x, int64_t n, enum form form)
{
	double sum = 0;

	for (int64_t i = 0; i < n; i += CHUNK)
		sum += chunk_squares(x, i, i + CHUNK < n ? i + CHUNK : n, form);
	return sum;
}

/* Where squares or the factor would not be floats: as plain C does it, in double. */
VECTOR INLINE void normalize_oddly(
	const struct job *job, struct line x, struct line y, enum form form)
{
	double sum = 0, factor;

	for (int64_t i = 0; i < job->n; i++)
		sum += line_get(x, i, form) * line_get(x, i, form);
	factor = 1 / sqrt(sum / (double)job->n + job->eps);
	for (int64_t i = 0; i < job->n; i++) {
		double value = line_get(x, i, form) * factor;

		if (job->weight.data)
			value *= line_get(job->weight, i, form);
		line_put(y, i, value, form);
	}
}

VECTOR INLINE struct pair scaled(struct pair x, vector by, struct pair weight)
{
	x.a = OP(mul_ps)(OP(mul_ps)(x.a, by), weight.a);
	x.b = OP(mul_ps)(OP(mul_ps)(x.b, by), weight.b);
	return x;
}

/* A row and the one after it, which is asked for meanwhile. */
struct place {
	struct line x, y, next;
};

VECTOR INLINE void scale_part(const struct job *job, const struct place *at, int64_t i,
	int64_t count, vector by, enum form form)
{
	struct pair weight = {vector_all(1), vector_all(1)};

	if (job->weight.data)
		weight = line_load_part(job->weight, i, count, form, 1);
	line_store_part(at->y, i, count,
		scaled(line_load_part(at->x, i, count, form, 0), by, weight), form);
}

VECTOR INLINE void scale(const struct job *job, const struct place *at, vector by,
	enum form form, int weighted, int streamed)
{
	struct pair weight = {vector_all(1), vector_all(1)};
	int64_t i = streamed ? line_before_aligned(at->y, job->n, form) : 0;

	for (int64_t done = 0; done < i; done += STEP)
		scale_part(job, at, done, i - done < STEP ? i - done : STEP, by, form);
	for (; i + STEP <= job->n; i += STEP) {
		line_prefetch(at->next, i, form);
		if (weighted)
			weight = line_load(job->weight, i, form);
		line_store(at->y, i, scaled(line_load(at->x, i, form), by, weight), form,
			streamed);
	}
	if (i < job->n)
		scale_part(job, at, i, job->n - i, by, form);
}

/* Squares below 2^-149 are lost: they count where the sum and eps are as small. */
static inline int is_odd(double sum, double eps, double factor)
{
	return sum > 3e38 || (sum < 0x1p-90 && eps < 0x1p-64) || factor > 3e38;
}

VECTOR INLINE void normalize(
	const struct job *job, const struct place *at, enum form form)
{
	double sum = squares(at->x, job->n, form);
	double factor = 1 / sqrt(sum / (double)job->n + job->eps);
	vector by = vector_all(factor == factor ? (float)factor : NAN);

	if (is_odd(sum, job->eps, factor))
		normalize_oddly(job, at->x, at->y, form);
	else if (form != form_dense(form))
		scale(job, at, by, form, job->weight.data != NULL, 0);
	else if (job->weight.data && job->streamed)
		scale(job, at, by, form, 1, 1);
	else if (job->weight.data)
		scale(job, at, by, form, 1, 0);
	else
		scale(job, at, by, form, 0, 0);
}

VECTOR INLINE void normalize_rows(const struct job *job, int64_t task, enum form form)
{
	int64_t i = task * job->rows_of_task, end = i + job->rows_of_task;

	if (end > job->rows)
		end = job->rows;
	for (; i < end; i++) {
		int64_t next = i + 1 < job->rows ? i + 1 : i;
		struct place at = {plane_row(job->x, i), plane_row(job->y, i),
			plane_row(job->x, next)};

		normalize(job, &at, form);
	}
}

FORM_TASKS(normalize_rows);

static int run(const struct kp_call *call)
{
	const struct kp_tensor *x = call->tensors[X], *weight = call->tensors[WEIGHT];
	int form = rows_form(call->tensors, ROLES, call->error);
	struct job job = {.x = plane_of(x),
		.y = plane_of(call->tensors[Y]),
		.rows = x->shape[0],
		.n = x->shape[1],
		.eps = call->n_attrs > EPS ? call->attrs[EPS].f : 1e-6};
	int64_t row_bytes;

	if (form < 0)
		return KP_UNSUPPORTED;
	if (weight)
		job.weight = plane_row(plane_of(weight), 0);
	row_bytes = 2 * job.n * form_bytes(form);
	job.rows_of_task = rows_of_task(row_bytes);
	job.streamed = job.x.data != job.y.data &&
		       job.rows * row_bytes >= 2 * (int64_t)STREAM_BYTES;
	return rows_share(call, job.rows * row_bytes,
		tasks_of_rows(job.rows, job.rows_of_task), normalize_rows_tasks[form],
		&job);
}

#else

static int run(const struct kp_call *call)
{
	return processor_available(NULL, call->error);
}

#endif

const struct kp_kernel KERNEL(norm_rms) = {
	KP_SIZED(struct kp_kernel), .run = run, .available = AVAILABLE};
