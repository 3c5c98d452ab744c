/* SPDX-License-Identifier: MIT */
/* Events, graphs and samples on a GPU. */
#include "daemon/worker/measure_gpu.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/worker/measure_result.h"
#include "daemon/worker/measure_sets.h"
#include "lib/base/clock.h"
#include "lib/family/element.h"
#include "lib/plugin/abi.h"

enum {
	WARMUP = 5,
	BATCH = 10, /* calls of a sample, where one is short */
	GRAPHS = 64,
	COPIES = 5,
	COPY_MOST = 256 << 20,
	CAPTURE_THREAD = 1,
};
static const double short_us = 50;
static const double copy_slack = 1.05;

struct timing {
	struct measure_kernel *kernel;
	struct measure_case *c;
	const struct measure_wish *wish;
	struct measure_gpu *gpu;
	struct measure_sets sets;
	void *from, *to; /* events */
	size_t next;	 /* set */
	unsigned repeats;
	size_t n_graphs, next_graph;
	void *graphs[GRAPHS];
};

static const struct cuda *cuda_of(const struct timing *t)
{
	return &t->c->device->cuda;
}

/* ---- events ------------------------------------------------------------------------ */

static int begin(struct timing *t, struct kp_diag *diag)
{
	const struct cuda *cuda = cuda_of(t);

	return cuda_check(cuda, cuda->event_record(t->from, t->c->device->stream),
		"cuEventRecord", diag);
}

static int end(struct timing *t, double *us, struct kp_diag *diag)
{
	const struct cuda *cuda = cuda_of(t);
	float ms = 0;

	if (cuda_check(cuda, cuda->event_record(t->to, t->c->device->stream),
		    "cuEventRecord", diag) < 0 ||
		cuda_check(cuda, cuda->event_wait(t->to), "cuEventSynchronize", diag) <
			0 ||
		cuda_check(cuda, cuda->event_elapsed(&ms, t->from, t->to),
			"cuEventElapsedTime", diag) < 0)
		return -1;
	*us = 1e3 * (double)ms;
	return 0;
}

/* ---- calls ------------------------------------------------------------------------- */

/* With the next set. */
static int call(struct timing *t, struct kp_diag *diag)
{
	struct measure_kernel *kernel = t->kernel;

	kernel->call.tensors = t->sets.items[t->next].tensors;
	t->next = (t->next + 1) % t->sets.count;
	kp_error_reset(&kernel->error);
	int status = measure_kernel_call(kernel);
	kernel->call.tensors = t->c->tensors;
	return measure_kernel_judge(kernel, "run", status, diag);
}

static int call_all(struct timing *t, struct kp_diag *diag)
{
	for (unsigned i = 0; i < t->repeats; i++)
		if (call(t, diag) < 0)
			return -1;
	return 0;
}

static int launch_graph(struct timing *t, struct kp_diag *diag)
{
	const struct cuda *cuda = cuda_of(t);
	void *graph = t->graphs[t->next_graph];

	t->next_graph = (t->next_graph + 1) % t->n_graphs;
	return cuda_check(cuda, cuda->graph_launch(graph, t->c->device->stream),
		"cuGraphLaunch", diag);
}

static int take_sample(struct timing *t, double *us, struct kp_diag *diag)
{
	if (begin(t, diag) < 0 ||
		(t->n_graphs > 0 ? launch_graph(t, diag) : call_all(t, diag)) < 0 ||
		end(t, us, diag) < 0)
		return -1;
	*us /= t->repeats;
	return 0;
}

/* ---- graphs ------------------------------------------------------------------------ */

static bool is_capturable(const struct measure_kernel *kernel)
{
	for (size_t i = 0; i < kernel->note.n_kernels; i++)
		if (loaded_kernel(&kernel->loaded, kernel->note.kernels[i].name) ==
			kernel->functions)
			return kernel->note.kernels[i].flags & KP_FLAG_CAPTURABLE;
	return false;
}

static int capture(struct timing *t, void **exec, struct kp_diag *diag)
{
	const struct cuda *cuda = cuda_of(t);
	void *stream = t->c->device->stream, *graph = NULL;

	if (cuda_check(cuda, cuda->capture_begin(stream, CAPTURE_THREAD),
		    "cuStreamBeginCapture", diag) < 0)
		return -1;
	int failed = call_all(t, diag);
	int ended = cuda->capture_end(stream, &graph);
	if (failed || cuda_check(cuda, ended, "cuStreamEndCapture", diag) < 0)
		return -1;
	failed = cuda_check(cuda, cuda->graph_instantiate(exec, graph, 0),
		"cuGraphInstantiate", diag);
	(void)cuda->graph_destroy(graph);
	return failed;
}

/* Enough of them that all sets are used. */
static int make_graphs(struct timing *t, struct kp_diag *diag)
{
	size_t wanted = (t->sets.count + BATCH - 1) / BATCH;
	struct kp_diag cause;

	for (size_t i = 0; i < wanted && i < GRAPHS; i++) {
		if (capture(t, &t->graphs[i], &cause) < 0)
			return kp_diag_set(diag, "error", "capturable",
				"it says that it is capturable, and is not: %s",
				cause.message);
		t->n_graphs++;
	}
	t->gpu->is_graph = true;
	return 0;
}

/* ---- before ------------------------------------------------------------------------ */

static int warm_up(struct timing *t, struct measure_times *times, struct kp_diag *diag)
{
	double us = 0, fastest = 1e30;

	t->repeats = 1;
	for (unsigned i = 0; i < WARMUP; i++) {
		if (take_sample(t, &us, diag) < 0)
			return -1;
		fastest = us < fastest ? us : fastest;
		times->warmup++;
	}
	if (fastest < short_us) {
		t->repeats = BATCH;
		if (is_capturable(t->kernel) && make_graphs(t, diag) < 0)
			return -1;
	}
	times->repeats = t->repeats;
	return t->c->device->kind->wait(t->c->device, diag);
}

/* Bytes read and written in a second, the best of some copies. */
static int measure_copy(struct timing *t, struct kp_diag *diag)
{
	const struct device_kind *kind = t->c->device->kind;
	const struct cuda *cuda = cuda_of(t);
	size_t free = 0, total = 0;
	double us = 0, best = 1e30;

	if (cuda_check(cuda, cuda->memory(&free, &total), "cuMemGetInfo", diag) < 0)
		return -1;
	size_t bytes = free / 8 < COPY_MOST ? free / 8 : COPY_MOST;
	struct device_piece piece = {.name = "copies", .bytes = 2 * bytes};
	if (kind->place(t->c->device, &piece, diag) < 0)
		return -1;
	cuda_pointer at = (cuda_pointer)(uintptr_t)piece.address;
	int failed = 0;
	for (unsigned i = 0; i < COPIES && !failed; i++) {
		failed = begin(t, diag) < 0 ||
			 cuda_check(cuda,
				 cuda->copy(at + bytes, at, bytes, t->c->device->stream),
				 "cuMemcpyDtoD", diag) < 0 ||
			 end(t, &us, diag) < 0;
		best = us < best ? us : best;
	}
	kind->drop(t->c->device, &piece);
	if (!failed && best > 0)
		t->gpu->copy_gbytes_per_s = 2 * (double)bytes / best * 1e-3;
	return failed ? -1 : 0;
}

static int prepare(struct timing *t, struct kp_diag *diag)
{
	const struct device *device = t->c->device;
	const struct cuda *cuda = cuda_of(t);
	int khz = 0;

	if (cuda_check(cuda, cuda->event_create(&t->from, 0), "cuEventCreate", diag) <
			0 ||
		cuda_check(cuda, cuda->event_create(&t->to, 0), "cuEventCreate", diag) <
			0 ||
		measure_copy(t, diag) < 0 || measure_sets_init(&t->sets, t->c, diag) < 0)
		return -1;
	if (cuda->attribute(&khz, CUDA_CLOCK_KHZ, device->number) == 0)
		t->gpu->clock_mhz = khz / 1e3;
	t->gpu->sets = t->sets.count;
	t->gpu->is_cold = t->sets.is_cold;
	return 0;
}

static void finish(struct timing *t)
{
	const struct cuda *cuda = cuda_of(t);

	while (t->n_graphs > 0)
		(void)cuda->graph_exec_destroy(t->graphs[--t->n_graphs]);
	if (t->from)
		(void)cuda->event_destroy(t->from);
	if (t->to)
		(void)cuda->event_destroy(t->to);
	measure_sets_finish(&t->sets, t->c);
}

/* ---- samples ----------------------------------------------------------------------- */

/* On the tensors of the case, after others. */
static int check(struct timing *t, struct kp_diag *diag)
{
	if (measure_case_poison(t->c, diag) < 0 ||
		measure_kernel_run(t->kernel, diag) < 0)
		return -1;
	return measure_result_check(t->c, diag);
}

static int take_samples(
	struct timing *t, double *samples, size_t *count, struct kp_diag *diag)
{
	double start = kp_clock_s();
	size_t n = 0;

	while (measure_wants_more(n, kp_clock_s() - start, t->wish)) {
		if (take_sample(t, &samples[n++], diag) < 0)
			return -1;
		if ((n & (n - 1)) == 0 && check(t, diag) < 0)
			return -1;
	}
	*count = n;
	return 0;
}

/* ---- plausible? -------------------------------------------------------------------- */

/* Do the family's terms hold? They are those of the defaults. */
static bool is_usual(const struct measure_case *c)
{
	for (size_t i = 0; i < c->family.n_attributes; i++) {
		const struct kp_attribute *attribute = &c->family.attributes[i];
		double value = attribute->type == KP_ATTRIBUTE_FLOAT
				       ? c->attributes[i].f
				       : (double)c->attributes[i].i;
		if (value < attribute->preset || value > attribute->preset)
			return false;
	}
	return true;
}

static double traffic(const struct measure_case *c)
{
	double bytes = 0;

	for (size_t i = 0; i < c->family.n_roles; i++) {
		const struct kp_role *role = &c->family.roles[i];
		double times = role->direction == KP_INOUT ? 2 : 1;
		if (c->tensors[i])
			bytes += times * kp_family_touched(&c->family, &c->shape, role) *
				 (double)kp_element_bytes(c->plain[i].element);
	}
	return bytes;
}

/* What is in a cache may come faster: then nobody can tell. */
static int check_rate(const struct timing *t, double median_us, struct kp_diag *diag)
{
	double rate = traffic(t->c) / median_us * 1e-3;

	if (!t->gpu->is_cold || !is_usual(t->c) || !(t->gpu->copy_gbytes_per_s > 0) ||
		rate <= copy_slack * t->gpu->copy_gbytes_per_s)
		return 0;
	return kp_diag_set(diag, "error", "rate",
		"implausible: it moves %.4g GB/s, and this device copies %.4g", rate,
		t->gpu->copy_gbytes_per_s);
}

/* ---- all --------------------------------------------------------------------------- */

static int time_all(struct timing *t, struct measure_times *times, double *samples,
	struct kp_diag *diag)
{
	size_t count = 0;

	if (prepare(t, diag) < 0 || warm_up(t, times, diag) < 0 ||
		take_samples(t, samples, &count, diag) < 0)
		return -1;
	measure_keep(samples, count, t->wish, times);
	if (!kp_stats_of(samples, count, &times->stats))
		return kp_diag_set(diag, "error", NULL, "the clock gave no times");
	return check_rate(t, times->stats.median, diag);
}

int measure_gpu_time(struct measure_kernel *kernel, struct measure_case *c,
	const struct measure_wish *wish, struct measure_times *times,
	struct measure_gpu *gpu, struct kp_diag *diag)
{
	struct timing t = {.kernel = kernel, .c = c, .wish = wish, .gpu = gpu};
	double *samples = calloc(MEASURE_SAMPLES_MOST, sizeof(*samples));

	*times = (struct measure_times){0};
	*gpu = (struct measure_gpu){0};
	if (!samples)
		return kp_diag_set(diag, "error", NULL, "memory is exhausted");
	int failed = time_all(&t, times, samples, diag);
	finish(&t);
	free(samples);
	return failed;
}
