/* SPDX-License-Identifier: MIT */
/* The family's check, and a second look where it fails. */
#include "lib/host/guard_verdict.h"

#include <math.h>
#include <string.h>

#include "lib/base/random.h"
#include "lib/family/element.h"
#include "lib/family/tensor.h"

enum { TRIALS = 4 };

static bool is_output(const struct kp_sample *sample, size_t role)
{
	return sample->results[role].tensor.data != NULL;
}

/* ---- elements ------------------------------------------------------------------- */

/* Two tensors of one dtype and shape, side by side. */
struct both {
	struct kp_walk one, other;
	enum kp_element element;
	double a, b;
};

static struct both both_of(const struct kp_tensor *one, const struct kp_tensor *other)
{
	struct both both = {kp_walk_start(one), kp_walk_start(other), 0, 0, 0};

	(void)kp_element_of_dtype(one->dtype, &both.element);
	return both;
}

static bool both_next(struct both *both)
{
	if (!kp_walk_next(&both->one) || !kp_walk_next(&both->other))
		return false;
	both->a = kp_element_load(both->element, both->one.at);
	both->b = kp_element_load(both->element, both->other.at);
	return true;
}

/* Inputs that hold not-a-number or too much make more of it: no kernel is to blame. */
static void leave_out_infinite(
	const struct kp_tensor *result, const struct kp_tensor *reference)
{
	struct both both = both_of(result, reference);

	if (!kp_element_is_real(both.element))
		return;
	while (both_next(&both))
		if (!isfinite(both.b)) {
			kp_element_store(both.element, both.one.at, 0);
			kp_element_store(both.element, both.other.at, 0);
		}
}

static void find_worst(
	const struct kp_sample *sample, size_t role, struct kp_wrong *wrong)
{
	struct both both =
		both_of(&sample->results[role].tensor, &sample->others[role].tensor);
	double worst = -1;
	size_t at = 0;

	while (both_next(&both)) {
		double off = isfinite(both.a) ? fabs(both.a - both.b) : HUGE_VAL;
		if (off > worst) {
			worst = off;
			at = both.one.index;
			wrong->result = both.a;
			wrong->reference = both.b;
		}
	}
	kp_sample_place(sample, role, at, wrong->place);
}

/* ---- the second look ------------------------------------------------------------ */

/* Of a dtype: from 1 to the next number. */
static double unit_of(const struct kp_tensor *tensor)
{
	static const struct {
		enum kp_element element;
		double unit;
	} units[] = {
		{KP_F64, 0x1p-52},
		{KP_F32, 0x1p-23},
		{KP_F16, 0x1p-10},
		{KP_BF16, 0x1p-7},
		{KP_F8_E4M3FN, 0x1p-3},
		{KP_F8_E5M2, 0x1p-2},
	};
	enum kp_element element;

	if (!kp_element_of_dtype(tensor->dtype, &element))
		return 0;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (units[i].element == element)
			return units[i].unit;
	return 0;
}

static void shake(const struct kp_tensor *tensor, double step, struct kp_random *random)
{
	struct kp_walk walk = kp_walk_start(tensor);
	enum kp_element element;

	if (!kp_element_of_dtype(tensor->dtype, &element))
		return;
	while (kp_walk_next(&walk)) {
		double sign = kp_random_next(random) & 1 ? 1 : -1;
		double value = kp_element_load(element, walk.at);
		if (isfinite(value))
			kp_element_store(element, walk.at, value * (1 + sign * step));
	}
}

/* A call of its own: other inputs where they are copies, outputs of its own. */
struct trial {
	struct kp_sample_tensor tensors[KP_FAMILY_ROLES];
	const struct kp_tensor *list[KP_FAMILY_ROLES];
};

static int make_trial(struct kp_sample *sample, struct trial *trial, double step,
	struct kp_random *random, struct kp_diag *diag)
{
	for (size_t i = 0; i < sample->n_roles; i++) {
		struct kp_sample_tensor *to = &trial->tensors[i];
		trial->list[i] = sample->list[i];
		if (!kp_sample_input(sample, i, to))
			return kp_diag_no_memory(diag);
		if (to->tensor.data && unit_of(&to->tensor) > 0)
			shake(&to->tensor, step, random);
		if (!to->tensor.data && is_output(sample, i) &&
			!kp_sample_like(sample, &sample->others[i], to))
			return kp_diag_no_memory(diag);
		if (to->tensor.data)
			trial->list[i] = &to->tensor;
	}
	return 0;
}

static double step_of(const struct kp_sample *sample, double least)
{
	for (size_t i = 0; i < sample->n_roles; i++)
		if (sample->list[i] && !is_output(sample, i))
			least = fmax(least, unit_of(sample->list[i]));
	return least;
}

/* How far slightly other inputs take this output, by the family's measure. */
static int measure_sway(struct kp_sample *sample, size_t role, double tolerance,
	kp_compute_fn *compute, void *context, double *sway, struct kp_diag *diag)
{
	double wanted = tolerance / TRIALS;
	double step = step_of(sample, wanted);
	struct kp_random random;
	double sum = 0;

	kp_random_seed(&random, sample->seed, "sway");
	for (int i = 0; i < TRIALS; i++) {
		struct trial trial;
		struct kp_comparison off;
		if (make_trial(sample, &trial, step, &random, diag) < 0 ||
			compute(context, trial.list, diag) < 0 ||
			kp_compare(KP_CHECK_NORM, trial.list[role],
				&sample->others[role].tensor, tolerance, &off, diag) < 0)
			return -1;
		if (isfinite(off.error))
			sum += off.error * off.error;
	}
	/* In proportion, where inputs cannot differ by as little. */
	*sway = sqrt(sum) * (wanted / step);
	return 0;
}

/* ---- all ------------------------------------------------------------------------ */

static int look_at(struct kp_sample *sample, size_t role, struct kp_wrong *wrong,
	struct kp_diag *diag)
{
	const struct kp_family *family = sample->check->family;
	const struct kp_tensor *result = &sample->results[role].tensor;
	const struct kp_tensor *reference = &sample->others[role].tensor;

	leave_out_infinite(result, reference);
	if (kp_compare(family->check, result, reference,
		    kp_compare_tolerance(family, result->dtype), &wrong->comparison,
		    diag) < 0)
		return -1;
	wrong->role = role;
	return !wrong->comparison.right;
}

static int look_again(struct kp_sample *sample, kp_compute_fn *compute, void *context,
	struct kp_wrong *wrong, struct kp_diag *diag)
{
	double sway = 0;

	if (sample->check->family->check == KP_CHECK_NORM &&
		isfinite(wrong->comparison.error) &&
		measure_sway(sample, wrong->role, wrong->comparison.tolerance, compute,
			context, &sway, diag) < 0)
		return -1;
	if (wrong->comparison.error <= sway)
		return 0;
	find_worst(sample, wrong->role, wrong);
	return 1;
}

int kp_guard_verdict(struct kp_sample *sample, kp_compute_fn *compute, void *context,
	struct kp_wrong *wrong, struct kp_diag *diag)
{
	if (compute(context, sample->list, diag) < 0)
		return -1;
	for (size_t i = 0; i < sample->n_roles; i++) {
		if (!is_output(sample, i))
			continue;
		int verdict = look_at(sample, i, wrong, diag);
		if (verdict > 0)
			verdict = look_again(sample, compute, context, wrong, diag);
		if (verdict != 0)
			return verdict;
	}
	return 0;
}
