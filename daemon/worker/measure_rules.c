/* SPDX-License-Identifier: MIT */
/* Calls that a host never makes, and what a kernel does with them. */
#include "daemon/worker/measure_rules.h"

#include <dirent.h>
#include <malloc.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include "lib/base/json.h"
#include "lib/plugin/abi.h"

enum { SENTENCE = 512 };

static int __attribute__((format(printf, 3, 4)))
find(json_t *findings, struct kp_diag *diag, const char *format, ...)
{
	char text[SENTENCE];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return json_array_append_new(findings, kp_json_clean_string(text)) < 0
		       ? kp_diag_no_memory(diag)
		       : 0;
}

/* ---- need -------------------------------------------------------------------------- */

/* Contiguous tensors without data, for the roles that the case has. */
struct hollow {
	struct kp_layout layouts[KP_FAMILY_ROLES];
	struct kp_tensor memory[KP_FAMILY_ROLES];
	const struct kp_tensor *tensors[KP_FAMILY_ROLES];
};

static int hollow_init(struct hollow *hollow, const struct measure_case *c,
	const struct kp_shape *shape, struct kp_diag *diag)
{
	*hollow = (struct hollow){.tensors = {NULL}};
	for (size_t i = 0; i < c->family.n_roles; i++) {
		struct kp_format format;
		if (!c->tensors[i] ||
			!kp_family_format(&c->family.roles[i], &c->signature, &format))
			continue;
		if (kp_layout_of_role(&c->family.roles[i], shape, &format,
			    &hollow->layouts[i], diag) < 0)
			return -1;
		hollow->memory[i] = kp_layout_tensor(&hollow->layouts[i], NULL);
		hollow->tensors[i] = &hollow->memory[i];
	}
	return 0;
}

static bool asks(struct measure_kernel *kernel, const struct measure_case *c,
	const struct kp_shape *shape, struct kp_need *need)
{
	struct hollow hollow;

	return hollow_init(&hollow, c, shape, NULL) == 0 &&
	       measure_kernel_need(kernel, hollow.tensors, need, NULL) == 0;
}

/* What fell, and from what to what. */
static int compare(const struct kp_need *before, const struct kp_need *after,
	const char *dim, int64_t from, int64_t to, json_t *findings, struct kp_diag *diag)
{
	const struct {
		const char *what;
		uint64_t before, after;
	} all[] = {
		{"bytes of workspace", before->workspace_bytes, after->workspace_bytes},
		{"bytes of plan", before->plan_bytes, after->plan_bytes},
		{"bytes of host_plan", before->host_plan_bytes, after->host_plan_bytes},
		{"as the workspace's alignment", before->workspace_align,
			after->workspace_align},
		{"as the plan's alignment", before->plan_align, after->plan_align},
		{"as the host_plan's alignment", before->host_plan_align,
			after->host_plan_align},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].after < all[i].before)
			return find(findings, diag,
				"need falls as %s grows: with %lld it asks for %llu %s, "
				"with %lld for %llu; a host asks once, for the largest",
				dim, (long long)from, (unsigned long long)all[i].before,
				all[i].what, (long long)to,
				(unsigned long long)all[i].after);
	return 0;
}

int measure_rules_need(struct measure_kernel *kernel, const struct measure_case *c,
	const json_t *grown, json_t *findings, struct kp_diag *diag)
{
	struct kp_need base, before;
	const char *last = "";
	int64_t from = 0;
	size_t i;
	const json_t *item;

	if (!kernel->functions->need || !asks(kernel, c, &c->shape, &base))
		return 0;
	before = base;
	json_array_foreach (grown, i, item) {
		const char *dim = kp_json_text(item, "dim");
		struct kp_shape shape = {0};
		struct kp_need after;
		if (!dim || kp_shape_from_json(json_object_get(item, "shape"), &c->family,
				    &shape, diag) < 0)
			continue;
		if (strcmp(dim, last) != 0) {
			before = base;
			from = kp_shape_get(&c->shape, dim);
		}
		last = dim;
		if (!asks(kernel, c, &shape, &after))
			continue;
		if (compare(&before, &after, dim, from, kp_shape_get(&shape, dim),
			    findings, diag) < 0)
			return -1;
		before = after;
		from = kp_shape_get(&shape, dim);
	}
	return 0;
}

/* ---- plans ------------------------------------------------------------------------- */

/* Runs it with what must be refused. */
static int expect_stale(struct measure_kernel *kernel, const char *what, json_t *findings,
	struct kp_diag *diag)
{
	char status[64];

	kp_error_reset(&kernel->error);
	int raw = measure_kernel_call(kernel);
	if (kernel->device->kind->wait(kernel->device, diag) < 0)
		return -1;
	if (raw == KP_STALE)
		return 0;
	return find(findings, diag, "run with %s returns %s, not KP_STALE", what,
		kp_status_text(raw, status, sizeof(status)));
}

static int run_older(
	struct measure_kernel *kernel, json_t *findings, struct kp_diag *diag)
{
	kernel->call.generation++;
	int failed =
		expect_stale(kernel, "its plan of the generation before", findings, diag);
	kernel->call.generation--;
	return failed;
}

/* Memory that both kernels can plan in. */
static int share_plan(struct measure_case *c, const struct kp_call *mine,
	const struct kp_need *theirs, struct kp_call *call, struct kp_diag *diag)
{
	const size_t align = 4096;

	call->plan_bytes = theirs->plan_bytes > mine->plan_bytes ? theirs->plan_bytes
								 : mine->plan_bytes;
	call->host_plan_bytes = theirs->host_plan_bytes > mine->host_plan_bytes
					? theirs->host_plan_bytes
					: mine->host_plan_bytes;
	const struct device_piece *piece =
		measure_case_add(c, "foreign plan", call->plan_bytes, align, diag);
	const struct fence *fence = fence_add(
		&c->fences, "foreign host_plan", call->host_plan_bytes, align, diag);
	if (!piece || !fence)
		return -1;
	call->plan = call->plan_bytes > 0 ? piece->address : NULL;
	call->host_plan = call->host_plan_bytes > 0 ? fence->data : NULL;
	return 0;
}

/* Has another kernel plan; false where it cannot. */
static bool plan_as(struct measure_kernel *kernel, struct measure_case *c,
	const struct kp_kernel *other, struct kp_call *call)
{
	struct kp_need need = {.size = (uint32_t)sizeof(need)};
	void *device_state = NULL;
	struct kp_diag ignored;

	kp_error_reset(&kernel->error);
	if (other->load && other->load(call->state, &kernel->device->told, &device_state,
				   &kernel->error) != KP_OK)
		return false;
	call->device_state = device_state;
	bool planned = (!other->need || other->need(call, &need) == KP_OK) &&
		       share_plan(c, &kernel->call, &need, call, &ignored) == 0 &&
		       other->plan(call) == KP_OK;
	if (other->unload)
		other->unload(call->state, device_state);
	return planned;
}

static int run_foreign(struct measure_kernel *kernel, struct measure_case *c,
	const struct kp_spec *spec, json_t *findings, struct kp_diag *diag)
{
	const struct kp_kernel *other = loaded_kernel(&kernel->loaded, spec->name);
	const struct kp_call mine = kernel->call;
	struct kp_call call = mine;
	char what[160];

	if (other == kernel->functions || !other->plan ||
		strcmp(spec->operation, c->family.operation) != 0 ||
		!plan_as(kernel, c, other, &call))
		return 0;
	call.device_state = mine.device_state;
	kernel->call = call;
	(void)snprintf(what, sizeof(what), "a plan of %s", spec->name);
	int failed = expect_stale(kernel, what, findings, diag);
	kernel->call = mine;
	return failed;
}

static int run_unplanned(
	struct measure_kernel *kernel, json_t *findings, struct kp_diag *diag)
{
	const struct kp_call *call = &kernel->call;

	if (call->plan_bytes == 0 && call->host_plan_bytes == 0)
		return 0;
	if (kernel->plan &&
		kernel->device->kind->soil(kernel->device, kernel->plan, diag) < 0)
		return -1;
	if (call->host_plan_bytes > 0)
		memset(call->host_plan, 0xff, call->host_plan_bytes);
	return expect_stale(kernel, "a plan that it never made", findings, diag);
}

int measure_rules_plan(struct measure_kernel *kernel, struct measure_case *c,
	json_t *findings, struct kp_diag *diag)
{
	if (!kernel->functions->plan)
		return 0;
	if (run_older(kernel, findings, diag) < 0)
		return -1;
	for (size_t i = 0; i < kernel->note.n_kernels; i++)
		if (run_foreign(kernel, c, &kernel->note.kernels[i], findings, diag) < 0)
			return -1;
	return run_unplanned(kernel, findings, diag);
}

/* ---- run ------------------------------------------------------------------------- */

enum { CALLS = 8 };

/* Of this process; 0 where nobody can tell. */
static size_t count_threads(void)
{
	DIR *tasks = opendir("/proc/self/task");
	size_t count = 0;

	if (!tasks)
		return 0;
	for (const struct dirent *task; (task = readdir(tasks));)
		count += task->d_name[0] != '.';
	(void)closedir(tasks);
	return count;
}

/* In bytes; 0 where another allocator keeps the accounts. */
static size_t heap_in_use(void)
{
	struct mallinfo2 heap = mallinfo2();

	return heap.uordblks + heap.hblkhd;
}

/* Less than one for each call may be anything: a pool that grows once, a cache. */
int measure_rules_run(
	struct measure_kernel *kernel, json_t *findings, struct kp_diag *diag)
{
	size_t threads = count_threads(), heap = heap_in_use();

	for (int i = 0; i < CALLS; i++)
		if (measure_kernel_run(kernel, diag) < 0)
			return -1;
	size_t heap_now = heap_in_use(), threads_now = count_threads();
	/* A thread has memory of its own: that is no second fault. */
	if (threads_now >= threads + CALLS)
		return find(findings, diag,
			"run starts threads that stay: %zu more %d calls later; a host "
			"lends threads by parallel_for",
			threads_now - threads, CALLS);
	if (heap_now < heap + CALLS * sizeof(max_align_t))
		return 0;
	return find(findings, diag,
		"run takes memory that it never gives back: %zu bytes more in use %d "
		"calls later",
		heap_now - heap, CALLS);
}
