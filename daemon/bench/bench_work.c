/* SPDX-License-Identifier: MIT */
/* Work terms of a family, for one shape. */
#include "daemon/bench/bench_work.h"

#include <math.h>

static const double number_most = 1e30;

json_t *bench_number(double value)
{
	return isfinite(value) && !signbit(value) && value <= number_most
		       ? json_real(value)
		       : json_null();
}

static double element_bytes(
	const struct kp_role *role, const struct kp_signature *signature)
{
	struct kp_format format;

	return kp_family_format(role, signature, &format)
		       ? (double)kp_element_bytes(format.element)
		       : 0;
}

static double role_bytes(const struct bench_plan *plan, const struct kp_shape *shape,
	const struct kp_signature *signature, const struct kp_role *role)
{
	double times = role->direction == KP_INOUT ? 2 : 1;

	return times * kp_family_touched(plan->family, shape, role) *
	       element_bytes(role, signature);
}

/* Does the shape say every extent of the role? Then 0 bytes are 0 bytes. */
static bool is_whole(const struct kp_shape *shape, const struct kp_role *role)
{
	for (size_t i = 0; i < role->rank; i++)
		if (role->dims[i].name && kp_shape_get(shape, role->dims[i].name) < 0)
			return false;
	return true;
}

void bench_work_init(struct bench_work *work, const struct bench_plan *plan,
	const struct kp_shape *shape)
{
	struct kp_signature signature;
	bool is_known = !plan->is_unusual;

	*work = (struct bench_work){.by_role = json_object()};
	if (!is_known || kp_signature_parse(plan->signature, &signature, NULL) < 0)
		return;
	for (size_t i = 0; i < plan->family->n_roles; i++)
		is_known &= is_whole(shape, &plan->family->roles[i]);
	if (!is_known)
		return;
	work->flops = kp_family_work(plan->family, shape, &plan->family->flops);
	for (size_t i = 0; i < plan->family->n_roles; i++) {
		const struct kp_role *role = &plan->family->roles[i];
		double bytes = role_bytes(plan, shape, &signature, role);
		work->bytes += bytes;
		(void)json_object_set_new(work->by_role, role->name, bench_number(bytes));
	}
}

void bench_work_finish(struct bench_work *work)
{
	json_decref(work->by_role);
	*work = (struct bench_work){.by_role = NULL};
}

json_t *bench_work_json(const struct bench_work *work)
{
	return json_pack("{s:o, s:O}", "flops",
		work->flops > 0 ? bench_number(work->flops) : json_null(), "bytes",
		work->by_role);
}

json_t *bench_work_rate(double amount, double us)
{
	return us > 0 && amount > 0 ? bench_number(amount / (us * 1e3)) : json_null();
}
