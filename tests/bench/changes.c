/* SPDX-License-Identifier: MIT */
/*
 * Calls of a site while plugind changes what it runs. Prints the unit, then pairs.
 * usage: changes MODE COUNT SOCKET [NAME]
 *
 * obey:  from the commit of a `disable` until the first call of another kernel has
 *        returned, in a thread that does nothing but call; without a peer: 0
 * storm: calls while NAME, which the site does not run, is disabled and enabled 1,000
 *        times a second, against nothing of the kind; fails where it was less often
 */
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "kplug/host.h"
#include "lib/host/control.h"
#include "lib/host/site.h"
#include "lib/protocol/client.h"

enum {
	FEW = 16,
	CALLS = 8000000,
	A_SECOND = 1000,
	ENOUGH = 980,
	TIMEOUT_MS = 30000,
	WARM = 20
};

struct bench {
	const char *socket;
	struct kp_handle *handle;
	struct kp_site *site;
	float memory[2][FEW];
	int64_t shape, stride;
	struct kp_tensor tensors[2];
	const struct kp_tensor *list[2];
	struct kp_call call;
};

static _Noreturn void die(const char *what, const char *why)
{
	(void)fprintf(stderr, "changes: %s: %s\n", what, why);
	exit(1);
}

static int64_t now_ns(clockid_t clock)
{
	struct timespec t;
	(void)clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void set_up(struct bench *bench, const char *socket)
{
	struct kp_error error = {.size = sizeof(error)};
	struct kp_options options = {.size = sizeof(options), .socket = socket};
	struct kp_site_options said = {.size = sizeof(said),
		.flags = KP_SITE_CHECKED,
		.operation = "elementwise/square"};

	*bench = (struct bench){.socket = socket, .shape = FEW, .stride = 1};
	if (kp_open(&options, &bench->handle, &error) != KP_OK ||
		kp_site_new(bench->handle, &said, &bench->site, &error) != KP_OK)
		die("set-up", error.text);
	for (int i = 0; i < 2; i++) {
		bench->tensors[i] = (struct kp_tensor){.data = bench->memory[i],
			.device = {KP_DEVICE_CPU, 0},
			.ndim = 1,
			.dtype = {KP_CODE_FLOAT, 32, 1},
			.shape = &bench->shape,
			.strides = &bench->stride};
		bench->list[i] = &bench->tensors[i];
	}
	(void)kp_call_init(bench->site, &bench->call);
	bench->call.tensors = bench->list;
	bench->call.n_tensors = 2;
	if (kp_run(bench->site, &bench->call) != KP_OK)
		die("kp_run", "the first call failed");
}

/* A core of its own; plugind and all else have the first. Where there is one, so be it.
 */
static void stand_apart(int core)
{
	cpu_set_t cores;

	CPU_ZERO(&cores);
	CPU_SET(core, &cores);
	(void)pthread_setaffinity_np(pthread_self(), sizeof(cores), &cores);
}

/* Whoever may runs before all else: what is measured is not how busy the machine is. */
static void go_first(void)
{
	(void)sched_setscheduler(
		0, SCHED_FIFO, &(struct sched_param){.sched_priority = 1});
}

/* ---- deciding -----------------------------------------------------------------------
 */

static struct kp_client *dial(const char *socket)
{
	struct kp_client *client;
	struct kp_diag diag;

	if (kp_client_open(socket, TIMEOUT_MS, &client, &diag) < 0)
		die("client", diag.message);
	return client;
}

static void change(struct kp_client *client, bool off, const char *name)
{
	json_t *parameters = json_pack("{s:s}", "name", name);
	const char *method = off ? "Disable" : "Enable";
	struct kp_reply_message reply;
	struct kp_diag diag;

	if (off)
		(void)json_object_set_new(parameters, "runtime", json_true());
	if (kp_client_call(client, method, parameters, &reply, &diag) < 0)
		die(method, diag.message);
	if (reply.error)
		die(method, reply.error);
	json_decref(parameters);
	kp_reply_message_finish(&reply);
}

/* ---- obeying -----------------------------------------------------------------------
 */

struct spin {
	struct bench *bench;
	bool over;	  /* atomic */
	unsigned changes; /* of the kernel that runs; atomic */
	int64_t at;	  /* of the last one, before `changes` */
};

static void *spin(void *context)
{
	struct spin *spin = context;
	struct kp_site *site = spin->bench->site;
	const struct kp_rung *before = site->rung;
	unsigned changes = 0;

	stand_apart(1);
	__atomic_store_n(&spin->changes, ++changes, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&spin->over, __ATOMIC_RELAXED)) {
		if (kp_run(site, &spin->bench->call) != KP_OK)
			die("obey", "a call failed");
		if (site->rung == before)
			continue;
		spin->at = now_ns(CLOCK_MONOTONIC);
		before = site->rung;
		__atomic_store_n(&spin->changes, ++changes, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void await(const struct spin *spin, unsigned changes)
{
	while (__atomic_load_n(&spin->changes, __ATOMIC_ACQUIRE) < changes)
		(void)usleep(50);
}

static void obey(struct bench *bench, int count)
{
	const struct kp_control *control = kp_site_inner(bench->site)->handle->control;
	struct kp_client *client = dial(bench->socket);
	struct spin context = {.bench = bench};
	char name[KP_KERNEL_ID_BYTES];
	pthread_t thread;

	go_first();

	(void)snprintf(name, sizeof(name), "%s", bench->site->rung->name);
	if (pthread_create(&thread, NULL, spin, &context) != 0)
		die("obey", "no thread");
	(void)puts("us");
	await(&context, 1);
	for (int i = 0; i < count + WARM; i++) {
		change(client, true, name);
		await(&context, 2 * (unsigned)i + 2);
		/* Nothing else has changed since. */
		uint64_t from = __atomic_load_n(&control->changed_ns, __ATOMIC_ACQUIRE);
		double us = (double)(context.at - (int64_t)from) / 1e3;
		change(client, false, name);
		await(&context, 2 * (unsigned)i + 3);
		if (i >= WARM)
			(void)printf("%.3f 0\n", us);
	}
	__atomic_store_n(&context.over, true, __ATOMIC_RELAXED);
	(void)pthread_join(thread, NULL);
	kp_client_close(client);
}

/* ---- a storm ------------------------------------------------------------------------
 */

struct storm {
	const char *socket, *name;
	bool over; /* atomic */
	unsigned changes;
	double seconds;
};

static void *blow(void *context)
{
	struct storm *storm = context;
	struct kp_client *client = dial(storm->socket);
	int64_t from = now_ns(CLOCK_MONOTONIC);

	while (!__atomic_load_n(&storm->over, __ATOMIC_RELAXED)) {
		int64_t at = from + (int64_t)storm->changes * 1000000000 / A_SECOND;
		struct timespec until = {at / 1000000000, at % 1000000000};
		(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		change(client, storm->changes % 2 == 0, storm->name);
		storm->changes++;
	}
	storm->seconds = (double)(now_ns(CLOCK_MONOTONIC) - from) / 1e9;
	kp_client_close(client);
	return NULL;
}

static double time_calls(struct bench *bench)
{
	int64_t from = now_ns(CLOCK_MONOTONIC);
	int failed = 0;

	for (int i = 0; i < CALLS; i++)
		failed |= kp_run(bench->site, &bench->call);
	if (failed)
		die("storm", "a call failed");
	return (double)(now_ns(CLOCK_MONOTONIC) - from) / CALLS;
}

static int storm(struct bench *bench, int pairs, const char *name)
{
	struct storm blowing = {.socket = bench->socket, .name = name};
	unsigned changes = 0;
	double seconds = 0;

	stand_apart(1);
	(void)puts("ns");
	for (int i = 0; i < pairs; i++) {
		pthread_t thread;
		double quiet = time_calls(bench);
		blowing.over = false;
		blowing.changes = 0;
		stand_apart(0);
		if (pthread_create(&thread, NULL, blow, &blowing) != 0)
			die("storm", "no thread");
		stand_apart(1);
		double stormy = time_calls(bench);
		__atomic_store_n(&blowing.over, true, __ATOMIC_RELAXED);
		(void)pthread_join(thread, NULL);
		changes += blowing.changes;
		seconds += blowing.seconds;
		(void)printf("%.4f %.4f\n", stormy, quiet);
	}
	if (changes / seconds < ENOUGH)
		(void)fprintf(stderr, "changes: only %.0f a second\n", changes / seconds);
	return changes / seconds < ENOUGH;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 3 ? argv[1] : "";
	int count = argc > 3 ? (int)strtol(argv[2], NULL, 10) : 0;
	struct bench bench;
	int result = 0;

	stand_apart(0);
	if (count < 1)
		die("usage", "changes MODE COUNT SOCKET [NAME]");
	set_up(&bench, argv[3]);
	if (strcmp(mode, "obey") == 0)
		obey(&bench, count);
	else if (strcmp(mode, "storm") == 0 && argc > 4)
		result = storm(&bench, count, argv[4]);
	else
		die("usage", "no such mode");
	kp_close(bench.handle);
	return result;
}
