/* SPDX-License-Identifier: MIT */
/*
 * A small decoder on kplug: embedding, layers of rms norm, attention over a paged cache
 * and a gated feed-forward, softmax. Weights come from a seed, the likeliest token is
 * taken, a sequence joins at each step until BATCH are live; a line of tokens a step.
 *
 *	cc decoder.c -o decoder $(pkg-config --cflags --libs kplug)
 *	./decoder [--seed N] [--tokens N | --forever] [--why] [--logits] [--no-daemon]
 *
 * open_sites, run, attend and main show kplug: the rest is what any engine has.
 */
#include <kplug/host.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VOCAB = 256, DIM = 64, HIDDEN = 96, LAYERS = 2, BATCH = 3 };
enum { HEADS = 4, KV_HEADS = 2, HEAD = DIM / HEADS, KV = KV_HEADS * HEAD };
enum { QKV_DIM = DIM + 2 * KV, PAGE = 8, HELD = 4, PAGES = BATCH * HELD };
enum { NORM, QKV, ATTENTION, OUTPUT, UP, SILU_MUL, DOWN, LOGITS, SOFTMAX, SITES };

/* What is called where: a label for people, and the dim that is the batch. */
static const struct {
	const char *label, *operation, *rows;
} places[SITES] = {
	[NORM] = {"norm", "norm/rms", "rows"},
	[QKV] = {"attention.qkv", "gemm/mm", "m"},
	[ATTENTION] = {"attention", "attention/decode", "b"},
	[OUTPUT] = {"attention.output", "gemm/mm", "m"},
	[UP] = {"ffn.up", "gemm/mm", "m"},
	[SILU_MUL] = {"ffn.silu_mul", "activation/silu_mul", "rows"},
	[DOWN] = {"ffn.down", "gemm/mm", "m"},
	[LOGITS] = {"head.logits", "gemm/mm", "m"},
	[SOFTMAX] = {"head.softmax", "norm/softmax", "rows"},
};

struct layer {
	float attention_norm[DIM], qkv[DIM][QKV_DIM], output[DIM][DIM];
	float ffn_norm[DIM], gate[DIM][HIDDEN], up[DIM][HIDDEN], down[HIDDEN][DIM];
};
struct model {
	float embedding[VOCAB][DIM], position[HELD * PAGE][DIM];
	struct layer layers[LAYERS];
	float norm[DIM], head[DIM][VOCAB];
};
struct decoder {
	struct kp_handle *kplug;
	struct kp_site *sites[SITES];
	struct kp_error error;
	struct model model;
	float k[LAYERS][PAGES][PAGE][KV], v[LAYERS][PAGES][PAGE][KV];
	int32_t pages[BATCH][HELD], lens[BATCH], token[BATCH], live;
	float x[BATCH][DIM], normed[BATCH][DIM], qkv[BATCH][QKV_DIM];
	float gate[BATCH][HIDDEN], up[BATCH][HIDDEN], mixed[BATCH][DIM];
	float added[BATCH][DIM], logits[BATCH][VOCAB], likely[BATCH][VOCAB];
};

/* kplug says what is wrong with what; an engine would hand it to its caller. */
static void must(const struct decoder *d, int status)
{
	if (status == KP_OK)
		return;
	(void)fprintf(stderr, "decoder: %s\n", d->error.text);
	exit(status);
}

/* All that does not vary is said here, once. */
static void open_sites(struct decoder *d, uint32_t flags)
{
	const struct kp_options options = {.size = sizeof(options), .flags = flags};
	const struct kp_named eps = {.name = "eps", .kind = 'f', .value.f = 1e-5};

	must(d, kp_open(&options, &d->kplug, &d->error));
	for (int i = 0; i < SITES; i++) {
		const struct kp_range rows = {places[i].rows, 1, BATCH};
		const struct kp_site_options site = {KP_SIZED(struct kp_site_options),
			.operation = places[i].operation, .label = places[i].label,
			.ranges = &rows, .n_ranges = 1, .values = &eps,
			.n_values = strcmp(places[i].operation, "norm/rms") == 0};
		must(d, kp_site_new(d->kplug, &site, &d->sites[i], &d->error));
	}
	/* Code is found and loaded now, so that no later call waits for it. */
	must(d, kp_warm(d->sites, SITES, NULL, &d->error));
}

/* A line a site: label, kernel, and how it was decided as JSON. */
static void print_why(struct decoder *d)
{
	for (int i = 0; i < SITES; i++) {
		const char *kernel = kp_site_kernel(d->sites[i], NULL);
		char *why = kp_site_why(d->sites[i], NULL, &d->error);
		printf("%s %s %s\n", places[i].label, kernel ? kernel : "none",
			why ? why : d->error.text);
		kp_free(why);
	}
}

/* The short way to call: pointers and extents, in the order of the family. */
static void run(struct decoder *d, int at, void *a, void *b, void *c, int n, int k)
{
	void *const data[] = {a, b, c};
	const int64_t dims[] = {d->live, n, k};

	must(d, kp_run_dense(d->sites[at], data, dims, NULL, &d->error));
}

/* The whole way: any strides, so that queries are read where they lie, in rows of qkv. */
static void attend(struct decoder *d, int layer)
{
	const struct kp_place cpu = {KP_DEVICE_CPU, 0};
	const struct kp_dtype f32 = {KP_CODE_FLOAT, 32, 1}, i32 = {KP_CODE_INT, 32, 1};
	int64_t heads[] = {d->live, HEADS, HEAD}, cache[] = {PAGES, PAGE, KV_HEADS, HEAD};
	int64_t in_qkv[] = {QKV_DIM, HEAD, 1}, in_cache[] = {PAGE * KV, KV, HEAD, 1};
	int64_t in_out[] = {DIM, HEAD, 1}, held[] = {d->live, HELD},
		in_held[] = {HELD, 1};
	const struct kp_tensor q = {d->qkv, cpu, 3, f32, heads, in_qkv, 0};
	const struct kp_tensor k = {d->k[layer], cpu, 4, f32, cache, in_cache, 0};
	const struct kp_tensor v = {d->v[layer], cpu, 4, f32, cache, in_cache, 0};
	const struct kp_tensor pages = {d->pages, cpu, 2, i32, held, in_held, 0};
	const struct kp_tensor lens = {d->lens, cpu, 1, i32, held, &in_held[1], 0};
	const struct kp_tensor out = {d->mixed, cpu, 3, f32, heads, in_out, 0};
	const struct kp_tensor *const tensors[] = {&q, &k, &v, &pages, &lens, &out};
	struct kp_call call = {.tensors = tensors, .n_tensors = 6, .error = &d->error};

	must(d, kp_run(d->sites[ATTENTION], &call));
}

/* The same floats on every machine, by splitmix64: multiples of 2^-16 around 0. */
static void make_model(struct decoder *d, uint64_t seed)
{
	float *weights = (float *)&d->model;

	for (size_t i = 0; i < sizeof(d->model) / sizeof(float); i++) {
		uint64_t z = seed += UINT64_C(0x9e3779b97f4a7c15);
		z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
		z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
		weights[i] = (float)((int32_t)(z >> 48) - 32768) / 65536;
	}
	for (int32_t i = 0; i < PAGES; i++)
		d->pages[i % BATCH][i / BATCH] = PAGES - 1 - i;
	for (int32_t i = 0; i < BATCH; i++)
		d->token[i] = i;
}

/* Room for one token more: a sequence that is full gives its oldest page. */
static void begin(struct decoder *d, int64_t i)
{
	int32_t *pages = d->pages[i], oldest = pages[0];

	if (d->lens[i] == HELD * PAGE) {
		memmove(pages, pages + 1, (HELD - 1) * sizeof(*pages));
		pages[HELD - 1] = oldest;
		d->lens[i] -= PAGE;
	}
	for (int j = 0; j < DIM; j++)
		d->x[i][j] = d->model.embedding[d->token[i]][j] +
			     d->model.position[d->lens[i]][j];
	d->lens[i]++;
}

static void remember(struct decoder *d, int layer)
{
	for (int64_t i = 0; i < d->live; i++) {
		const int32_t at = d->lens[i] - 1, page = d->pages[i][at / PAGE];
		const float *k = &d->qkv[i][DIM];
		memcpy(d->k[layer][page][at % PAGE], k, KV * sizeof(*k));
		memcpy(d->v[layer][page][at % PAGE], k + KV, KV * sizeof(*k));
	}
}

static void add(struct decoder *d)
{
	for (int64_t i = 0; i < d->live * DIM; i++)
		d->x[i / DIM][i % DIM] += d->added[i / DIM][i % DIM];
}

static void run_layer(struct decoder *d, int i)
{
	struct layer *w = &d->model.layers[i];

	run(d, NORM, d->x, w->attention_norm, d->normed, DIM, 0);
	run(d, QKV, d->normed, w->qkv, d->qkv, QKV_DIM, DIM);
	remember(d, i);
	attend(d, i);
	run(d, OUTPUT, d->mixed, w->output, d->added, DIM, DIM);
	add(d);
	run(d, NORM, d->x, w->ffn_norm, d->normed, DIM, 0);
	run(d, UP, d->normed, w->gate, d->gate, HIDDEN, DIM);
	run(d, UP, d->normed, w->up, d->up, HIDDEN, DIM);
	run(d, SILU_MUL, d->gate, d->up, d->gate, HIDDEN, 0);
	run(d, DOWN, d->gate, w->down, d->added, DIM, HIDDEN);
	add(d);
}

/* One token more of each sequence. */
static void generate(struct decoder *d)
{
	d->live += d->live < BATCH;
	for (int64_t i = 0; i < d->live; i++)
		begin(d, i);
	for (int i = 0; i < LAYERS; i++)
		run_layer(d, i);
	run(d, NORM, d->x, d->model.norm, d->normed, DIM, 0);
	run(d, LOGITS, d->normed, d->model.head, d->logits, VOCAB, DIM);
	run(d, SOFTMAX, d->logits, d->likely, NULL, VOCAB, 0);
	for (int64_t i = 0; i < d->live; i++)
		for (int32_t j = d->token[i] = 0; j < VOCAB; j++)
			if (d->likely[i][j] > d->likely[i][d->token[i]])
				d->token[i] = j;
}

static void print(const struct decoder *d, int with_logits)
{
	for (int64_t i = 0; i < d->live; i++)
		printf("%d%c", d->token[i], i + 1 < d->live ? ' ' : '\n');
	for (int64_t i = 0; with_logits && i < d->live; i++)
		for (int64_t j = 0; j < VOCAB; j++)
			printf("%.9g%c", d->logits[i][j], j + 1 < VOCAB ? ' ' : '\n');
}

/* What follows the word, if anything; NULL without it. */
static const char *option(char **words, const char *word)
{
	while (*words && strcmp(*words, word) != 0)
		words++;
	return *words && words[1] ? words[1] : *words;
}

int main(int argc, char **argv)
{
	static struct decoder d = {.error = {.size = sizeof(d.error)}};
	const char *seed = option(argv, "--seed"), *tokens = option(argv, "--tokens");
	uint64_t left = tokens ? strtoull(tokens, NULL, 10) : 16;
	uint32_t changed, no_daemon = option(argv, "--no-daemon") ? KP_NO_DAEMON : 0;

	open_sites(&d, KP_ADOPT_AT_STEP | no_daemon);
	make_model(&d, seed ? strtoull(seed, NULL, 10) : 1);
	if (argc > 1 && option(argv, "--why"))
		print_why(&d);
	for (; (left || option(argv, "--forever")) && fflush(stdout) == 0; left--) {
		/* What was decided meanwhile holds from here: for a whole step. */
		must(&d, kp_step(d.kplug, &changed, &d.error));
		if (changed)
			(void)fprintf(stderr, "decoder: %u sites changed\n", changed);
		generate(&d);
		print(&d, option(argv, "--logits") != NULL);
	}
	kp_close(d.kplug); /* and its sites */
	return fflush(stdout) == 0 ? 0 : 1;
}
