/* SPDX-License-Identifier: MIT */
/* Slots are taken by a compare and swap, and given back by the destructor of a key. */
#include "lib/host/thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/host/control.h"
#include "lib/host/signals.h"

/* Of addresses: pages come when they are touched. */
static const size_t SCRATCH = (size_t)256 << 20;

/* As the header declares them: no function is called to find them. */
#define IN_PLACE __attribute__((tls_model("initial-exec")))
__thread struct kp_slot *kp_thread_slot IN_PLACE;
static __thread uint64_t used IN_PLACE; /* of the scratch memory */

/* What is behind the slot. The destructor frees it. */
struct own {
	struct own *next, **link; /* of all */
	uint64_t number;
	struct kp_slot *slot;
	bool adrift;	      /* atomic: whose slots these were has gone */
	struct kp_slot alone; /* where no shared one was free */
	char *scratch;
	bool has_asked; /* for a stack */
	void *stack;	/* of the handlers of signals, or NULL */
};

static __thread struct own *own IN_PLACE;
static __thread struct kp_lent lent IN_PLACE;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool has_key;
static unsigned forks;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct own *all;
static struct kp_fork_watch *watches;
static uint64_t numbers;

static void give_back(struct own *thread)
{
	struct kp_slot *slot = thread->slot;

	if (!slot)
		return;
	__atomic_store_n(&slot->kernel, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->signal, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->thread, 0, __ATOMIC_RELEASE);
	thread->slot = NULL;
}

static void end(void *pointer)
{
	struct own *thread = pointer;

	(void)pthread_mutex_lock(&lock);
	give_back(thread);
	*thread->link = thread->next;
	if (thread->next)
		thread->next->link = thread->link;
	(void)pthread_mutex_unlock(&lock);
	if (thread->scratch)
		(void)munmap(thread->scratch, SCRATCH);
	kp_signals_drop_stack(thread->stack);
	if (thread == own) {
		own = NULL;
		kp_thread_slot = NULL;
		used = 0;
	}
	free(thread);
}

static void before_fork(void)
{
	(void)pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
	(void)pthread_mutex_unlock(&lock);
}

/*
 * The slots are the parent's: the child's thread, and those that it will have, have none.
 * The records of the threads that are not here any more are lost.
 */
static void in_child(void)
{
	all = NULL;
	if (own) {
		own->slot = NULL;
		own->next = NULL;
		own->link = &all;
		all = own;
	}
	kp_thread_slot = NULL;
	__atomic_add_fetch(&forks, 1, __ATOMIC_RELAXED);
	for (struct kp_fork_watch *watch = watches; watch; watch = watch->next)
		watch->in_child(watch);
	(void)pthread_mutex_unlock(&lock);
}

static void init(void)
{
	has_key = pthread_key_create(&key, end) == 0 &&
		  pthread_atfork(before_fork, after_fork, in_child) == 0;
}

bool kp_thread_init(void)
{
	(void)pthread_once(&once, init);
	return has_key;
}

unsigned kp_thread_forks(void)
{
	return __atomic_load_n(&forks, __ATOMIC_RELAXED);
}

void kp_thread_watch_forks(struct kp_fork_watch *watch)
{
	(void)pthread_mutex_lock(&lock);
	watch->link = &watches;
	watch->next = watches;
	if (watches)
		watches->link = &watch->next;
	watches = watch;
	(void)pthread_mutex_unlock(&lock);
}

void kp_thread_end_watch(struct kp_fork_watch *watch)
{
	if (!watch->link)
		return;
	(void)pthread_mutex_lock(&lock);
	*watch->link = watch->next;
	if (watch->next)
		watch->next->link = watch->link;
	(void)pthread_mutex_unlock(&lock);
	watch->link = NULL;
}

static struct own *get_own(void)
{
	struct own *thread = own;

	if (thread || !kp_thread_init())
		return thread;
	thread = calloc(1, sizeof(*thread));
	if (!thread)
		return NULL;
	if (pthread_setspecific(key, thread) != 0) {
		free(thread);
		return NULL;
	}
	(void)pthread_mutex_lock(&lock);
	thread->number = ++numbers;
	thread->link = &all;
	thread->next = all;
	if (all)
		all->link = &thread->next;
	all = thread;
	(void)pthread_mutex_unlock(&lock);
	return own = thread;
}

uint64_t kp_thread_number(void)
{
	const struct own *thread = get_own();

	return thread ? thread->number : UINT64_MAX;
}

static struct kp_slot *take(struct kp_slot *slots)
{
	uint64_t id = (uint64_t)gettid();

	for (size_t i = 0; slots && i < KP_SLOTS; i++) {
		uint64_t none = 0;
		if (__atomic_load_n(&slots[i].thread, __ATOMIC_RELAXED) == 0 &&
			__atomic_compare_exchange_n(&slots[i].thread, &none, id, false,
				__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return &slots[i];
	}
	return NULL;
}

static struct kp_slot *take_any(struct own *thread, struct kp_slot *slots)
{
	(void)pthread_mutex_lock(&lock);
	thread->slot = take(slots);
	if (!thread->slot)
		thread->slot = &thread->alone;
	(void)pthread_mutex_unlock(&lock);
	return thread->slot;
}

struct kp_slot *kp_thread_enter(struct kp_slot *slots)
{
	struct own *thread = get_own();

	if (!thread)
		return NULL;
	if (!thread->has_asked && kp_signals_are_on()) {
		thread->has_asked = true;
		thread->stack = kp_signals_stack();
	}
	if (thread->slot && thread->slot->signal)
		kp_signals_recovered(thread->slot);
	if (thread->slot && (!__atomic_load_n(&thread->adrift, __ATOMIC_RELAXED) ||
				    thread->slot->kernel != 0))
		return thread->slot;
	__atomic_store_n(&thread->adrift, false, __ATOMIC_RELAXED);
	return take_any(thread, slots);
}

struct kp_slot *kp_thread_mine(void)
{
	return own ? own->slot : NULL;
}

static void mark(struct kp_slot *slot, uint64_t kernel)
{
	__asm__ volatile("" ::: "memory");
	if (slot)
		__atomic_store_n(&slot->kernel, kernel, __ATOMIC_RELAXED);
	__asm__ volatile("" ::: "memory");
}

uint64_t kp_thread_inside(struct kp_slot *slots, uint64_t kernel)
{
	struct kp_slot *slot = kp_thread_enter(slots);
	uint64_t outer = slot ? slot->kernel & KP_SLOT_OWN : 0;

	mark(slot, kernel);
	return outer;
}

void kp_thread_outside(uint64_t outer)
{
	mark(kp_thread_mine(), outer);
}

uint64_t kp_thread_begin(struct kp_slot *slots)
{
	struct kp_slot *slot = kp_thread_enter(slots);

	/* Only a kernel of the application's own calls others: it was left by a jump. */
	if (slot && slot->kernel && !(slot->kernel & KP_SLOT_OWN))
		kp_signals_recovered(slot);
	/* Inside another call its memory must stay. */
	if (!slot || slot->kernel == 0)
		used = 0;
	return used;
}

void kp_thread_finish(uint64_t mark)
{
	used = mark;
	if (mark == 0)
		kp_thread_slot = kp_thread_mine();
}

bool kp_thread_leave(struct kp_slot *slots)
{
	bool stays = false;

	(void)pthread_mutex_lock(&lock);
	for (struct own *thread = all; thread; thread = thread->next) {
		if (thread->slot < slots || thread->slot >= slots + KP_SLOTS)
			continue;
		if (thread != own) {
			__atomic_store_n(&thread->adrift, true, __ATOMIC_RELAXED);
			stays = true;
		} else {
			give_back(thread);
			kp_thread_slot = NULL;
		}
	}
	(void)pthread_mutex_unlock(&lock);
	return stays;
}

/* ---- memory ------------------------------------------------------------------------ */

static char *scratch_of(struct own *thread)
{
	if (thread && !thread->scratch) {
		void *map = mmap(NULL, SCRATCH, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		thread->scratch = map == MAP_FAILED ? NULL : map;
	}
	return thread ? thread->scratch : NULL;
}

struct kp_lent kp_thread_lend(void)
{
	if (lent.memory)
		return lent;
	return (struct kp_lent){scratch_of(get_own()), &used};
}

void kp_thread_lent_back(void)
{
	if (used > 0)
		kp_thread_slot = NULL;
}

struct kp_lent kp_thread_borrow(struct kp_lent from)
{
	struct kp_lent before = lent;

	lent = from;
	return before;
}

/* Several tasks may ask at a time. */
void *kp_thread_scratch_take(size_t bytes, size_t align)
{
	struct kp_lent from = kp_thread_lend();
	uint64_t before, start, end_at;

	if (!from.memory || align == 0 || (align & (align - 1)))
		return NULL;
	before = __atomic_load_n(from.used, __ATOMIC_RELAXED);
	do {
		/* The address is to be aligned: the memory itself is to a page only. */
		uint64_t skip = -((uintptr_t)from.memory + before) & (align - 1);
		if (__builtin_add_overflow(before, skip, &start) ||
			__builtin_add_overflow(start, bytes, &end_at) || end_at > SCRATCH)
			return NULL;
	} while (!__atomic_compare_exchange_n(
		from.used, &before, end_at, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	/* The thread's next call gives it back. */
	if (!lent.memory)
		kp_thread_slot = NULL;
	return from.memory + start;
}
