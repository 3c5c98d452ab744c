/* SPDX-License-Identifier: MIT */
/*
 * A chain of one link a signal. Everything that runs in a handler is async-signal-safe:
 * loads, stores, sigaction(2) and system calls.
 */
#include "lib/host/signals.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "lib/host/thread.h"

enum {
	SIGNALS = 5,
	WATCHED = 16,
	STACK_BYTES = 128 << 10, /* handlers of others run here, too */
	GUARD_BYTES = 64 << 10,	 /* a page, however large it is */
};

static const int numbers[SIGNALS] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

struct link {
	struct sigaction earlier; /* written while ours is not installed */
	bool is_in;		  /* installed, perhaps behind another one */
	bool was_reset;		  /* atomic: SA_RESETHAND, and it was called */
};

static struct link chain[SIGNALS];
static struct kp_told *watched[WATCHED];   /* atomic */
static const char *labels[KP_SLOT_LABELS]; /* atomic; the first stays free */
static unsigned n_labels = 1;
static size_t uses;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* ---- stamping, in a handler ------------------------------------------------------ */

static void tell(uint64_t fatal)
{
	for (size_t i = 0; i < WATCHED; i++) {
		struct kp_told *told = __atomic_load_n(&watched[i], __ATOMIC_ACQUIRE);
		if (told)
			__atomic_store_n(&told->fatal, fatal, __ATOMIC_RELEASE);
	}
}

/* What this thread told; another one may have crashed since. */
static void take_back(void)
{
	uint64_t thread = (uint64_t)gettid();

	for (size_t i = 0; i < WATCHED; i++) {
		struct kp_told *told = __atomic_load_n(&watched[i], __ATOMIC_ACQUIRE);
		uint64_t fatal =
			told ? __atomic_load_n(&told->fatal, __ATOMIC_RELAXED) : 0;
		if (fatal && fatal >> 32 == thread)
			(void)__atomic_compare_exchange_n(&told->fatal, &fatal, 0, false,
				__ATOMIC_RELAXED, __ATOMIC_RELAXED);
	}
}

/*
 * Did the thread send it to itself, as abort(3) and raise(3) do? Then it has just
 * returned from tgkill(2), whose arguments are still in its registers. si_code and si_pid
 * are the same where another thread of the process sent it.
 */
static bool is_of_itself(int number, const siginfo_t *info, const ucontext_t *at)
{
	uint64_t thread, sent;

#if defined(__x86_64__)
	thread = (uint64_t)at->uc_mcontext.gregs[REG_RSI];
	sent = (uint64_t)at->uc_mcontext.gregs[REG_RDX];
#elif defined(__aarch64__)
	thread = at->uc_mcontext.regs[1];
	sent = at->uc_mcontext.regs[2];
#else
	(void)at;
	thread = (uint64_t)gettid();
	sent = (uint64_t)number;
#endif
	return info->si_code == SI_TKILL && info->si_pid == getpid() &&
	       (uint32_t)thread == (uint32_t)gettid() && (int)sent == number;
}

static void mark(struct kp_slot *slot, int number, const siginfo_t *info)
{
	const char *label =
		__atomic_load_n(&labels[kp_slot_label(slot->kernel)], __ATOMIC_ACQUIRE);
	size_t i = 0;

	for (; label && label[i] && i < sizeof(slot->label) - 1; i++)
		slot->label[i] = label[i];
	slot->label[i] = '\0';
	slot->address = info->si_code > 0 ? (uint64_t)(uintptr_t)info->si_addr : 0;
	__atomic_store_n(&slot->signal, (uint64_t)number, __ATOMIC_RELEASE);
}

static void stamp(int number, const siginfo_t *info, const ucontext_t *at)
{
	struct kp_slot *slot = kp_thread_mine();
	bool is_sent = info->si_code <= 0 && !is_of_itself(number, info, at);
	bool is_inside = slot && slot->kernel;

	/* The first is the cause: a handler may well abort. */
	if (is_inside && !is_sent && slot->signal == 0)
		mark(slot, number, info);
	tell((uint64_t)gettid() << 32 | (unsigned)number |
		(is_sent ? KP_FATAL_SENT : 0U) | (is_inside ? KP_FATAL_INSIDE : 0U));
	/* Who recovers goes the whole way with the next call, which clears it. */
	kp_thread_slot = NULL;
}

/* ---- passing on, in a handler ---------------------------------------------------- */

/* Will the instruction that was interrupted raise it again? */
static bool is_repeated(int number, const siginfo_t *info)
{
	return info->si_code > 0 && number != SIGABRT &&
	       !(number == SIGBUS && info->si_code == BUS_MCEERR_AO);
}

/* The default of one that a fault raised comes by itself. */
static void take_default(int number, siginfo_t *info)
{
	struct sigaction action = {.sa_handler = SIG_DFL};

	(void)sigaction(number, &action, NULL);
	if (is_repeated(number, info))
		return;
	/* It is blocked until the handler returns. */
	if (syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), number, info) < 0)
		(void)syscall(SYS_tgkill, getpid(), gettid(), number);
}

static struct link *link_of(int number)
{
	size_t i = 0;

	while (i < SIGNALS - 1 && numbers[i] != number)
		i++;
	return &chain[i];
}

static bool was_default(const struct link *link)
{
	return !(link->earlier.sa_flags & SA_SIGINFO) &&
	       link->earlier.sa_handler == SIG_DFL;
}

static bool is_default(struct link *link)
{
	if (was_default(link))
		return true;
	return link->earlier.sa_flags & (int)SA_RESETHAND &&
	       __atomic_exchange_n(&link->was_reset, true, __ATOMIC_RELAXED);
}

static void pass_on(const struct link *link, int number, siginfo_t *info, void *context)
{
	if (link->earlier.sa_flags & SA_SIGINFO)
		link->earlier.sa_sigaction(number, info, context);
	else
		link->earlier.sa_handler(number);
}

/* It has returned: what it was called for is mended. After SIGABRT abort(3) goes on. */
static void unstamp(int number, struct kp_slot *front)
{
	struct kp_slot *slot = kp_thread_mine();

	if (number == SIGABRT)
		return;
	if (slot)
		__atomic_store_n(&slot->signal, 0, __ATOMIC_RELAXED);
	take_back();
	kp_thread_slot = front;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	struct link *link = link_of(number);
	struct kp_slot *front = kp_thread_slot;
	int saved = errno;

	stamp(number, info, context);
	if (is_default(link)) {
		take_default(number, info);
		errno = saved;
		return;
	}
	errno = saved;
	pass_on(link, number, info, context);
	saved = errno;
	unstamp(number, front);
	errno = saved;
}

/* ---- installing ------------------------------------------------------------------ */

static bool is_ours(const struct sigaction *action)
{
	return action->sa_flags & SA_SIGINFO && action->sa_sigaction == on_signal;
}

/* One that another handler may still call stays where it is in that chain. */
static void install(size_t i)
{
	struct link *link = &chain[i];

	if (link->is_in || sigaction(numbers[i], NULL, &link->earlier) < 0)
		return;
	if (!(link->earlier.sa_flags & SA_SIGINFO) && link->earlier.sa_handler == SIG_IGN)
		return;
	/*
	 * The kernel blocks for ours what it would have blocked for that one, and has it
	 * run on the same stack, which is as large as it needs.
	 */
	struct sigaction action = {.sa_sigaction = on_signal,
		.sa_mask = link->earlier.sa_mask,
		.sa_flags = SA_SIGINFO | (was_default(link) ? SA_ONSTACK : 0) |
			    (link->earlier.sa_flags &
				    (SA_NODEFER | SA_RESTART | SA_ONSTACK))};
	link->was_reset = false;
	link->is_in = sigaction(numbers[i], &action, NULL) == 0;
}

static void take_out(size_t i)
{
	struct link *link = &chain[i];
	struct sigaction now;

	if (!link->is_in || sigaction(numbers[i], NULL, &now) < 0 || !is_ours(&now))
		return;
	if (__atomic_load_n(&link->was_reset, __ATOMIC_RELAXED))
		link->earlier = (struct sigaction){.sa_handler = SIG_DFL};
	link->is_in = sigaction(numbers[i], &link->earlier, NULL) != 0;
}

static void before_fork(void)
{
	(void)pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
	(void)pthread_mutex_unlock(&lock);
}

static void init(void)
{
	(void)pthread_atfork(before_fork, after_fork, after_fork);
}

bool kp_signals_begin(struct kp_told *told)
{
	size_t place = 0;

	(void)pthread_once(&once, init);
	(void)pthread_mutex_lock(&lock);
	while (place < WATCHED && watched[place])
		place++;
	if (place < WATCHED) {
		__atomic_store_n(&watched[place], told, __ATOMIC_RELEASE);
		__atomic_store_n(&uses, uses + 1, __ATOMIC_RELAXED);
		for (size_t i = 0; i < SIGNALS && uses == 1; i++)
			install(i);
	}
	(void)pthread_mutex_unlock(&lock);
	return place < WATCHED;
}

void kp_signals_end(struct kp_told *told)
{
	(void)pthread_mutex_lock(&lock);
	for (size_t i = 0; i < WATCHED; i++)
		if (watched[i] == told) {
			__atomic_store_n(&watched[i], NULL, __ATOMIC_RELEASE);
			__atomic_store_n(&uses, uses - 1, __ATOMIC_RELAXED);
		}
	for (size_t i = 0; i < SIGNALS && uses == 0; i++)
		take_out(i);
	(void)pthread_mutex_unlock(&lock);
}

bool kp_signals_are_on(void)
{
	return __atomic_load_n(&uses, __ATOMIC_RELAXED) > 0;
}

void kp_signals_recovered(struct kp_slot *slot)
{
	__atomic_store_n(&slot->signal, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->kernel, 0, __ATOMIC_RELAXED);
	take_back();
}

/* exit(3) is no crash, whatever was recovered from before; inside a kernel it is told. */
__attribute__((destructor)) static void on_exit_of_process(void)
{
	const struct kp_slot *slot = kp_thread_mine();

	tell(slot && slot->kernel
			? (uint64_t)gettid() << 32 | KP_FATAL_EXIT | KP_FATAL_INSIDE
			: 0);
}

/* ---- stacks ---------------------------------------------------------------------- */

void *kp_signals_stack(void)
{
	stack_t now;

	if (sigaltstack(NULL, &now) < 0 || !(now.ss_flags & SS_DISABLE))
		return NULL;
	size_t bytes = STACK_BYTES + (size_t)sysconf(_SC_MINSIGSTKSZ);
	char *map = mmap(NULL, GUARD_BYTES + bytes, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	if (map == MAP_FAILED)
		return NULL;
	const stack_t stack = {.ss_sp = map + GUARD_BYTES, .ss_size = bytes};
	if (mprotect(stack.ss_sp, bytes, PROT_READ | PROT_WRITE) == 0 &&
		sigaltstack(&stack, NULL) == 0)
		return map;
	(void)munmap(map, GUARD_BYTES + bytes);
	return NULL;
}

void kp_signals_drop_stack(void *stack)
{
	const stack_t none = {.ss_flags = SS_DISABLE};
	size_t bytes = STACK_BYTES + (size_t)sysconf(_SC_MINSIGSTKSZ);
	stack_t now;

	if (!stack)
		return;
	if (sigaltstack(NULL, &now) == 0 && now.ss_sp == (char *)stack + GUARD_BYTES &&
		sigaltstack(&none, NULL) < 0)
		return;
	(void)munmap(stack, GUARD_BYTES + bytes);
}

/* ---- labels ---------------------------------------------------------------------- */

unsigned kp_signals_label(const char *label)
{
	unsigned i = 1;
	char *copy;

	if (!label || !*label)
		return 0;
	(void)pthread_mutex_lock(&lock);
	while (i < n_labels && strcmp(labels[i], label) != 0)
		i++;
	if (i == n_labels && i < KP_SLOT_LABELS && (copy = strdup(label))) {
		__atomic_store_n(&labels[i], copy, __ATOMIC_RELEASE);
		n_labels++;
	} else if (i == n_labels) {
		i = 0;
	}
	(void)pthread_mutex_unlock(&lock);
	return i;
}
