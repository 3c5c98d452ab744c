/* SPDX-License-Identifier: MIT */
/*
 * How long it takes to be attached to plugind. Prints microseconds, one sample a line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "lib/host/attach.h"

enum { SAMPLES_MOST = 100000 };

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

int main(int argc, char **argv)
{
	long count = argc == 3 ? strtol(argv[2], NULL, 10) : 0;

	if (count <= 0 || count > SAMPLES_MOST) {
		(void)fputs("usage: attach SOCKET COUNT\n", stderr);
		return 2;
	}
	time_opening(argv[1], count);
	return 0;
}
