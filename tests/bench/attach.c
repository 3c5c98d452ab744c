/* SPDX-License-Identifier: MIT */
/*
 * An application that is attached: how long that takes, and how long after plugind's
 * commit a thread that does nothing else sees that a kernel is off. Prints microseconds,
 * one sample a line.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/host/attach.h"
#include "lib/protocol/client.h"

enum { TIMEOUT_MS = 30000, SAMPLES_MOST = 100000, WARM = 10 };

static const char usage[] = "usage: attach open|obey SOCKET COUNT [KERNEL]\n";

static void die(const char *why)
{
	(void)fprintf(stderr, "attach: %s\n", why);
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static struct kp_attach *attach(const char *socket)
{
	struct kp_attach_options options = {.socket = socket, .name = "bench"};
	struct kp_attach *made;
	struct kp_diag diag;

	if (kp_attach_new(&options, &made, &diag) < 0)
		die(diag.message);
	return made;
}

static void time_opening(const char *socket, long count)
{
	for (long i = 0; i < count; i++) {
		uint64_t start = now_ns();
		struct kp_attach *made = attach(socket);
		uint64_t end = now_ns();
		kp_attach_free(made);
		(void)printf("%.3f\n", (double)(end - start) / 1e3);
	}
}

/* ---- obeying ----------------------------------------------------------------- */

struct spin {
	const struct kp_control *control;
	uint32_t number;
	long count; /* of changes of the bit */
	long seen;  /* of them; atomic */
	double *us;
};

static void *spin(void *context)
{
	struct spin *spin = context;
	bool before = kp_control_is_off(spin->control, spin->number);

	for (long i = 0; i < spin->count; i++) {
		while (kp_control_is_off(spin->control, spin->number) == before)
			;
		uint64_t seen = now_ns();
		before = !before;
		/* The time is stored before the bits. */
		uint64_t at =
			__atomic_load_n(&spin->control->changed_ns, __ATOMIC_ACQUIRE);
		spin->us[i] = (double)(seen - at) / 1e3;
		__atomic_store_n(&spin->seen, i + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void change(struct kp_client *client, const char *kernel, bool off)
{
	json_t *parameters = json_pack("{s:s}", "name", kernel);
	struct kp_reply_message reply;
	struct kp_diag diag;

	if (off)
		(void)json_object_set_new(parameters, "runtime", json_true());
	if (kp_client_call(
		    client, off ? "Disable" : "Enable", parameters, &reply, &diag) < 0)
		die(diag.message);
	if (reply.error)
		die(reply.error);
	kp_reply_message_finish(&reply);
	json_decref(parameters);
}

static void time_obeying(const char *socket, long count, const char *kernel)
{
	struct kp_attach *made = attach(socket);
	struct kp_view *view = kp_attach_view(made, 0, 0);
	struct kp_client *client;
	struct kp_diag diag;
	pthread_t thread;
	size_t i;

	if (kp_table_find(&view->table, NULL, kernel, &i, &diag) < 0 ||
		kp_client_open(socket, TIMEOUT_MS, &client, &diag) < 0)
		die(diag.message);
	struct spin context = {.control = kp_attach_control(made),
		.number = view->numbers[i],
		.count = count + WARM,
		.us = calloc((size_t)count + WARM, sizeof(double))};
	kp_view_drop(view);
	if (!context.us || pthread_create(&thread, NULL, spin, &context) != 0)
		die("no memory");
	for (long k = 0; k < count + WARM; k++) {
		change(client, kernel, k % 2 == 0);
		/* One that is taken off the processor must not miss two of them. */
		while (__atomic_load_n(&context.seen, __ATOMIC_ACQUIRE) <= k)
			(void)sched_yield();
	}
	(void)pthread_join(thread, NULL);
	for (long k = WARM; k < count + WARM; k++)
		(void)printf("%.3f\n", context.us[k]);
	free(context.us);
	kp_client_close(client);
	kp_attach_free(made);
}

int main(int argc, char **argv)
{
	long count = argc > 3 ? strtol(argv[3], NULL, 10) : 0;

	if (count <= 0 || count > SAMPLES_MOST) {
		(void)fputs(usage, stderr);
		return 2;
	}
	if (argc == 4 && strcmp(argv[1], "open") == 0)
		time_opening(argv[2], count);
	else if (argc == 5 && strcmp(argv[1], "obey") == 0)
		time_obeying(argv[2], count, argv[4]);
	else {
		(void)fputs(usage, stderr);
		return 2;
	}
	return 0;
}
