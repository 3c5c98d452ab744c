/* SPDX-License-Identifier: MIT */
/* Weights laid out for the kernel that is in force, where it has a layout of its own. */
#include "lib/host/weight.h"

#include <stdlib.h>
#include <string.h>

#include "lib/host/call.h"
#include "lib/host/calm.h"
#include "lib/host/fault.h"
#include "lib/host/hold.h"
#include "lib/host/resolve.h"
#include "lib/plugin/abi.h"

struct kp_weight {
	struct kp_weight *next, **link; /* of the handle; link NULL: not laid out */
	struct kp_handle *handle;
	struct kp_tensor tensor;
	int64_t shape[KP_FAMILY_RANK], strides[KP_FAMILY_RANK];
	void *memory; /* of its own, or NULL */
	uint64_t hold;
};

static int find_role(const struct kp_inner_site *site, const char *name)
{
	const struct kp_family *family = &site->contract->family;

	for (size_t i = 0; site->contract->described && i < family->n_roles; i++)
		if (strcmp(family->roles[i].name, name) == 0)
			return (int)i;
	return -1;
}

static void keep_tensor(struct kp_weight *weight, const struct kp_tensor *tensor)
{
	weight->tensor = *tensor;
	for (int32_t i = 0; i < tensor->ndim; i++) {
		weight->shape[i] = tensor->shape[i];
		weight->strides[i] = tensor->strides[i];
	}
	weight->tensor.shape = weight->shape;
	weight->tensor.strides = weight->strides;
}

static int lay_out(struct kp_weight *weight, const struct kp_inner_rung *rung,
	struct kp_call *call, uint32_t role)
{
	const struct kp_kernel *functions = &rung->loaded->functions;
	struct kp_prepared prepared = {.size = (uint32_t)sizeof(prepared)};
	int status;

	if (!functions->prepared || !functions->prepare)
		return KP_OK;
	status = functions->prepared(call, role, &prepared);
	/* This role has no layout of its own. */
	if (status == KP_UNSUPPORTED || (status == KP_OK && prepared.bytes == 0))
		return KP_OK;
	if (status != KP_OK)
		return status;
	uint64_t align =
		prepared.align < sizeof(void *) ? sizeof(void *) : prepared.align;
	if (posix_memalign(&weight->memory, align, prepared.bytes) != 0) {
		weight->memory = NULL;
		return kp_fault_say(call->error, KP_NO_MEMORY, "memory is exhausted");
	}
	status = functions->prepare(call, role, weight->memory);
	weight->tensor.data = weight->memory;
	return status;
}

static void enter(struct kp_weight *weight)
{
	struct kp_handle *handle = weight->handle;

	(void)pthread_mutex_lock(&handle->lock);
	weight->link = &handle->weights;
	weight->next = handle->weights;
	if (weight->next)
		weight->next->link = &weight->next;
	handle->weights = weight;
	(void)pthread_mutex_unlock(&handle->lock);
}

static void leave(struct kp_weight *weight)
{
	(void)pthread_mutex_lock(&weight->handle->lock);
	*weight->link = weight->next;
	if (weight->next)
		weight->next->link = weight->link;
	(void)pthread_mutex_unlock(&weight->handle->lock);
}

bool kp_weight_is_prepared(struct kp_handle *handle, const void *data)
{
	(void)pthread_mutex_lock(&handle->lock);
	const struct kp_weight *weight = handle->weights;
	while (weight && weight->memory != data)
		weight = weight->next;
	(void)pthread_mutex_unlock(&handle->lock);
	return weight != NULL;
}

static int fill(struct kp_weight *weight, struct kp_inner_site *site, uint32_t role,
	struct kp_error *error)
{
	const struct kp_tensor *tensors[KP_FAMILY_ROLES] = {NULL};
	struct kp_call call = {.error = error, .tensors = tensors};
	const char *name = kp_site_kernel(&site->front, NULL);
	struct kp_diag diag;

	if (!name)
		return kp_fault_say(error, KP_UNSUPPORTED,
			"the site %s runs no kernel that could lay a weight out",
			site->label);
	tensors[role] = &weight->tensor;
	call.n_tensors = (uint32_t)site->check.n_roles;
	kp_call_ready(site, &call);
	int64_t least[KP_FAMILY_DIMS];
	for (size_t i = 0; i < site->check.n_dims; i++)
		least[i] = site->has_range[i] ? site->least[i] : -1;
	const struct kp_inner_rung *rung = kp_resolve(site, least, &diag);
	if (!rung)
		return kp_fault(error, &diag);
	call.state = rung->front.state;
	call.device_state = rung->front.device_state;
	uint64_t outer = kp_thread_inside(site->handle->slots, rung->front.kernel);
	int status = lay_out(weight, rung, &call, role);
	kp_thread_outside(outer);
	if (status != KP_OK)
		return status;
	if (weight->memory)
		enter(weight);
	weight->hold = kp_hold_add(site->handle, rung->name, "weight");
	return weight->hold ? KP_OK
			    : kp_fault_say(error, KP_NO_MEMORY, "memory is exhausted");
}

int kp_weight_new(struct kp_site *front, const char *role, const struct kp_tensor *tensor,
	struct kp_weight **out, struct kp_error *error)
{
	owned_calm calm = kp_calm_begin();
	struct kp_inner_site *site = kp_site_inner(front);
	int index;

	if (kp_handle_is_forked(site->handle))
		return kp_handle_forked(error);
	index = find_role(site, role);
	if (index < 0 || tensor->ndim < 0 || tensor->ndim > KP_FAMILY_RANK)
		return kp_fault_say(error, KP_INVALID, "%s has no role %s of %d dims",
			site->contract->operation, role, tensor->ndim);
	if (site->device->device.type != KP_DEVICE_CPU)
		return kp_fault_say(
			error, KP_UNSUPPORTED, "weights are laid out for a CPU only");
	struct kp_weight *weight = calloc(1, sizeof(*weight));
	if (!weight)
		return kp_fault_say(error, KP_NO_MEMORY, "memory is exhausted");
	weight->handle = site->handle;
	keep_tensor(weight, tensor);
	int status = fill(weight, site, (uint32_t)index, error);
	if (status != KP_OK) {
		kp_weight_free(weight);
		return kp_status_known(status);
	}
	*out = weight;
	return KP_OK;
}

const struct kp_tensor *kp_weight_tensor(const struct kp_weight *weight)
{
	return &weight->tensor;
}

void kp_weight_free(struct kp_weight *weight)
{
	owned_calm calm = kp_calm_begin();
	if (!weight || kp_handle_is_forked(weight->handle))
		return;
	if (weight->link)
		leave(weight);
	if (weight->hold)
		(void)kp_hold_drop(weight->handle, weight->hold);
	free(weight->memory);
	free(weight);
}
