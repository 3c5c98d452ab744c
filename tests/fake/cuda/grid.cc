/* SPDX-License-Identifier: MIT */
/*
 * Runs a grid on the CPU: block after block, the threads of a block as fibers that
 * give way where they wait for each other. Shared memory is new for every block,
 * filled with not-a-numbers, and ends at a page that cannot be touched.
 */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

#include "tests/fake/cuda/fibers.h"

enum { THREADS = 1024, WARPS = THREADS / 32, STACK = 128 * 1024, PAGE = 4096 };

fake_dim fake_thread, fake_block, fake_block_size, fake_grid_size;

struct fiber {
#if defined(__x86_64__)
	void *stack_pointer;
#else
	ucontext_t context;
#endif
	fake_dim thread;
	const unsigned *waits; /* runs when *waits is no longer `seen` */
	unsigned seen;
	bool done;
};

struct gate {
	unsigned arrived, alive, turn;
};

static fiber fibers[THREADS];
static fiber scheduler;
static unsigned running; /* index of the fiber */
static gate block_gate, warp_gates[WARPS];
static const fake_grid *now;
static const void *parameter;
static unsigned char *stacks;
static unsigned char *shared_end; /* FAKE_SHARED_MAX bytes lie before it */
static fake_lane lanes[WARPS][2][32];
static unsigned lane_turns[THREADS];

/* ---- switching ----------------------------------------------------------------------
 */

#if defined(__x86_64__)
extern "C" void fake_switch(void **from, void *to);
__asm__(".text\n"
	".p2align 4\n"
	".type fake_switch, @function\n"
	".hidden fake_switch\n"
	".globl fake_switch\n"
	"fake_switch:\n"
	"	pushq %rbp\n	pushq %rbx\n	pushq %r12\n"
	"	pushq %r13\n	pushq %r14\n	pushq %r15\n"
	"	movq %rsp, (%rdi)\n"
	"	movq %rsi, %rsp\n"
	"	popq %r15\n	popq %r14\n	popq %r13\n"
	"	popq %r12\n	popq %rbx\n	popq %rbp\n"
	"	ret\n"
	".size fake_switch, . - fake_switch\n");

static void change(fiber *from, fiber *to)
{
	fake_switch(&from->stack_pointer, to->stack_pointer);
}

static void begin(fiber *f, unsigned char *stack, void (*entry)(void))
{
	void **top = reinterpret_cast<void **>(stack + STACK);

	*--top = nullptr; /* where entry would return to; keeps the stack aligned */
	*--top = reinterpret_cast<void *>(entry);
	for (int i = 0; i < 6; i++)
		*--top = nullptr;
	f->stack_pointer = top;
}
#else
static void change(fiber *from, fiber *to)
{
	swapcontext(&from->context, &to->context);
}

static void begin(fiber *f, unsigned char *stack, void (*entry)(void))
{
	getcontext(&f->context);
	f->context.uc_stack.ss_sp = stack;
	f->context.uc_stack.ss_size = STACK;
	f->context.uc_link = nullptr;
	makecontext(&f->context, entry, 0);
}
#endif

/* ---- waiting ------------------------------------------------------------------------
 */

static void open_gate(gate *g)
{
	g->arrived = 0;
	g->turn++;
}

static void pass(gate *g)
{
	fiber *self = &fibers[running];

	if (++g->arrived == g->alive) {
		open_gate(g);
		return;
	}
	self->waits = &g->turn;
	self->seen = g->turn;
	change(self, &scheduler);
	self->waits = nullptr;
}

/* Who has returned is not waited for. */
static void leave(gate *g)
{
	g->alive--;
	if (g->arrived > 0 && g->arrived == g->alive)
		open_gate(g);
}

void fake_sync_block(void)
{
	pass(&block_gate);
}

void fake_sync_warp(void)
{
	pass(&warp_gates[running / 32]);
}

/* Two sets in turn: a lane that is ahead by one exchange does not overwrite. */
fake_lane *fake_exchange(const fake_lane *mine)
{
	fake_lane *set = lanes[running / 32][lane_turns[running]++ % 2];

	set[running % 32] = *mine;
	fake_sync_warp();
	return set;
}

unsigned fake_lane_number(void)
{
	return running % 32;
}

void *fake_shared(size_t bytes)
{
	if (bytes > now->shared_bytes)
		fake_die("%s uses %zu bytes of shared memory, the launch gives %zu",
			now->twin->name, bytes, now->shared_bytes);
	/* Aligned, and so close to the end that what lies behind it cannot be touched. */
	return shared_end - (bytes + 15) / 16 * 16;
}

/* ---- blocks -------------------------------------------------------------------------
 */

static void enter_thread(void)
{
	now->twin->run(parameter);
	fibers[running].done = true;
	leave(&warp_gates[running / 32]);
	leave(&block_gate);
	change(&fibers[running], &scheduler);
}

static void make_memory(void)
{
	size_t shared = (FAKE_SHARED_MAX + PAGE - 1) / PAGE * PAGE;

	if (stacks)
		return;
	stacks = static_cast<unsigned char *>(
		mmap(nullptr, size_t(THREADS) * STACK, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
	unsigned char *map = static_cast<unsigned char *>(mmap(
		nullptr, shared + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	if (stacks == MAP_FAILED || map == MAP_FAILED ||
		mprotect(map, shared, PROT_READ | PROT_WRITE) != 0)
		fake_die("no memory for the threads of a block");
	shared_end = map + shared;
}

static void begin_block(unsigned threads)
{
	const fake_dim size = now->block;

	block_gate = gate{0, threads, 0};
	memset(lane_turns, 0, sizeof(lane_turns));
	memset(shared_end - now->shared_bytes, 0xff, now->shared_bytes);
	for (unsigned w = 0; w * 32 < threads; w++)
		warp_gates[w] = gate{0, threads - w * 32 < 32 ? threads - w * 32 : 32, 0};
	for (unsigned i = 0; i < threads; i++) {
		fibers[i].thread = {i % size.x, i / size.x % size.y, i / size.x / size.y};
		fibers[i].done = false;
		fibers[i].waits = nullptr;
		begin(&fibers[i], stacks + size_t(i) * STACK, enter_thread);
	}
}

static bool can_run(const fiber *f)
{
	return !f->done && (!f->waits || *f->waits != f->seen);
}

static void run_block(unsigned threads)
{
	unsigned done = 0;

	begin_block(threads);
	while (done < threads) {
		bool moved = false;

		for (unsigned i = 0; i < threads; i++) {
			running = now->reversed ? threads - 1 - i : i;
			if (!can_run(&fibers[running]))
				continue;
			moved = true;
			fake_thread = fibers[running].thread;
			change(&scheduler, &fibers[running]);
			done += fibers[running].done;
		}
		if (!moved)
			fake_die("%s: threads wait for others that never come",
				now->twin->name);
	}
}

void fake_run_grid(const struct fake_grid *grid, const void *argument)
{
	const fake_dim size = grid->grid;

	make_memory();
	now = grid;
	parameter = argument;
	fake_grid_size = grid->grid;
	fake_block_size = grid->block;
	for (unsigned z = 0; z < size.z; z++)
		for (unsigned y = 0; y < size.y; y++)
			for (unsigned x = 0; x < size.x; x++) {
				fake_block = {x, y, z};
				run_block(grid->block.x * grid->block.y * grid->block.z);
			}
}
