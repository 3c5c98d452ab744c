/* SPDX-License-Identifier: MIT */
/*
 * An application that calls kernels without an end and holds each result against what its
 * plugin is known to compute. Prints one JSON object when it is told to end (SIGTERM):
 * calls, wrong, and the first that was wrong. Sees kplug/host.h alone.
 *
 * Two sites of one operation: whatever is selected, of which the first in rank is off
 * from time to time, and a kernel that is upgraded from time to time.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kplug/host.h"
#include "tests/soak/page.h"

enum { CALLS_A_TURN = 64, NAP_NS = 4000000, ANEW_S = 5, TEXT = 240 };
enum { OPEN, CHOSEN, SITES };

struct application {
	const struct soak_page *page;
	const char *socket;
	uint32_t index;
	struct kp_handle *kplug;
	struct kp_site *sites[SITES];
	struct kp_call calls[SITES];
	struct kp_error error;
	float x[SOAK_EXTENT], y[SOAK_EXTENT];
	struct kp_tensor tensors[2];
	const struct kp_tensor *list[2];
	uint32_t oldest[SOAK_GOOD_MOST]; /* as it was before the calls of a turn */
	uint64_t n, wrong, opened;
	char first[TEXT];
};

static volatile sig_atomic_t ended;

static void end(int number)
{
	(void)number;
	ended = 1;
}

static _Noreturn void die(const char *what, const char *why)
{
	(void)fprintf(stderr, "application: %s: %s\n", what, why);
	exit(1);
}

/* ---- sites --------------------------------------------------------------------------
 */

static void make_site(struct application *a, int which)
{
	char operation[32], chosen[2 * SOAK_NAME], label[32];
	struct kp_site_options options = {KP_SIZED(struct kp_site_options),
		.operation = operation, .label = label,
		.override_with = which == CHOSEN ? chosen : NULL};
	struct kp_call *call = &a->calls[which];

	(void)snprintf(operation, sizeof(operation), "soak/part%02u", a->index);
	(void)snprintf(
		chosen, sizeof(chosen), "good%04u/stamp", a->page->parts + a->index);
	(void)snprintf(label, sizeof(label), "%s.%u", which == CHOSEN ? "chosen" : "open",
		a->index);
	if (kp_site_new(a->kplug, &options, &a->sites[which], &a->error) != KP_OK)
		die("kp_site_new", a->error.text);
	if (kp_call_init(a->sites[which], call) != KP_OK)
		die("kp_call_init", operation);
	call->tensors = a->list;
	call->n_tensors = 2;
	call->error = &a->error;
}

static void open_handle(struct application *a)
{
	char name[32];
	struct kp_options options = {.size = sizeof(options),
		.flags = KP_NO_DAEMON,
		.socket = a->socket,
		.name = name};

	(void)snprintf(name, sizeof(name), "soak.%u", a->index);
	if (kp_open(&options, &a->kplug, &a->error) != KP_OK)
		die("kp_open", a->error.text);
	for (int i = 0; i < SITES; i++)
		make_site(a, i);
	a->opened++;
}

static void make_tensors(struct application *a)
{
	static int64_t shape = SOAK_EXTENT, stride = 1;

	for (int i = 0; i < 2; i++) {
		a->tensors[i] = (struct kp_tensor){.data = i ? a->y : a->x,
			.device = {KP_DEVICE_CPU, 0},
			.ndim = 1,
			.dtype = {KP_CODE_FLOAT, 32, 1},
			.shape = &shape,
			.strides = &stride};
		a->list[i] = &a->tensors[i];
	}
}

/* ---- results ------------------------------------------------------------------------
 */

static void wrong(struct application *a, const char *what, int status)
{
	if (a->wrong++ > 0)
		return;
	(void)snprintf(a->first, sizeof(a->first),
		"part%02u: %s: status %d, plugin %g, content %g, square %g, sum %g: "
		"%.100s",
		a->index, what, status, (double)a->y[0], (double)a->y[1], (double)a->y[2],
		(double)a->y[3], status ? a->error.text : "");
}

/* What the result says of its plugin is what that plugin computes: NULL, or what not. */
static const char *judge(const struct application *a, int which, uint32_t off)
{
	uint32_t number = (uint32_t)a->y[0], content = (uint32_t)a->y[1];
	const struct soak_plugin *plugin;

	if (a->y[0] < 0 || number >= a->page->good || a->y[2] != a->x[0] * a->x[0] ||
		a->y[3] != (float)(number * 4096 + content))
		return "no plugin computes that";
	plugin = &a->page->plugins[number];
	if (number % a->page->parts != a->index)
		return "of another operation";
	if (which == CHOSEN && number != a->page->parts + a->index)
		return "not the one that was chosen";
	if (number == a->index && (off & 1) && soak_load(&plugin->off) == off)
		return "it was disabled";
	if (!soak_may_run(content, a->oldest[number], soak_load(&plugin->newest),
		    plugin->cycle))
		return "not the library that is installed";
	return NULL;
}

static void call_once(struct application *a, int which)
{
	uint32_t off = soak_load(&a->page->plugins[a->index].off);
	const char *what;

	a->x[0] = (float)(a->n++ % 100 + 1);
	for (int i = 0; i < SOAK_EXTENT; i++)
		a->y[i] = -1;
	int status = kp_run(a->sites[which], &a->calls[which]);
	what = status == KP_OK ? judge(a, which, off) : "the call failed";
	if (what)
		wrong(a, what, status);
}

static void take_turn(struct application *a)
{
	for (uint32_t i = a->index; i < a->page->good; i += a->page->parts)
		a->oldest[i] = soak_load(&a->page->plugins[i].oldest);
	for (int i = 0; i < CALLS_A_TURN; i++)
		for (int which = 0; which < SITES; which++)
			call_once(a, which);
}

/* ---- life ---------------------------------------------------------------------------
 */

/* Some leave and come again all the time. */
static void come_again(struct application *a, time_t *since)
{
	time_t now = time(NULL);

	if (a->index % 4 != 0 || now - *since < ANEW_S)
		return;
	*since = now;
	kp_close(a->kplug);
	open_handle(a);
}

static void run(struct application *a)
{
	const struct timespec nap = {.tv_nsec = NAP_NS};
	time_t since = time(NULL);

	while (!ended) {
		take_turn(a);
		come_again(a, &since);
		(void)nanosleep(&nap, NULL);
	}
}

static void print_text(const char *text)
{
	for (; *text; text++)
		if (*text >= ' ' && *text != '"' && *text != '\\' && *text != 0x7f)
			(void)putchar(*text);
}

static void report(const struct application *a)
{
	(void)printf("{\"calls\": %" PRIu64 ", \"wrong\": %" PRIu64
		     ", \"opened\": %" PRIu64 ", \"first\": \"",
		a->n, a->wrong, a->opened);
	print_text(a->first);
	(void)puts("\"}");
}

int main(int argc, char **argv)
{
	struct application *a = calloc(1, sizeof(*a));

	if (!a || argc != 4)
		die("usage", "application SOCKET PAGE INDEX");
	a->socket = argv[1];
	a->page = soak_page_map(argv[2], false);
	a->index = (uint32_t)strtoul(argv[3], NULL, 10);
	a->error.size = sizeof(a->error);
	if (!a->page)
		die(argv[2], strerror(errno));
	(void)signal(SIGTERM, end);
	make_tensors(a);
	open_handle(a);
	run(a);
	kp_close(a->kplug);
	report(a);
	free(a);
	return 0;
}
