/* SPDX-License-Identifier: MIT */
/* The services of a handle, and those of the process. */
#include "lib/host/services.h"

#include "lib/host/thread.h"

static void write_log(void *context, int level, const char *text)
{
	const struct kp_services *services = context;

	if (level >= KP_LOG_ERROR && level <= KP_LOG_DEBUG && text)
		kp_log(services->log, (enum kp_log_level)level, "%s", text);
}

static void *take_scratch(void *context, size_t bytes, size_t align)
{
	(void)context;
	return kp_thread_scratch_take(bytes, align);
}

static int is_cancelled(void *context)
{
	(void)context;
	return 0;
}

struct loop {
	int (*task)(void *arg, uint64_t i);
	void *arg;
	struct kp_slot *slots;
	uint64_t kernel; /* that the caller is in: so are those who help */
	struct kp_lent lent;
};

static int run_task(void *context, uint64_t i)
{
	const struct loop *loop = context;
	struct kp_slot *slot = kp_thread_enter(loop->slots);
	uint64_t outer = slot ? slot->kernel : 0;
	struct kp_lent before = kp_thread_borrow(loop->lent);

	if (slot)
		__atomic_store_n(&slot->kernel, loop->kernel, __ATOMIC_RELAXED);
	int status = loop->task(loop->arg, i);
	if (slot)
		__atomic_store_n(&slot->kernel, outer, __ATOMIC_RELAXED);
	(void)kp_thread_borrow(before);
	return status;
}

static int run_alone(uint64_t n, int (*task)(void *arg, uint64_t i), void *arg)
{
	int first = KP_OK;

	for (uint64_t i = 0; i < n; i++) {
		int status = task(arg, i);
		if (first == KP_OK)
			first = status;
	}
	return first;
}

static int run_all(
	void *context, uint64_t n, int (*task)(void *arg, uint64_t i), void *arg)
{
	const struct kp_services *services = context;

	if (!services || !services->pool || n < 2)
		return run_alone(n, task, arg);
	const struct kp_slot *slot = kp_thread_mine();
	struct loop loop = {
		task, arg, services->slots, slot ? slot->kernel : 0, kp_thread_lend()};
	int status = kp_parallel_for(services->pool, n, run_task, &loop);
	kp_thread_lent_back();
	return status;
}

static void write_process_log(void *context, int level, const char *text)
{
	(void)context;
	kp_log_process(level, text);
}

const struct kp_host kp_services_process = {KP_SIZED(struct kp_host), NULL,
	write_process_log, take_scratch, run_all, is_cancelled};

int kp_services_init(struct kp_services *services, unsigned threads,
	const struct kp_log *log, struct kp_diag *diag)
{
	struct kp_parallel *pool = NULL;

	if (threads > 1 && kp_parallel_new(threads, &pool, diag) < 0)
		return -1;
	*services = (struct kp_services){
		.host = {KP_SIZED(struct kp_host), services, write_log, take_scratch,
			run_all, is_cancelled},
		.pool = pool,
		.log = log,
	};
	return 0;
}

void kp_services_finish(struct kp_services *services)
{
	kp_parallel_free(services->pool);
	services->pool = NULL;
}
