/* SPDX-License-Identifier: MIT */
/* Row-major layouts, the last dim next to itself. */
#include "lib/host/dense.h"

#include "lib/host/call.h"
#include "lib/host/fault.h"

static int lay_out(const struct kp_check *check, size_t role, const int64_t *dims,
	struct kp_dense *dense, struct kp_diag *diag)
{
	const struct kp_check_role *of = &check->roles[role];
	const char *name = check->family->roles[role].name;
	int64_t step = 1;

	for (size_t d = of->rank; d-- > 0;) {
		int64_t extent = of->dims[d] >= 0 ? dims[of->dims[d]] : of->numbers[d];
		if (extent < 0)
			return kp_diag_set(diag, "bad_extent", name,
				"%s: dim %zu is %lld, 0 or more is needed", name, d,
				(long long)extent);
		dense->shape[role][d] = extent;
		dense->strides[role][d] = step;
		if (extent > 0 && __builtin_mul_overflow(step, extent, &step))
			return kp_diag_set(diag, "too_large", name,
				"%s: its elements are more than memory has", name);
	}
	return 0;
}

/* Is the role part of the call? Without data all that the signature has are. */
static bool is_there(const struct kp_check *check, void *const *data, size_t role)
{
	const struct kp_check_role *of = &check->roles[role];

	return data ? data[role] || !of->optional : !of->absent && !of->optional;
}

int kp_dense_make(const struct kp_check *check, void *const *data, const int64_t *dims,
	struct kp_dense *dense, struct kp_diag *diag)
{
	for (size_t i = 0; i < check->n_roles; i++) {
		const struct kp_check_role *role = &check->roles[i];
		bool host = !role->on_device;
		dense->list[i] = NULL;
		if (!is_there(check, data, i))
			continue;
		if (lay_out(check, i, dims, dense, diag) < 0)
			return -1;
		dense->tensors[i] = (struct kp_tensor){
			.data = data ? data[i] : NULL,
			.device =
				host ? (struct kp_place){KP_DEVICE_CPU, 0} : check->place,
			.ndim = role->rank,
			.dtype = role->dtype,
			.shape = dense->shape[i],
			.strides = dense->strides[i],
		};
		dense->list[i] = &dense->tensors[i];
	}
	return 0;
}

int kp_run_dense(struct kp_site *front, void *const *data, const int64_t *dims,
	void *stream, struct kp_error *error)
{
	const struct kp_inner_site *site = kp_site_inner(front);
	struct kp_dense dense;
	struct kp_diag diag;

	if (!site->contract->described)
		return kp_fault_say(error, KP_INVALID,
			"no family describes %s: its tensors must be given whole",
			site->contract->operation);
	if (kp_dense_make(&site->check, data, dims, &dense, &diag) < 0)
		return kp_fault(error, &diag);
	struct kp_call call = {
		.tensors = dense.list,
		.n_tensors = (uint32_t)site->check.n_roles,
		.error = error,
		.stream = stream,
	};
	kp_call_ready(site, &call);
	return kp_run(front, &call);
}
