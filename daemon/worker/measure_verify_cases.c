/* SPDX-License-Identifier: MIT */
/* Going through the cases of a verification. */
#include <math.h>
#include <string.h>

#include "daemon/worker/measure_result.h"
#include "daemon/worker/measure_verify.h"
#include "lib/base/clock.h"

enum { CALLS_ON = 64 }; /* after all cases, unless they take too long */
static const double calls_on_s = 0.3;

/* ---- runs ---- */

static int run(struct verifying *v, struct kp_diag *diag)
{
	double before = kp_clock_s();
	int failed = measure_kernel_run(&v->kernel, diag);

	v->call_ms = fmax(v->call_ms, 1e3 * (kp_clock_s() - before));
	return failed;
}

int verify_run(struct verifying *v, struct kp_diag *diag)
{
	if (measure_case_poison(&v->c, diag) < 0 || run(v, diag) < 0)
		return -1;
	return measure_result_check(&v->c, diag);
}

/* The threads of the pool, or the caller's alone. */
void verify_swap_threads(struct verifying *v)
{
	struct kp_parallel *other = v->alone;

	v->alone = v->kernel.host.pool;
	v->kernel.host.pool = other;
}

static int run_with_threads(struct verifying *v, struct kp_diag *diag)
{
	struct kp_diag cause;

	verify_swap_threads(v);
	int failed = verify_run(v, &cause);
	verify_swap_threads(v);
	if (!failed)
		return 0;
	return kp_diag_set(diag, cause.code, cause.object,
		"right in a first run by one thread, not in a second by several: %s",
		cause.message);
}

uint64_t verify_seed(const struct verifying *v, size_t i)
{
	return (uint64_t)json_integer_value(json_array_get(v->seeds, i));
}

int verify_fill(struct verifying *v, size_t i, struct kp_diag *diag)
{
	measure_result_expect(&v->c, i);
	if (measure_case_fill(&v->c, verify_seed(v, i), diag) < 0)
		return -1;
	return measure_kernel_plan(&v->kernel, diag);
}

int verify_attach(
	struct verifying *v, const struct kp_placement *layout, struct kp_diag *diag)
{
	if (measure_case_map(&v->c, layout, diag) < 0)
		return -1;
	return measure_kernel_attach(&v->kernel, v->report, &v->c, diag);
}

/* ---- cases ---- */

/* Memory is as it should be no more, or nothing can be called: no use to go on. */
static bool is_over(const struct kp_diag *diag)
{
	return strcmp(diag->code, "out_of_bounds") == 0 ||
	       strcmp(diag->code, "unavailable") == 0;
}

/* False when it ends the job. */
static bool count(struct verifying *v, int failed, const struct kp_diag *diag)
{
	v->cases++;
	if (!failed) {
		v->passed++;
		return true;
	}
	v->unsupported += strcmp(diag->code, "unsupported") == 0;
	verify_fail(v, diag);
	return !is_over(diag);
}

static bool do_case(struct verifying *v, const struct kp_placement *layout, size_t i)
{
	struct kp_diag diag;

	verify_begin(v, layout, verify_seed(v, i));
	report_stage(v->report, "verify plan");
	int failed = verify_fill(v, i, &diag) < 0;
	report_stage(v->report, "verify run");
	failed = failed || verify_run(v, &diag) < 0 || run_with_threads(v, &diag) < 0;
	return count(v, failed, &diag);
}

static bool do_layout(struct verifying *v, const struct kp_placement *layout)
{
	struct kp_diag diag;
	size_t n = json_array_size(v->seeds);

	int failed = verify_attach(v, layout, &diag);
	for (size_t i = 0; i < n; i++) {
		if (failed)
			verify_begin(v, layout, verify_seed(v, i));
		if (failed ? !count(v, failed, &diag) : !do_case(v, layout, i))
			return false;
	}
	return true;
}

static bool is_asked(const struct verifying *v, const struct kp_placement *layout)
{
	size_t i;
	const json_t *name;

	json_array_foreach (v->layouts, i, name)
		if (strcmp(json_string_value(name), layout->name) == 0)
			return true;
	return !json_is_array(v->layouts);
}

/* Every layout that was asked for, until one ends the job. */
void verify_cases(struct verifying *v)
{
	for (const struct kp_placement *layout = kp_placements; layout->name; layout++)
		if (is_asked(v, layout) && measure_layout_applies(layout, &v->c) &&
			!do_layout(v, layout))
			return;
}

/* ---- on and on ---- */

static bool is_checked(const struct verifying *v, unsigned number)
{
	return v->c.drifts || (number & (number - 1)) == 0;
}

static int call_on(struct verifying *v, unsigned *number, struct kp_diag *diag)
{
	double start = kp_clock_s();

	for (*number = 1; *number <= CALLS_ON && kp_clock_s() - start < calls_on_s;
		++*number)
		if (is_checked(v, *number) ? verify_run(v, diag) < 0 : run(v, diag) < 0)
			return -1;
	return verify_run(v, diag);
}

/* Right in every case: is it still so after as many calls again? */
bool verify_further(struct verifying *v)
{
	struct kp_diag diag, cause;
	unsigned number = 0;

	report_stage(v->report, "verify further calls");
	verify_begin(v, KP_CONTIGUOUS, verify_seed(v, 0));
	if (verify_fill(v, 0, &cause) == 0 && call_on(v, &number, &cause) == 0)
		return true;
	kp_diag_set(&diag, cause.code, cause.object,
		"right at first, not any more %u calls later: %s", number, cause.message);
	verify_fail(v, &diag);
	return false;
}
