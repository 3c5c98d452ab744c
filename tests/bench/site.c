/* SPDX-License-Identifier: MIT */
/*
 * Calls through sites against calls through a function pointer in memory. Prints the
 * unit, then pairs. usage: site MODE PAIRS SOCKET
 *
 * check:    only the comparison of generations, then the call
 * call:     kp_run
 * least:    kp_run of a function that looks at its arguments and writes one number
 *
 * check and call run what is selected for the square of 16 numbers, the smallest call
 * that a shipped kernel is asked for.
 * two:      kp_run in two threads on one site, against one
 * validate: what checking three tensors of two dims adds; without a peer: 0
 * resolve:  a first resolution; without a peer
 * attach:   kp_open; without a peer
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kplug/host.h"

enum { CALLS = 20000, SLICES = 8, EXTENT = 8, FEW = 16, RESOLUTIONS = 200 };

static const char note[] =
	"{\"name\":\"nothing\",\"operation\":\"gemm/mm\",\"priority\":19,"
	"\"signatures\":[\"a=f32,b=f32,c=f32\"],\"capability\":{\"device\":\"cpu\"},"
	"\"flags\":[\"reentrant\"]}";

static struct kp_handle *handle;
static _Alignas(64) float memory[3][EXTENT * EXTENT];
static int64_t shape[2] = {EXTENT, EXTENT}, strides[2] = {EXTENT, 1};
static struct kp_tensor tensors[3];
static const struct kp_tensor *const list[3] = {&tensors[0], &tensors[1], &tensors[2]};
static struct kp_tensor few[2];
static const struct kp_tensor *const few_list[2] = {&few[0], &few[1]};
static int64_t few_shape = FEW, few_stride = 1;
/* Where a program without kplug would keep it. */
static int (*pointer)(const struct kp_call *call);

static _Noreturn void die(const char *what, const char *why)
{
	(void)fprintf(stderr, "site: %s: %s\n", what, why);
	exit(1);
}

static int64_t now_ns(clockid_t clock)
{
	struct timespec t;
	(void)clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The least that a kernel does: looks at what it got, and writes one number. */
static __attribute__((noinline, aligned(64))) int nothing(const struct kp_call *call)
{
	const struct kp_tensor *a = call->tensors[0], *b = call->tensors[1],
			       *c = call->tensors[2];

	if (call->n_tensors != 3 || a->shape[1] != b->shape[0] ||
		a->shape[0] != c->shape[0] || b->shape[1] != c->shape[1])
		return KP_INVALID;
	*(float *)c->data = *(const float *)a->data * *(const float *)b->data;
	return KP_OK;
}

static const struct kp_kernel kernel = {KP_SIZED(struct kp_kernel), .run = nothing};

/* ---- set-up ------------------------------------------------------------------------ */

static struct kp_handle *open_handle(const char *socket)
{
	struct kp_error error = {.size = sizeof(error)};
	struct kp_options options = {.size = sizeof(options), .socket = socket};
	struct kp_handle *opened;

	if (kp_open(&options, &opened, &error) != KP_OK)
		die("kp_open", error.text);
	return opened;
}

static struct kp_site *make_site(const char *operation, uint32_t flags)
{
	struct kp_error error = {.size = sizeof(error)};
	struct kp_site_options options = {
		.size = sizeof(options), .flags = flags, .operation = operation};
	struct kp_site *site;

	if (kp_site_new(handle, &options, &site, &error) != KP_OK)
		die("kp_site_new", error.text);
	return site;
}

static void set_up(const char *socket)
{
	struct kp_error error = {.size = sizeof(error)};

	handle = open_handle(socket);
	if (kp_local_add(handle, note, &kernel, &error) != KP_OK)
		die("kp_local_add", error.text);
	for (int i = 0; i < 3; i++)
		tensors[i] = (struct kp_tensor){.data = memory[i],
			.device = {KP_DEVICE_CPU, 0},
			.ndim = 2,
			.dtype = {KP_CODE_FLOAT, 32, 1},
			.shape = shape,
			.strides = strides};
	for (int i = 0; i < 2; i++)
		few[i] = (struct kp_tensor){.data = memory[i],
			.device = {KP_DEVICE_CPU, 0},
			.ndim = 1,
			.dtype = {KP_CODE_FLOAT, 32, 1},
			.shape = &few_shape,
			.strides = &few_stride};
	pointer = nothing;
}

static bool is_few; /* the calls are of the square */

static void make_call(struct kp_site *site, struct kp_call *call)
{
	(void)kp_call_init(site, call);
	call->tensors = is_few ? few_list : list;
	call->n_tensors = is_few ? 2 : 3;
	if (kp_run(site, call) != KP_OK)
		die("kp_run", "the first call failed");
}

/* ---- the ways of a call -------------------------------------------------------------
 */

typedef double way(struct kp_site *site, struct kp_call *call);

#define LOOP(name, expression)                                                           \
	static __attribute__((noinline, aligned(64))) double name(                       \
		struct kp_site *site, struct kp_call *call)                              \
	{                                                                                \
		int64_t from = now_ns(CLOCK_THREAD_CPUTIME_ID);                          \
		int failed = 0;                                                          \
		(void)site;                                                              \
		for (int i = 0; i < CALLS; i++)                                          \
			failed |= (expression);                                          \
		if (failed)                                                              \
			die(#name, "a call failed");                                     \
		return (double)(now_ns(CLOCK_THREAD_CPUTIME_ID) - from) / CALLS;         \
	}

static inline int run_checked(struct kp_site *site, struct kp_call *call)
{
	const uint64_t now = __atomic_load_n(site->now, __ATOMIC_RELAXED);

	if (__builtin_expect(now == __atomic_load_n(&site->seen, __ATOMIC_ACQUIRE), 1))
		return __atomic_load_n(&site->rung, __ATOMIC_RELAXED)->run(call);
	return kp_run_slow(site, call);
}

LOOP(time_pointer, __atomic_load_n(&pointer, __ATOMIC_RELAXED)(call))
LOOP(time_checked, run_checked(site, call))
LOOP(time_run, kp_run(site, call))

/* In slices, in turn, so that what the machine does meanwhile meets both. */
static void pair(
	way *ours, struct kp_site *of, way *theirs, struct kp_site *other, double sums[2])
{
	struct kp_call calls[2];

	make_call(of, &calls[0]);
	make_call(other, &calls[1]);
	sums[0] = sums[1] = 0;
	for (int i = 0; i < SLICES; i++) {
		sums[0] += ours(of, &calls[0]) / SLICES;
		sums[1] += theirs(other, &calls[1]) / SLICES;
	}
}

static void compare(way *ours, const char *operation, int pairs)
{
	struct kp_site *site = make_site(operation, KP_SITE_CHECKED);
	way *const theirs = time_pointer;
	struct kp_call call;
	double sums[2];

	is_few = strcmp(operation, "gemm/mm") != 0;
	make_call(site, &call);
	pointer = site->rung->run;

	(void)puts("ns");
	pair(ours, site, theirs, site, sums);
	for (int i = 0; i < pairs; i++) {
		pair(ours, site, theirs, site, sums);
		(void)printf("%.4f %.4f\n", sums[0], sums[1]);
	}
}

static void validate(int pairs)
{
	struct kp_site *checked = make_site("gemm/mm", KP_SITE_CHECKED);
	struct kp_site *whole = make_site("gemm/mm", 0);
	double sums[2];

	(void)puts("ns");
	pair(time_run, whole, time_run, checked, sums);
	for (int i = 0; i < pairs; i++) {
		pair(time_run, whole, time_run, checked, sums);
		(void)printf("%.4f 0\n", sums[0] - sums[1]);
	}
}

/* ---- two threads --------------------------------------------------------------------
 */

struct together {
	struct kp_site *site;
	double ns;
	pthread_barrier_t *start;
};

static void *run_together(void *context)
{
	struct together *together = context;
	struct kp_call call;
	/* A result of one's own: what is shared is the site. */
	_Alignas(64) float own[16];
	struct kp_tensor c = tensors[2];
	const struct kp_tensor *mine[3] = {&tensors[0], &tensors[1], &c};

	c.data = own;
	make_call(together->site, &call);
	call.tensors = mine;
	(void)pthread_barrier_wait(together->start);
	together->ns = 0;
	for (int i = 0; i < SLICES; i++)
		together->ns += time_run(together->site, &call) / SLICES;
	return NULL;
}

static double time_threads(struct kp_site *site, unsigned count)
{
	struct together together[2];
	pthread_t threads[2];
	pthread_barrier_t start;
	double sum = 0;

	(void)pthread_barrier_init(&start, NULL, count);
	for (unsigned i = 0; i < count; i++) {
		together[i] = (struct together){site, 0, &start};
		if (pthread_create(&threads[i], NULL, run_together, &together[i]) != 0)
			die("two", "no thread");
	}
	for (unsigned i = 0; i < count; i++) {
		(void)pthread_join(threads[i], NULL);
		sum += together[i].ns / count;
	}
	(void)pthread_barrier_destroy(&start);
	return sum;
}

static void two(int pairs)
{
	struct kp_site *site = make_site("gemm/mm", KP_SITE_CHECKED);

	(void)puts("ns");
	for (int i = 0; i < pairs; i++) {
		double both = time_threads(site, 2);
		(void)printf("%.4f %.4f\n", both, time_threads(site, 1));
	}
}

/* ---- resolving and attaching ---------------------------------------------------------
 */

/* Sites that have not called yet, each: the code of their kernel is there. */
static void resolve(int pairs)
{
	struct kp_site *sites[RESOLUTIONS];
	struct kp_site *first = make_site("elementwise/square", KP_SITE_CHECKED);
	const int64_t dims[] = {4096};

	if (!kp_site_kernel(first, dims))
		die("resolve", "nothing is eligible");
	(void)puts("us");
	for (int i = 0; i < pairs; i++) {
		for (int j = 0; j < RESOLUTIONS; j++)
			sites[j] = make_site("elementwise/square", KP_SITE_CHECKED);
		int64_t from = now_ns(CLOCK_THREAD_CPUTIME_ID);
		for (int j = 0; j < RESOLUTIONS; j++)
			if (!kp_site_kernel(sites[j], dims))
				die("resolve", "nothing is eligible");
		int64_t took = now_ns(CLOCK_THREAD_CPUTIME_ID) - from;
		(void)printf("%.4f 0\n", (double)took / RESOLUTIONS / 1000);
		for (int j = 0; j < RESOLUTIONS; j++)
			kp_site_free(sites[j]);
	}
}

static void attach(int pairs, const char *socket)
{
	(void)puts("ms");
	for (int i = 0; i < pairs; i++) {
		int64_t from = now_ns(CLOCK_MONOTONIC);
		struct kp_handle *opened = open_handle(socket);
		int64_t end = now_ns(CLOCK_MONOTONIC);
		kp_close(opened);
		(void)printf("%.4f 0\n", (double)(end - from) / 1e6);
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 3 ? argv[1] : "";
	int pairs = argc > 3 ? atoi(argv[2]) : 0;

	if (pairs < 1)
		die("usage", "site MODE PAIRS SOCKET");
	set_up(argv[3]);
	if (strcmp(mode, "check") == 0)
		compare(time_checked, "elementwise/square", pairs);
	else if (strcmp(mode, "call") == 0)
		compare(time_run, "elementwise/square", pairs);
	else if (strcmp(mode, "least") == 0)
		compare(time_run, "gemm/mm", pairs);
	else if (strcmp(mode, "two") == 0)
		two(pairs);
	else if (strcmp(mode, "validate") == 0)
		validate(pairs);
	else if (strcmp(mode, "resolve") == 0)
		resolve(pairs);
	else if (strcmp(mode, "attach") == 0)
		attach(pairs, argv[3]);
	else
		die("usage", "no such mode");
	kp_close(handle);
	return 0;
}
