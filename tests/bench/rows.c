/* SPDX-License-Identifier: MIT */
/*
 * Kernels that memory binds against what the memory gives: each kernel of x86.so by turns
 * with streams over as many bytes, at least 31 rounds, data larger than the caches.
 *
 *     rows [--rounds N] [--threads N] [--small-pages] [--pairs] x86.so [PATTERN]
 *
 * PATTERN is of names like "norm_rms bf16". A rate counts each byte of a tensor once. The
 * peer is the fastest of memcpy, a copy with non-temporal stores and reading alone; of
 * attention/decode reading alone. Prints a JSON object a line, medians, or with --pairs
 * the unit and a line "OURS PEER" for each round.
 */
#include <dlfcn.h>
#include <fnmatch.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "kplug/plugin.h"
#include "lib/base/parallel.h"
#include "lib/base/stats.h"
#include "tests/bench/streams.h"

enum { ROLES = 6, MOST_ROUNDS = 1001, PAGE = 2 << 20 };

struct options {
	size_t rounds;
	unsigned threads;
	bool small_pages, pairs;
	const char *library, *pattern;
};

/* Memory of one kernel and the same again for its peers. */
struct ground {
	char *tensors, *streams;
	size_t bytes;
};

struct bench {
	const struct options *options;
	struct kp_parallel *pool;
	struct kp_host host;
	struct ground ground;
	const struct kp_kernel *kernel;
	struct kp_call call;
	struct kp_tensor tensors[ROLES];
	const struct kp_tensor *pointers[ROLES];
	int64_t shapes[ROLES][4], strides[ROLES][4];
	size_t bytes; /* of tensors that the call touches */
	unsigned measured;
};

static _Noreturn void die(const char *what, const char *why)
{
	(void)fprintf(stderr, "rows: %s: %s\n", what, why);
	exit(1);
}

/* Of one thread its own time: what else the machine runs counts less. */
static double now_s(const struct bench *bench)
{
	struct timespec t;

	(void)clock_gettime(
		bench->options->threads > 1 ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID,
		&t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static char *take_memory(size_t bytes, bool small_pages)
{
	void *map = mmap(NULL, bytes + PAGE, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (map == MAP_FAILED)
		die("memory", "there is not enough");
	map = (char *)map + (-(uintptr_t)map & (PAGE - 1));
	(void)madvise(map, bytes, small_pages ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
	memset(map, 1, bytes);
	return map;
}

static void run_stream(struct bench *bench, enum stream stream)
{
	float sinks[256];
	struct piece piece = {bench->ground.streams,
		bench->bytes / (2 * PIECE) * 2 * PIECE, sinks,
		bench->options->threads > 1 ? 4 * bench->options->threads : 1};

	if (piece.count > 256)
		piece.count = 256;
	if (kp_parallel_for(bench->pool, piece.count, stream_tasks[stream], &piece) < 0)
		die(stream_names[stream], "the stream failed");
}

/* ---- kernels ---- */

static int lend(void *context, uint64_t n, int (*task)(void *arg, uint64_t i), void *arg)
{
	return kp_parallel_for(context, n, task, arg);
}

static size_t element_bytes(struct kp_dtype dtype)
{
	return dtype.bits / 8;
}

/* Places a tensor of rank `rank` at the end of those before it. */
static void place(struct bench *bench, int role, struct kp_dtype dtype, int rank,
	const int64_t *extents)
{
	struct kp_tensor *tensor = &bench->tensors[role];
	int64_t step = 1;

	for (int i = rank - 1; i >= 0; i--) {
		bench->shapes[role][i] = extents[i];
		bench->strides[role][i] = step;
		step *= extents[i];
	}
	*tensor = (struct kp_tensor){.data = bench->ground.tensors + bench->bytes,
		.device = {KP_DEVICE_CPU, 0},
		.ndim = rank,
		.dtype = dtype,
		.shape = bench->shapes[role],
		.strides = bench->strides[role]};
	bench->bytes += (size_t)step * element_bytes(dtype);
	if (bench->bytes > bench->ground.bytes)
		die("memory", "the tensors are larger than planned");
	bench->pointers[role] = tensor;
	bench->call.n_tensors = (uint32_t)role + 1;
}

/* Numbers between -2 and 2. */
static void fill(const struct kp_tensor *tensor, size_t count)
{
	uint64_t seed = 1;

	for (size_t i = 0; i < count; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		float value = (float)(int32_t)(seed >> 32) / 1073741824.0f;
		uint32_t bits;

		memcpy(&bits, &value, sizeof(bits));
		if (tensor->dtype.bits == 32)
			((uint32_t *)tensor->data)[i] = bits;
		else
			((uint16_t *)tensor->data)[i] = (uint16_t)(bits >> 16);
	}
}

static const struct kp_dtype f32 = {KP_CODE_FLOAT, 32, 1}, bf16 = {KP_CODE_BFLOAT, 16, 1},
			     i32 = {KP_CODE_INT, 32, 1};

/* `count` tensors of [8192, 4096], the first of them filled, or of half the rows in f32.
 */
static void place_rows(struct bench *bench, struct kp_dtype dtype, const char *dims)
{
	const int64_t rows = dtype.bits == 32 ? 4096 : 8192, n = 4096;

	for (int role = 0; dims[role]; role++) {
		if (dims[role] == 'n')
			place(bench, role, dtype, 1, &n);
		else if (dims[role] == 'v')
			place(bench, role, dtype, 1, (int64_t[]){rows * n});
		else
			place(bench, role, dtype, 2, (int64_t[]){rows, n});
	}
	for (int role = 0; dims[role + 1]; role++)
		fill(bench->pointers[role], (size_t)(dims[role] == 'n' ? n : rows * n));
}

/* Batch 8, 32 heads on 8, 4,096 keys of 128 in pages of 16 that lie in any order. */
static void place_decode(struct bench *bench, struct kp_dtype dtype, const char *dims)
{
	enum { B = 8, H = 32, HKV = 8, D = 128, ROWS = 16, EACH = 256, PAGES = B * EACH };
	static const int64_t cache[] = {PAGES, ROWS, HKV, D}, heads[] = {B, H, D};
	int32_t *table, *lens;

	(void)dims;
	place(bench, 0, dtype, 3, heads);
	place(bench, 1, dtype, 4, cache);
	place(bench, 2, dtype, 4, cache);
	place(bench, 3, i32, 2, (int64_t[]){B, EACH});
	place(bench, 4, i32, 1, (int64_t[]){B});
	place(bench, 5, dtype, 3, heads);
	fill(bench->pointers[0], (size_t)B * H * D);
	fill(bench->pointers[1], (size_t)PAGES * ROWS * HKV * D);
	fill(bench->pointers[2], (size_t)PAGES * ROWS * HKV * D);
	table = bench->tensors[3].data;
	lens = bench->tensors[4].data;
	for (int32_t i = 0; i < PAGES; i++)
		table[i] = (int32_t)((int64_t)i * 769 % PAGES);
	for (int i = 0; i < B; i++)
		lens[i] = ROWS * EACH;
}

/* Roles of rows: r [rows, n], n [n], v [rows * n]. */
struct subject {
	const char *kernel;
	void (*place)(struct bench *bench, struct kp_dtype dtype, const char *dims);
	const char *dims;
	bool reads; /* its peer is reading alone */
};
static const struct subject subjects[] = {
	{"norm_rms", place_rows, "rnr", false},
	{"norm_softmax", place_rows, "rr", false},
	{"activation_silu_mul", place_rows, "rrr", false},
	{"elementwise_square", place_rows, "vv", false},
	{"attention_decode", place_decode, NULL, true},
};
enum { SUBJECTS = sizeof(subjects) / sizeof(subjects[0]) };

/* ---- measuring ---- */

static void run_kernel(struct bench *bench)
{
	if (bench->kernel->run(&bench->call) != KP_OK)
		die("run", bench->call.error->text);
}

/* Bytes a second of each round, the kernel's and then the streams'. */
struct rates {
	double of[1 + STREAMS][MOST_ROUNDS];
};

/* The first round warms up. */
static void measure(struct bench *bench, struct rates *rates)
{
	for (size_t round = 0; round < bench->options->rounds + 1; round++) {
		for (int who = 0; who < 1 + STREAMS; who++) {
			double start = now_s(bench);

			if (who == 0)
				run_kernel(bench);
			else
				run_stream(bench, who - 1);
			if (round > 0)
				rates->of[who][round - 1] =
					(double)bench->bytes / (now_s(bench) - start);
		}
	}
}

/* The median of rates by turns, or of ratios where there is something to divide by. */
static double median(const double *samples, const double *by, size_t count)
{
	double sorted[MOST_ROUNDS];
	struct kp_stats stats;

	for (size_t i = 0; i < count; i++)
		sorted[i] = by ? samples[i] / by[i] : samples[i] / 1e9;
	if (!kp_stats_of(sorted, count, &stats))
		die("samples", "there are none");
	return stats.median;
}

static void tell(const struct bench *bench, const char *name, bool reads,
	const struct rates *rates)
{
	const struct options *options = bench->options;
	size_t count = options->rounds;
	double medians[1 + STREAMS];
	int best = reads ? READ : MEMCPY;

	for (int i = 0; i < 1 + STREAMS; i++)
		medians[i] = median(rates->of[i], NULL, count);
	for (int i = 0; i < STREAMS && !reads; i++)
		best = medians[1 + i] > medians[1 + best] ? i : best;
	for (size_t i = 0; options->pairs && i < count; i++)
		printf("%s%.3f %.3f\n", i == 0 ? "GB/s\n" : "", rates->of[0][i] / 1e9,
			rates->of[1 + best][i] / 1e9);
	if (options->pairs)
		return;
	printf("{\"name\": \"%s\", \"ours\": %.3f, \"peer\": %.3f, \"ratio\": %.3f, "
	       "\"unit\": \"GB/s\", \"peer_name\": \"%s\", \"memcpy\": %.3f, "
	       "\"non_temporal\": %.3f, \"read\": %.3f, \"bytes\": %zu, \"rounds\": %zu, "
	       "\"threads\": %u, \"huge_pages\": %s}\n",
		name, medians[0], medians[1 + best],
		median(rates->of[0], rates->of[1 + best], count), stream_names[best],
		medians[1 + MEMCPY], medians[1 + NON_TEMPORAL], medians[1 + READ],
		bench->bytes, count, options->threads,
		options->small_pages ? "false" : "true");
	(void)fflush(stdout);
}

static void bench_kernel(struct bench *bench, const struct subject *subject,
	const struct kp_entry *entry, struct kp_dtype dtype)
{
	struct kp_error error = {.size = sizeof(error)};
	struct kp_need need = {.size = sizeof(need)};
	static struct rates rates;
	char name[128];

	(void)snprintf(name, sizeof(name), "%s %s", entry->name,
		dtype.bits == 32 ? "f32" : "bf16");
	if (fnmatch(bench->options->pattern, name, 0) != 0)
		return;
	bench->kernel = entry->vtable;
	if (bench->kernel->available && bench->kernel->available(NULL, &error) != KP_OK) {
		(void)fprintf(
			stderr, "rows: %s: left out: %s\n", entry->name, error.text);
		return;
	}
	bench->bytes = 0;
	bench->call = (struct kp_call){KP_SIZED(struct kp_call),
		.tensors = bench->pointers, .error = &error,
		.host = bench->options->threads > 1 ? &bench->host : NULL};
	subject->place(bench, dtype, subject->dims);
	if (bench->kernel->need && bench->kernel->need(&bench->call, &need) != KP_OK)
		die(entry->name, error.text);
	bench->call.workspace =
		aligned_alloc(4096, (need.workspace_bytes + 4096) & ~4095ull);
	bench->call.workspace_bytes = need.workspace_bytes;
	measure(bench, &rates);
	free(bench->call.workspace);
	tell(bench, name, subject->reads, &rates);
	bench->measured++;
}

/* Kernels of an operation are named after it: norm_rms, norm_rms_avx512. */
static const struct subject *subject_of(const char *kernel)
{
	for (int i = 0; i < SUBJECTS; i++) {
		size_t length = strlen(subjects[i].kernel);

		if (strncmp(kernel, subjects[i].kernel, length) == 0 &&
			(kernel[length] == '\0' || kernel[length] == '_'))
			return &subjects[i];
	}
	return NULL;
}

static void read_options(int argc, char **argv, struct options *options)
{
	*options = (struct options){.rounds = 31, .threads = 1, .pattern = "*"};
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc)
			options->rounds = strtoul(argv[++i], NULL, 10);
		else if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc)
			options->threads = (unsigned)strtoul(argv[++i], NULL, 10);
		else if (strcmp(argv[i], "--small-pages") == 0)
			options->small_pages = true;
		else if (strcmp(argv[i], "--pairs") == 0)
			options->pairs = true;
		else if (!options->library)
			options->library = argv[i];
		else
			options->pattern = argv[i];
	}
	if (!options->library)
		die("usage", "rows [--rounds N] [--threads N] [--small-pages] [--pairs] "
			     "LIBRARY [PATTERN]");
	if (options->rounds < 1 || options->rounds > MOST_ROUNDS)
		die("--rounds", "1 to 1001");
}

int main(int argc, char **argv)
{
	static struct bench bench;
	struct options options;
	struct kp_diag diag;
	const struct kp_plugin *plugin;
	void *library;

	read_options(argc, argv, &options);
	library = dlopen(options.library, RTLD_NOW | RTLD_LOCAL);
	if (!library || !(plugin = dlsym(library, "kplug_plugin")))
		die(options.library, dlerror());
	bench.options = &options;
	bench.ground.bytes = (size_t)272 << 20;
	bench.ground.tensors = take_memory(bench.ground.bytes, options.small_pages);
	bench.ground.streams = take_memory(bench.ground.bytes, options.small_pages);
	if (kp_parallel_new(options.threads, &bench.pool, &diag) < 0)
		die("--threads", "1 to 1024");
	bench.host = (struct kp_host){
		KP_SIZED(struct kp_host), .context = bench.pool, .parallel_for = lend};
	for (uint32_t i = 0; i < plugin->n_entries; i++) {
		const struct subject *subject = subject_of(plugin->entries[i]->name);

		if (!subject)
			continue;
		bench_kernel(&bench, subject, plugin->entries[i], f32);
		bench_kernel(&bench, subject, plugin->entries[i], bf16);
	}
	kp_parallel_free(bench.pool);
	if (bench.measured == 0)
		(void)fprintf(stderr, "rows: no kernel by that name can run here\n");
	return bench.measured > 0 ? 0 : 77;
}
