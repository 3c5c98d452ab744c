/* SPDX-License-Identifier: MIT */
/*
 * Two ways of multiplying matrices, in turns.
 *
 *   gemm [--shape MxNxK] [--threads N] [--pairs N] [--time] [--transpose-b] OURS PEER
 *
 * A side is PLUGIN.so:KERNEL for f32, PLUGIN.so:KERNEL:bf16, or cblas: cblas_sgemm of
 * libopenblas.so.0 called directly. Both get the same numbers, and their results must
 * agree. Prints GFLOP/s, or with --time microseconds of a call, and a line for each
 * pair. A sample is as many calls as make half a millisecond, at least one; before it
 * there is a call that is not timed.
 */
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kplug/plugin.h"
#include "lib/base/parallel.h"
#include "lib/base/random.h"
#include "lib/family/element.h"

enum { PAIRS = 31, PAIRS_MOST = 10000, ALIGN = 64, SKIPPED = 77 };

struct options {
	int64_t m, n, k;
	unsigned threads;
	unsigned pairs;
	bool transpose_b, time;
	const char *sides[2];
};

typedef void sgemm(int order, int transpose_a, int transpose_b, int m, int n, int k,
	float alpha, const float *a, int lda, const float *b, int ldb, float beta,
	float *c, int ldc);

struct matrix {
	struct kp_tensor tensor;
	int64_t shape[2], strides[2];
};

/* One way to multiply, ready to be called. */
struct side {
	const struct options *options;
	sgemm *multiply; /* NULL: the kernel */
	const struct kp_kernel *kernel;
	struct kp_host host;
	struct kp_device device;
	struct kp_error error;
	struct kp_call call;
	struct matrix matrices[3];
	const struct kp_tensor *tensors[3];
	unsigned repeats;
};

static _Noreturn void die(const char *what, const char *why)
{
	fprintf(stderr, "gemm: %s: %s\n", what, why ? why : "unknown");
	exit(1);
}

/* The last line says why. */
static _Noreturn void skip(const char *why)
{
	puts(why);
	exit(SKIPPED);
}

static void *memory(size_t bytes)
{
	void *made = NULL;

	if (posix_memalign(&made, ALIGN, bytes + ALIGN) != 0)
		die("memory", strerror(ENOMEM));
	memset(made, 0, bytes + ALIGN);
	return made;
}

/* ---- matrices -------------------------------------------------------------------- */

static void fill(const struct matrix *matrix, enum kp_element element, const char *name)
{
	struct kp_random random;
	char *at = matrix->tensor.data;

	kp_random_seed(&random, 1, name);
	for (int64_t i = 0; i < matrix->shape[0] * matrix->shape[1]; i++)
		kp_element_store(element, at + i * (int64_t)kp_element_bytes(element),
			kp_random_normal(&random));
}

static void matrix_init(struct matrix *matrix, enum kp_element element, int64_t rows,
	int64_t columns, bool transposed)
{
	size_t bytes = (size_t)rows * (size_t)columns * kp_element_bytes(element);

	matrix->shape[0] = rows;
	matrix->shape[1] = columns;
	matrix->strides[0] = transposed ? 1 : columns;
	matrix->strides[1] = transposed ? rows : 1;
	matrix->tensor = (struct kp_tensor){.data = memory(bytes),
		.device = {KP_DEVICE_CPU, 0},
		.ndim = 2,
		.dtype = kp_element_dtype(element),
		.shape = matrix->shape,
		.strides = matrix->strides};
}

static void make_matrices(struct side *side, enum kp_element element)
{
	const struct options *o = side->options;

	matrix_init(&side->matrices[0], element, o->m, o->k, false);
	matrix_init(&side->matrices[1], element, o->k, o->n, o->transpose_b);
	matrix_init(&side->matrices[2], element, o->m, o->n, false);
	fill(&side->matrices[0], element, "a");
	fill(&side->matrices[1], element, "b");
	for (int i = 0; i < 3; i++)
		side->tensors[i] = &side->matrices[i].tensor;
}

static double element_of(const struct side *side, int64_t i)
{
	const struct kp_tensor *c = &side->matrices[2].tensor;
	enum kp_element element;

	if (!kp_element_of_dtype(c->dtype, &element))
		return NAN;
	return kp_element_load(
		element, (const char *)c->data + i * (int64_t)kp_element_bytes(element));
}

/* |ours - peer| over |peer|, which a few roundings of the coarser type explain. */
static void agree(const struct side *ours, const struct side *peer)
{
	int64_t count = ours->options->m * ours->options->n;
	bool half =
		ours->tensors[2]->dtype.bits == 16 || peer->tensors[2]->dtype.bits == 16;
	double error = 0, size = 0, allowed = half ? 1e-2 : 1e-5;

	for (int64_t i = 0; i < count; i++) {
		error += pow(element_of(ours, i) - element_of(peer, i), 2);
		size += pow(element_of(peer, i), 2);
	}
	if (!(sqrt(error) <= allowed * sqrt(size)))
		die("results", "the two sides do not agree");
}

/* ---- sides ----------------------------------------------------------------------- */

static int share(void *context, uint64_t n, int (*task)(void *arg, uint64_t i), void *arg)
{
	return kp_parallel_for(context, n, task, arg);
}

static void *open_library(const char *path)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		skip(dlerror());
	return handle;
}

/* C has no cast from a data pointer to a function. */
static void find(void *handle, const char *name, void *function)
{
	void *symbol = dlsym(handle, name);

	if (!symbol)
		die(name, dlerror());
	memcpy(function, &symbol, sizeof(symbol));
}

static void open_cblas(struct side *side)
{
	void *handle = open_library("libopenblas.so.0");
	void (*set_threads)(int threads);

	find(handle, "cblas_sgemm", &side->multiply);
	find(handle, "openblas_set_num_threads", &set_threads);
	set_threads((int)side->options->threads);
	make_matrices(side, KP_F32);
}

static void find_kernel(
	struct side *side, const struct kp_plugin *plugin, const char *name)
{
	for (uint32_t i = 0; i < plugin->n_entries; i++)
		if (strcmp(plugin->entries[i]->name, name) == 0)
			side->kernel = plugin->entries[i]->vtable;
	if (!side->kernel)
		die(name, "the plugin has no such kernel");
}

static void succeed(struct side *side, const char *what, int status)
{
	if (status == KP_UNAVAILABLE)
		skip(side->error.text);
	if (status != KP_OK)
		die(what, side->error.text);
}

/* As a host does: start, load, need. The one plugin with a start takes threads. */
static void start_kernel(struct side *side, const struct kp_plugin *plugin)
{
	struct kp_need need = {.size = sizeof(need)};
	char config[32];

	snprintf(config, sizeof(config), "{\"threads\": %u}", side->options->threads);
	if (side->kernel->available)
		succeed(side, "available",
			side->kernel->available(&side->device, &side->error));
	if (plugin->start)
		succeed(side, "start",
			plugin->start(
				&side->host, config, &side->call.state, &side->error));
	if (side->kernel->load)
		succeed(side, "load",
			side->kernel->load(side->call.state, &side->device,
				&side->call.device_state, &side->error));
	if (side->kernel->need)
		succeed(side, "need", side->kernel->need(&side->call, &need));
	side->call.workspace_bytes = need.workspace_bytes;
	side->call.workspace = memory(need.workspace_bytes);
}

static void open_plugin(struct side *side, const char *text, struct kp_parallel *pool)
{
	char *path = strdup(text), *kernel = path ? strchr(path, ':') : NULL, *dtype;
	void *handle;

	if (!kernel)
		die(text, "PLUGIN.so:KERNEL or cblas is expected");
	*kernel++ = '\0';
	dtype = strchr(kernel, ':');
	if (dtype)
		*dtype++ = '\0';
	make_matrices(side, dtype && strcmp(dtype, "bf16") == 0 ? KP_BF16 : KP_F32);
	side->host = (struct kp_host){KP_SIZED(struct kp_host), .context = pool,
		.parallel_for = side->options->threads > 1 ? share : NULL};
	side->device =
		(struct kp_device){KP_SIZED(struct kp_device), .type = KP_DEVICE_CPU};
	side->error.size = sizeof(side->error);
	side->call = (struct kp_call){KP_SIZED(struct kp_call), .n_tensors = 3,
		.tensors = side->tensors, .error = &side->error, .host = &side->host,
		.device = &side->device, .generation = 1};
	handle = open_library(path);
	const struct kp_plugin *plugin = dlsym(handle, "kplug_plugin");
	if (!plugin)
		die(path, "no plugin");
	find_kernel(side, plugin, kernel);
	start_kernel(side, plugin);
	free(path);
}

static void call(struct side *side)
{
	const struct options *o = side->options;
	int n = (int)o->n, k = (int)o->k;

	if (!side->multiply)
		succeed(side, "run", side->kernel->run(&side->call));
	else
		side->multiply(101, 111, o->transpose_b ? 112 : 111, (int)o->m, n, k, 1,
			side->tensors[0]->data, k, side->tensors[1]->data,
			o->transpose_b ? k : n, 0, side->tensors[2]->data, n);
}

/* ---- time ------------------------------------------------------------------------ */

static double now_us(void)
{
	struct timespec t = {0};

	clock_gettime(CLOCK_MONOTONIC, &t);
	return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static double sample(struct side *side)
{
	/* OpenBLAS's threads look for work for a while before they sleep. */
	const struct timespec pause = {0, 60 * 1000 * 1000};
	double before;

	if (side->options->threads > 1)
		nanosleep(&pause, NULL);
	call(side);
	before = now_us();
	for (unsigned i = 0; i < side->repeats; i++)
		call(side);
	return (now_us() - before) / side->repeats;
}

static void choose_repeats(struct side *side)
{
	const double wanted_us = 500;
	double fastest = HUGE_VAL;

	side->repeats = 1;
	for (int i = 0; i < 5; i++)
		fastest = fmin(fastest, sample(side));
	if (fastest < wanted_us)
		side->repeats = (unsigned)(wanted_us / fmax(fastest, 0.01)) + 1;
}

/* Each is first in every second pair. */
static void run_pairs(struct side *const sides[2], const struct options *o)
{
	double work = 2e-3 * (double)o->m * (double)o->n * (double)o->k;

	puts(o->time ? "us" : "GFLOP/s");
	for (unsigned i = 0; i < o->pairs; i++) {
		double took[2];

		for (unsigned s = 0; s < 2; s++)
			took[(i + s) % 2] = sample(sides[(i + s) % 2]);
		if (o->time)
			printf("%.6g %.6g\n", took[0], took[1]);
		else
			printf("%.6g %.6g\n", work / took[0], work / took[1]);
	}
}

/* ---- options --------------------------------------------------------------------- */

static unsigned number(const char *text, unsigned most)
{
	char *end = NULL;
	unsigned long value = text ? strtoul(text, &end, 10) : 0;

	if (!text || *end || value < 1 || value > most)
		die(text ? text : "end of line", "a number is expected");
	return (unsigned)value;
}

static void read_shape(const char *text, struct options *o)
{
	long long m, n, k;
	char rest;

	if (!text || sscanf(text, "%lldx%lldx%lld%c", &m, &n, &k, &rest) != 3 || m < 1 ||
		n < 1 || k < 1 || m > INT32_MAX || n > INT32_MAX || k > INT32_MAX)
		die(text ? text : "--shape", "MxNxK is expected");
	o->m = m;
	o->n = n;
	o->k = k;
}

static struct options read_options(char **argv)
{
	struct options o = {
		.m = 1024, .n = 1024, .k = 1024, .threads = 1, .pairs = PAIRS};
	int sides = 0;

	while (*++argv) {
		if (strcmp(*argv, "--shape") == 0)
			read_shape(*++argv, &o);
		else if (strcmp(*argv, "--threads") == 0)
			o.threads = number(*++argv, KP_PARALLEL_MOST);
		else if (strcmp(*argv, "--pairs") == 0)
			o.pairs = number(*++argv, PAIRS_MOST);
		else if (strcmp(*argv, "--time") == 0)
			o.time = true;
		else if (strcmp(*argv, "--transpose-b") == 0)
			o.transpose_b = true;
		else if (sides < 2)
			o.sides[sides++] = *argv;
		else
			die(*argv, "not expected");
	}
	if (sides < 2)
		die("usage", "gemm [--shape MxNxK] [--threads N] [--pairs N] [--time] "
			     "[--transpose-b] OURS PEER");
	return o;
}

int main(__attribute__((unused)) int argc, char **argv)
{
	static struct side sides[2];
	struct side *const both[2] = {&sides[0], &sides[1]};
	struct options o = read_options(argv);
	struct kp_parallel *pool;
	struct kp_diag diag;

	if (kp_parallel_new(o.threads, &pool, &diag) < 0)
		die("threads", diag.message);
	for (int i = 0; i < 2; i++) {
		sides[i].options = &o;
		if (strcmp(o.sides[i], "cblas") == 0)
			open_cblas(&sides[i]);
		else
			open_plugin(&sides[i], o.sides[i], pool);
		choose_repeats(&sides[i]);
	}
	agree(&sides[0], &sides[1]);
	run_pairs(both, &o);
	return 0;
}
