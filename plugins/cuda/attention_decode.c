/* SPDX-License-Identifier: MIT */
/*
 * attention/decode on the host: how many heads a block takes, and into how many parts
 * the tokens of a sequence are split, by the shape alone.
 */
#include <inttypes.h>
#include <math.h>

#include "failure.h"
#include "kernels.h"
#include "module.h"
#include "operand.h"
#include "parameters.h"

enum { Q, K_PAGES, V_PAGES, PAGE_TABLE, LENS, OUT, ROLES };
enum { SCALE, WINDOW };

/* b sequences, h heads, g cache heads, d elements; p pages of s tokens; t entries. */
static const struct operand roles[ROLES] = {
	{.name = "q", .dims = "bhd"},
	{.name = "k_pages", .dims = "psgd"},
	{.name = "v_pages", .dims = "psgd"},
	{.name = "page_table", .dims = "bt", .index = true},
	{.name = "lens", .dims = "b", .index = true},
	{.name = "out", .dims = "bhd"},
};

/*
 * Functions: for each width, elements a lane, those for 1, 2, 4, 8 heads, each for f32,
 * then for bf16. The widest, and the one for any steps, have no 8 heads (and no 4).
 */
enum { WIDTH_2 = 0, WIDTH_4 = 8, WIDTH_8 = 16, ANY = 22, JOIN = 26, FUNCTIONS = 28 };
enum { LANES = 32, HEAD_MOST = 256, ANY_WIDTH = 8 };

/* Blocks that keep any GPU busy; parts of a sequence: at least so many tokens each. */
enum { BLOCKS = 1024, PART_LEAST = 128, SPLITS_MOST = 64, HEADS_MOST = 8, ALIGN = 256 };

#define BOTH(name, heads, each)                                                          \
	{name "_f32", CUDA_DECODE_SHARED(heads, each)},                                  \
	{                                                                                \
		name "_bf16", CUDA_DECODE_SHARED(heads, each)                            \
	}

static const struct module_source source = {attention_decode_image, FUNCTIONS,
	{BOTH("decode_1_2", 1, 2), BOTH("decode_2_2", 2, 2), BOTH("decode_4_2", 4, 2),
		BOTH("decode_8_2", 8, 2), BOTH("decode_1_4", 1, 4),
		BOTH("decode_2_4", 2, 4), BOTH("decode_4_4", 4, 4),
		BOTH("decode_8_4", 8, 4), BOTH("decode_1_8", 1, 8),
		BOTH("decode_2_8", 2, 8), BOTH("decode_4_8", 4, 8),
		BOTH("decode_1_any", 1, ANY_WIDTH), BOTH("decode_2_any", 2, ANY_WIDTH),
		{"decode_join_f32", 0}, {"decode_join_bf16", 0}}};

/* Which function, how wide it is and how many heads it takes at once. */
struct choice {
	unsigned function;
	int64_t width, heads;
};

static int load(void *state, const struct kp_device *device, void **device_state,
	struct kp_error *error)
{
	(void)state;
	(void)device;
	return module_load(&source, (struct module **)device_state, error);
}

/* Can lanes read `width` elements at once, of every row? */
static bool fits(const struct operands *t, int64_t width)
{
	int64_t bytes = width * (t->bf16 ? 2 : 4);
	int align = bytes < 16 ? (int)bytes : 16;

	return extent(t, 'd') % width == 0 && operand_fits(t->tensor[Q], align) &&
	       operand_fits(t->tensor[K_PAGES], align) &&
	       operand_fits(t->tensor[V_PAGES], align);
}

static struct choice choose(const struct operands *t, int64_t group)
{
	struct choice choice = {ANY, ANY_WIDTH, group > 1 ? 2 : 1};
	int64_t d = extent(t, 'd');
	int64_t lanes = LANES;
	int64_t width = d <= lanes * 2 ? 2 : d <= lanes * 4 ? 4 : 8;
	unsigned step = 0;

	if (!fits(t, width)) {
		choice.function += group > 1 ? 2 : 0;
	} else {
		choice.width = width;
		choice.heads = 1;
		while (choice.heads < group &&
			choice.heads < (width == 8 ? 4 : HEADS_MOST)) {
			choice.heads *= 2;
			step += 2;
		}
		choice.function = (width == 2	       ? WIDTH_2
					  : width == 4 ? WIDTH_4
						       : WIDTH_8) +
				  step;
	}
	choice.function += t->bf16;
	return choice;
}

static int64_t divide(int64_t value, int64_t by)
{
	return value / by + (value % by != 0);
}

/* Parts that the tokens which a table can name allow. */
static int64_t most_splits(const struct operands *t)
{
	int64_t tokens;

	if (__builtin_mul_overflow(extent(t, 's'), extent(t, 't'), &tokens))
		tokens = INT64_MAX;
	int64_t parts = divide(tokens, PART_LEAST);

	return parts < 1 ? 1 : parts < SPLITS_MOST ? parts : SPLITS_MOST;
}

static int64_t choose_splits(const struct operands *t, int64_t blocks)
{
	int64_t wanted = blocks < BLOCKS ? divide(BLOCKS, blocks) : 1;
	int64_t most = most_splits(t);

	return wanted < most ? wanted : most;
}

/*
 * Rows of workspace for every shape up to this one: a block has at most HEADS_MOST
 * heads, and there are at most BLOCKS of them before the last split is made.
 */
static int need_rows(const struct kp_call *call, const struct operands *t, int64_t *rows)
{
	int64_t heads, split, few;

	if (most_splits(t) == 1 || extent(t, 'g') == 0) {
		*rows = 0;
		return KP_OK;
	}
	if (__builtin_mul_overflow(extent(t, 'b'), extent(t, 'h'), &heads) ||
		__builtin_mul_overflow(heads, most_splits(t), &split) ||
		__builtin_add_overflow(heads, (int64_t)BLOCKS * HEADS_MOST, &few))
		return failure(call->error, KP_UNSUPPORTED, 0,
			"q: %" PRId64 " sequences with %" PRId64 " heads are too many",
			extent(t, 'b'), extent(t, 'h'));
	*rows = split < few ? split : few;
	return KP_OK;
}

static int check(const struct kp_call *call, struct operands *t)
{
	int status = operands_take(call, roles, ROLES, t);
	int64_t h, g;

	if (status != KP_OK)
		return status;
	h = extent(t, 'h');
	g = extent(t, 'g');
	if (g == 0 ? h != 0 : h % g != 0)
		return failure(call->error, KP_INVALID, 0,
			"q: %" PRId64 " heads are no multiple of %" PRId64 " cache heads",
			h, g);
	if (extent(t, 'd') > HEAD_MOST)
		return failure(call->error, KP_UNSUPPORTED, 0,
			"q: heads of %" PRId64 " elements; at most %d are supported",
			extent(t, 'd'), HEAD_MOST);
	if (extent(t, 's') > INT32_MAX || extent(t, 't') > INT32_MAX)
		return failure(call->error, KP_UNSUPPORTED, 0,
			"page_table: %" PRId64 " pages of %" PRId64
			" tokens are too many",
			extent(t, 't'), extent(t, 's'));
	return KP_OK;
}

/* What a row needs: d sums, a greatest score and a weight. */
static int sizes(const struct kp_call *call, const struct operands *t, int64_t rows,
	uint64_t *sums, uint64_t *total)
{
	uint64_t d = (uint64_t)extent(t, 'd'), floats;

	if (__builtin_mul_overflow((uint64_t)rows, d, &floats) ||
		__builtin_mul_overflow(floats, sizeof(float), sums) ||
		__builtin_add_overflow(*sums, (uint64_t)rows * 2 * sizeof(float), total))
		return failure(call->error, KP_UNSUPPORTED, 0, "the call is too large");
	return KP_OK;
}

static int need(const struct kp_call *call, struct kp_need *need)
{
	struct operands t;
	int64_t rows = 0;
	uint64_t sums, total = 0;
	int status = check(call, &t);

	if (status == KP_OK)
		status = need_rows(call, &t, &rows);
	if (status == KP_OK)
		status = sizes(call, &t, rows, &sums, &total);
	if (status != KP_OK)
		return status;
	need->workspace_bytes = total;
	need->workspace_align = ALIGN;
	return KP_OK;
}

static void fill_steps(struct decode_parameters *p, const struct operands *t)
{
	const struct kp_tensor *const *of = t->tensor;

	p->q_sequence = operand_step(of[Q], 0);
	p->q_head = operand_step(of[Q], 1);
	p->q_step = operand_step(of[Q], 2);
	p->k_page = operand_step(of[K_PAGES], 0);
	p->k_token = operand_step(of[K_PAGES], 1);
	p->k_head = operand_step(of[K_PAGES], 2);
	p->k_step = operand_step(of[K_PAGES], 3);
	p->v_page = operand_step(of[V_PAGES], 0);
	p->v_token = operand_step(of[V_PAGES], 1);
	p->v_head = operand_step(of[V_PAGES], 2);
	p->v_step = operand_step(of[V_PAGES], 3);
	p->table_sequence = operand_step(of[PAGE_TABLE], 0);
	p->table_step = operand_step(of[PAGE_TABLE], 1);
	p->lens_step = operand_step(of[LENS], 0);
	p->out_sequence = operand_step(of[OUT], 0);
	p->out_head = operand_step(of[OUT], 1);
	p->out_step = operand_step(of[OUT], 2);
}

static void fill(struct decode_parameters *p, const struct kp_call *call,
	const struct operands *t, const struct choice *choice)
{
	double scale = operand_real(call, SCALE, 0);

	*p = (struct decode_parameters){
		.q = t->tensor[Q]->data,
		.k = t->tensor[K_PAGES]->data,
		.v = t->tensor[V_PAGES]->data,
		.table = t->tensor[PAGE_TABLE]->data,
		.lens = t->tensor[LENS]->data,
		.out = t->tensor[OUT]->data,
		.b = extent(t, 'b'),
		.h = extent(t, 'h'),
		.cache_heads = extent(t, 'g'),
		.d = extent(t, 'd'),
		.pages = extent(t, 'p'),
		.page = extent(t, 's'),
		.max_pages = extent(t, 't'),
		.window = operand_integer(call, WINDOW, 0),
		.scale = scale != 0 ? scale : 1 / sqrt((double)extent(t, 'd')),
		.group = extent(t, 'h') / extent(t, 'g'),
	};
	fill_steps(p, t);
	p->tiles = divide(p->group, choice->heads);
	p->splits = choose_splits(t, p->b * p->cache_heads * p->tiles);
}

/* The workspace, where the tokens are split. */
static int place(
	const struct kp_call *call, const struct operands *t, struct decode_parameters *p)
{
	uint64_t sums = 0, total = 0;
	int status;

	if (p->splits == 1)
		return KP_OK;
	status = sizes(call, t, p->b * p->h * p->splits, &sums, &total);
	if (status != KP_OK)
		return status;
	if (call->workspace_bytes < total || !call->workspace)
		return failure(call->error, KP_INVALID, 0,
			"the workspace has %" PRIu64 " bytes, not %" PRIu64,
			call->workspace_bytes, total);
	p->sums = call->workspace;
	p->stats = p->sums + sums / sizeof(float);
	return KP_OK;
}

static int run(const struct kp_call *call)
{
	const struct module *module = module_of(call);
	struct decode_parameters p;
	struct operands t;
	int status;

	if (!module)
		return KP_INVALID;
	status = check(call, &t);
	if (status != KP_OK || extent(&t, 'b') == 0 || extent(&t, 'h') == 0 ||
		extent(&t, 'g') == 0 || extent(&t, 'd') == 0)
		return status;
	struct choice choice = choose(&t, extent(&t, 'h') / extent(&t, 'g'));

	fill(&p, call, &t, &choice);
	status = place(call, &t, &p);
	if (status != KP_OK)
		return status;
	struct launch attend = {choice.function, p.b * p.cache_heads * p.tiles * p.splits,
		1, CUDA_DECODE_THREADS,
		(unsigned)CUDA_DECODE_SHARED(choice.heads, choice.width)};
	struct launch join = {JOIN + t.bf16, p.b * p.h, 1, CUDA_JOIN_THREADS, 0};

	status = module_launch(module, call, &attend, &p);
	if (status == KP_OK && p.splits > 1)
		status = module_launch(module, call, &join, &p);
	return status;
}

const struct kp_kernel attention_decode = {KP_SIZED(struct kp_kernel), .run = run,
	.available = module_available, .load = load, .unload = module_unload,
	.need = need};
