/* SPDX-License-Identifier: MIT */
/*
 * Calls at a site of which one in so many is compared with the reference, against calls
 * at one without: gemm/mm over 256 x 256 x 256 in f32. Prints the unit, then pairs.
 * usage: guard PAIRS SOCKET EVERY
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "kplug/host.h"

enum { EXTENT = 256, CALLS = 250 };

static struct kp_error error = {.size = sizeof(error)};

static _Noreturn void die(const char *what)
{
	(void)fprintf(stderr, "guard: %s: %s\n", what, error.text);
	exit(1);
}

static double now_us(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static struct kp_site *make_site(struct kp_handle *handle, uint32_t every)
{
	const struct kp_site_options options = {.size = sizeof(options),
		.operation = "gemm/mm",
		.flags = KP_SITE_CHECKED,
		.guard_every = every};
	struct kp_site *site = NULL;

	if (kp_site_new(handle, &options, &site, &error) != KP_OK)
		die("site");
	return site;
}

/* Microseconds of the thread a call, over so many. */
static double time_calls(struct kp_site *site, void *const *data, int calls)
{
	static const int64_t dims[] = {EXTENT, EXTENT, EXTENT};
	double from = now_us();

	for (int i = 0; i < calls; i++)
		if (kp_run_dense(site, data, dims, NULL, &error) != KP_OK)
			die("call");
	return (now_us() - from) / calls;
}

int main(int argc, char **argv)
{
	static float memory[3][EXTENT * EXTENT];
	void *const data[] = {memory[0], memory[1], memory[2]};
	struct kp_options options = {.size = sizeof(options)};
	struct kp_handle *handle = NULL;
	int pairs = argc == 4 ? atoi(argv[1]) : 0, every = argc == 4 ? atoi(argv[3]) : 0;

	if (pairs < 1 || every < 1)
		die("usage: guard PAIRS SOCKET EVERY");
	options.socket = argv[2];
	if (kp_open(&options, &handle, &error) != KP_OK)
		die("open");
	for (int i = 0; i < 2 * EXTENT * EXTENT; i++)
		memory[i / (EXTENT * EXTENT)][i % (EXTENT * EXTENT)] =
			(float)(i * 7 % 101) / 101 - 0.5f;
	struct kp_site *guarded = make_site(handle, (uint32_t)every);
	struct kp_site *plain = make_site(handle, 0);
	/* As many as have one that is compared among them, or a round number. */
	int calls = every > 1 ? every : CALLS;
	(void)time_calls(guarded, data, every);
	(void)time_calls(plain, data, CALLS);
	(void)puts("us");
	for (int i = 0; i < pairs; i++) {
		double ours = time_calls(guarded, data, calls);
		(void)printf("%.3f %.3f\n", ours, time_calls(plain, data, calls));
	}
	kp_close(handle);
	return 0;
}
