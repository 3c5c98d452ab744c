/* SPDX-License-Identifier: MIT */
/* A host with the threads that a job asks for. */
#include "daemon/worker/measure_host.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/base/text.h"

enum { SCRATCH = 256 << 20 }; /* of addresses: pages come when they are touched */

static void write_log(void *context, int level, const char *text)
{
	static const char *const names[] = {"error", "warning", "info", "debug"};
	char clean[512];

	(void)context;
	if (level < 0 || level > 3 || !text)
		return;
	kp_text_clean(text, clean, sizeof(clean));
	(void)fprintf(stderr, "%s: %s\n", names[level], clean);
}

/* Several tasks may ask at a time. */
static void *take_scratch(void *context, size_t bytes, size_t align)
{
	struct measure_host *host = context;
	size_t used = atomic_load(&host->used), from, to;

	if (!host->scratch || align == 0 || (align & (align - 1)))
		return NULL;
	do {
		/* The address is to be aligned: the memory itself is to a page only. */
		size_t skip = -((uintptr_t)host->scratch + used) & (align - 1);
		if (__builtin_add_overflow(used, skip, &from) ||
			__builtin_add_overflow(from, bytes, &to) || to > host->size)
			return NULL;
	} while (!atomic_compare_exchange_weak(&host->used, &used, to));
	if (host->dirty)
		memset(host->scratch + from, 0xff, bytes);
	return host->scratch + from;
}

static int run_all(
	void *context, uint64_t n, int (*task)(void *arg, uint64_t i), void *arg)
{
	struct measure_host *host = context;

	return kp_parallel_for(host->pool, n, task, arg);
}

static int is_cancelled(void *context)
{
	(void)context;
	return 0;
}

int measure_host_init(struct measure_host *host, unsigned threads, struct kp_diag *diag)
{
	struct kp_parallel *pool;

	if (kp_parallel_new(threads, &pool, diag) < 0)
		return -1;
	void *map = mmap(NULL, SCRATCH, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	*host = (struct measure_host){
		.host = {KP_SIZED(struct kp_host), host, write_log, take_scratch, run_all,
			is_cancelled},
		.pool = pool,
		.scratch = map == MAP_FAILED ? NULL : map,
		.size = SCRATCH,
	};
	return 0;
}

void measure_host_finish(struct measure_host *host)
{
	kp_parallel_free(host->pool);
	if (host->scratch)
		(void)munmap(host->scratch, host->size);
	*host = (struct measure_host){.pool = NULL};
}
