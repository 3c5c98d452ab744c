/* SPDX-License-Identifier: MIT */
/* A pool of threads for one loop at a time. */
#include "lib/base/parallel.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Lies on the stack of its caller, who waits until no thread is in it. */
struct loop {
	int (*task)(void *arg, uint64_t i);
	void *arg;
	uint64_t n;
	atomic_uint_fast64_t next; /* index that nobody has taken yet */
	uint64_t failed;	   /* the lowest index that failed, n for none */
	int status;		   /* of that one */
};

struct kp_parallel {
	pthread_mutex_t mutex; /* guards all below, and what failed in the loop */
	pthread_cond_t work;   /* a loop has come, or the end */
	pthread_cond_t done;   /* no thread is in the loop any more */
	struct loop *loop;     /* that threads may enter */
	uint64_t number;       /* of that loop; a thread enters each once */
	unsigned inside;       /* threads of the pool in it */
	bool busy, ending;
	unsigned threads, started;
	pthread_t own[];
};

static void fail(struct kp_parallel *pool, struct loop *loop, uint64_t i, int status)
{
	pthread_mutex_lock(&pool->mutex);
	if (i < loop->failed) {
		loop->failed = i;
		loop->status = status;
	}
	pthread_mutex_unlock(&pool->mutex);
}

/* Takes indexes until there are none. */
static void take_part(struct kp_parallel *pool, struct loop *loop)
{
	uint64_t i;

	while ((i = atomic_fetch_add_explicit(&loop->next, 1, memory_order_relaxed)) <
		loop->n) {
		int status = loop->task(loop->arg, i);
		if (status != 0)
			fail(pool, loop, i, status);
	}
}

static void *work(void *context)
{
	struct kp_parallel *pool = context;
	uint64_t last = 0;

	pthread_mutex_lock(&pool->mutex);
	while (!pool->ending) {
		struct loop *loop = pool->loop;
		if (!loop || pool->number == last) {
			pthread_cond_wait(&pool->work, &pool->mutex);
			continue;
		}
		last = pool->number;
		pool->inside++;
		pthread_mutex_unlock(&pool->mutex);
		take_part(pool, loop);
		pthread_mutex_lock(&pool->mutex);
		if (--pool->inside == 0)
			pthread_cond_signal(&pool->done);
	}
	pthread_mutex_unlock(&pool->mutex);
	return NULL;
}

/*
 * Signals are for the threads of the process that expect them. Not so faults of the
 * thread itself: where they are blocked, no handler learns of them.
 */
static int start(struct kp_parallel *pool)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
	sigset_t all, before;
	int failed = 0;

	sigfillset(&all);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigdelset(&all, faults[i]);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (!failed && pool->started < pool->threads - 1) {
		failed = pthread_create(&pool->own[pool->started], NULL, work, pool);
		pool->started += !failed;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return failed;
}

int kp_parallel_new(unsigned threads, struct kp_parallel **pool, struct kp_diag *diag)
{
	if (threads < 1 || threads > KP_PARALLEL_MOST)
		return kp_diag_set(diag, "bad_threads", NULL,
			"1 to %d threads can share a loop, not %u", KP_PARALLEL_MOST,
			threads);
	struct kp_parallel *made =
		calloc(1, sizeof(*made) + (threads - 1) * sizeof(made->own[0]));
	if (!made)
		return kp_diag_no_memory(diag);
	made->threads = threads;
	pthread_mutex_init(&made->mutex, NULL);
	pthread_cond_init(&made->work, NULL);
	pthread_cond_init(&made->done, NULL);
	int failed = start(made);
	if (failed) {
		kp_diag_set(diag, "no_threads", NULL,
			"cannot start thread %u of %u: %s; ask for fewer, or raise the "
			"limit of processes",
			made->started + 2, threads, strerror(failed));
		kp_parallel_free(made);
		return -1;
	}
	*pool = made;
	return 0;
}

void kp_parallel_free(struct kp_parallel *pool)
{
	if (!pool)
		return;
	pthread_mutex_lock(&pool->mutex);
	pool->ending = true;
	pthread_cond_broadcast(&pool->work);
	pthread_mutex_unlock(&pool->mutex);
	for (unsigned i = 0; i < pool->started; i++)
		pthread_join(pool->own[i], NULL);
	pthread_cond_destroy(&pool->done);
	pthread_cond_destroy(&pool->work);
	pthread_mutex_destroy(&pool->mutex);
	free(pool);
}

unsigned kp_parallel_threads(const struct kp_parallel *pool)
{
	return pool->threads;
}

/* False: another loop has the threads. */
static bool open_loop(struct kp_parallel *pool, struct loop *loop)
{
	bool opened = false;

	pthread_mutex_lock(&pool->mutex);
	if (!pool->busy) {
		pool->busy = opened = true;
		pool->loop = loop;
		pool->number++;
		pthread_cond_broadcast(&pool->work);
	}
	pthread_mutex_unlock(&pool->mutex);
	return opened;
}

/* Every index is taken: who is inside finishes the last ones, nobody else enters. */
static void close_loop(struct kp_parallel *pool)
{
	pthread_mutex_lock(&pool->mutex);
	pool->loop = NULL;
	while (pool->inside > 0)
		pthread_cond_wait(&pool->done, &pool->mutex);
	pool->busy = false;
	pthread_mutex_unlock(&pool->mutex);
}

int kp_parallel_for(struct kp_parallel *pool, uint64_t n,
	int (*task)(void *arg, uint64_t i), void *arg)
{
	struct loop loop = {.task = task, .arg = arg, .n = n, .failed = n};
	bool shared = n > 1 && pool->started > 0 && open_loop(pool, &loop);

	take_part(pool, &loop);
	if (shared)
		close_loop(pool);
	return loop.status;
}
