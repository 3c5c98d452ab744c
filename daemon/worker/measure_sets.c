/* SPDX-License-Identifier: MIT */
/* Sets in one piece of memory: a few are filled, the others are copies of those. */
#include "daemon/worker/measure_sets.h"

#include <stdlib.h>

#include "lib/family/element.h"
#include "lib/family/fill.h"

enum { SETS_MOST = 4096, CACHES = 5, FILLED = 4, ALIGN = 256 };

static size_t rounded(size_t bytes)
{
	return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

/* Only what lies on the device is there several times. */
static bool is_repeated(const struct measure_case *c, size_t role)
{
	return c->tensors[role] && c->family.roles[role].space != KP_SPACE_HOST;
}

static size_t bytes_of(const struct measure_case *c)
{
	size_t bytes = 0;

	for (size_t i = 0; i < c->family.n_roles; i++)
		if (is_repeated(c, i))
			bytes += rounded(c->layouts[i].bytes);
	return bytes;
}

static size_t count_of(const struct measure_sets *sets, size_t free)
{
	size_t wanted =
		sets->bytes > 0
			? (CACHES * sets->cache + sets->bytes - 1) / sets->bytes + 1
			: 1;
	size_t most = sets->bytes > 0 ? free / 4 / sets->bytes + 1 : 1;

	wanted = wanted < SETS_MOST ? wanted : SETS_MOST;
	return wanted < most ? wanted : most;
}

static int ask(
	struct measure_sets *sets, const struct measure_case *c, struct kp_diag *diag)
{
	const struct device *device = c->device;
	const struct cuda *cuda = &device->cuda;
	size_t free = 0, total = 0;
	int cache = 0;

	if (cuda_check(cuda, cuda->attribute(&cache, CUDA_L2_BYTES, device->number),
		    "cuDeviceGetAttribute", diag) < 0 ||
		cuda_check(cuda, cuda->memory(&free, &total), "cuMemGetInfo", diag) < 0)
		return -1;
	sets->cache = cache > 0 ? (size_t)cache : 0;
	sets->bytes = bytes_of(c);
	sets->count = count_of(sets, free);
	sets->is_cold = sets->count * sets->bytes > CACHES * sets->cache;
	return 0;
}

/* Where set `index` (from 1) has its tensors. */
static void lay_out(struct measure_sets *sets, struct measure_case *c, size_t index)
{
	struct measure_set *set = &sets->items[index];
	char *at = (char *)sets->arena.address + (index - 1) * sets->bytes;

	for (size_t i = 0; i < c->family.n_roles; i++) {
		set->tensors[i] = c->tensors[i];
		if (!is_repeated(c, i))
			continue;
		set->passed[i] = c->passed[i];
		set->passed[i].data = at;
		set->tensors[i] = &set->passed[i];
		at += rounded(c->layouts[i].bytes);
	}
}

static int fill_role(const struct measure_case *c, const struct measure_set *set,
	size_t role, uint64_t seed, struct kp_diag *diag)
{
	const struct cuda *cuda = &c->device->cuda;
	size_t bytes = c->layouts[role].bytes;
	struct kp_tensor tensor = c->memory[role];
	cuda_pointer to = (cuda_pointer)(uintptr_t)set->passed[role].data;

	if (bytes == 0 || c->family.roles[role].direction == KP_OUT)
		return 0;
	tensor.data = calloc(1, bytes);
	if (!tensor.data)
		return kp_diag_no_memory(diag);
	if (!kp_element_is_real(c->plain[role].element))
		seed = c->seed;
	int failed = kp_fill(&c->family, &c->family.roles[role], &c->shape, seed, &tensor,
			     diag) < 0 ||
		     cuda_check(cuda, cuda->put(to, tensor.data, bytes), "cuMemcpyHtoD",
			     diag) < 0;
	free(tensor.data);
	return failed ? -1 : 0;
}

static int fill_set(struct measure_sets *sets, struct measure_case *c, size_t index,
	struct kp_diag *diag)
{
	const struct cuda *cuda = &c->device->cuda;
	cuda_pointer arena = (cuda_pointer)(uintptr_t)sets->arena.address;
	size_t from = (index - 1) % FILLED;

	if (index > FILLED)
		return cuda_check(cuda,
			cuda->copy(arena + (index - 1) * sets->bytes,
				arena + from * sets->bytes, sets->bytes,
				c->device->stream),
			"cuMemcpyDtoD", diag);
	for (size_t i = 0; i < c->family.n_roles; i++)
		if (is_repeated(c, i) &&
			fill_role(c, &sets->items[index], i, c->seed + index, diag) < 0)
			return -1;
	return 0;
}

int measure_sets_init(
	struct measure_sets *sets, struct measure_case *c, struct kp_diag *diag)
{
	*sets = (struct measure_sets){.count = 1};
	if (ask(sets, c, diag) < 0)
		return -1;
	sets->items = calloc(sets->count, sizeof(*sets->items));
	if (!sets->items)
		return kp_diag_no_memory(diag);
	for (size_t i = 0; i < c->family.n_roles; i++)
		sets->items[0].tensors[i] = c->tensors[i];
	if (sets->count == 1)
		return 0;
	sets->arena = (struct device_piece){
		.name = "input sets", .bytes = (sets->count - 1) * sets->bytes};
	if (c->device->kind->place(c->device, &sets->arena, diag) < 0)
		return -1;
	for (size_t i = 1; i < sets->count; i++) {
		lay_out(sets, c, i);
		if (fill_set(sets, c, i, diag) < 0)
			return -1;
	}
	return c->device->kind->wait(c->device, diag);
}

void measure_sets_finish(struct measure_sets *sets, struct measure_case *c)
{
	c->device->kind->drop(c->device, &sets->arena);
	free(sets->items);
	*sets = (struct measure_sets){.count = 0};
}
