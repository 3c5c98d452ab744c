/* SPDX-License-Identifier: MIT */
/* Guard pages, patterns, and the handler of faults. */
#include "daemon/worker/fence.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PATTERN = 0xa5, STACK = 64 << 10 };

/* Addresses only: a kernel that is a row or two off is still in them. */
static const size_t guard = 1 << 20;

/*
 * A signal handler gets no context: these are all that this process has for
 * good, set once by fences_watch before anything of a plugin runs.
 */
static const struct fences *watched;
static int watcher = -1;
static const char *watch_mark = "";

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static unsigned char *inside(const struct fence *fence)
{
	return fence->map + guard;
}

static size_t room(const struct fence *fence)
{
	return fence->mapped - 2 * guard;
}

static int map_memory(struct fence *fence, size_t align, struct kp_diag *diag)
{
	size_t page = page_size();
	size_t wanted;

	/* Rounded up; one page at least, so that something lies before the data. */
	if (__builtin_add_overflow(fence->bytes, align + 2 * page + 2 * guard, &wanted))
		return kp_diag_set(diag, "too_large", fence->name,
			"%s: %zu bytes are too many", fence->name, fence->bytes);
	wanted = wanted / page * page;
	void *map = mmap(NULL, wanted, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (map == MAP_FAILED)
		return kp_diag_set(diag, "no_memory", fence->name,
			"%s: there is no memory for %zu bytes", fence->name,
			fence->bytes);
	fence->map = map;
	fence->mapped = wanted;
	if (mprotect(inside(fence), room(fence), PROT_READ | PROT_WRITE) < 0)
		return kp_diag_set(diag, "no_memory", fence->name,
			"%s: there is no memory for %zu bytes", fence->name,
			fence->bytes);
	return 0;
}

struct fence *fence_add(struct fences *fences, const char *name, size_t bytes,
	size_t align, struct kp_diag *diag)
{
	struct fence *fence = &fences->items[fences->count];

	if (fences->count == FENCES) {
		kp_diag_set(
			diag, "too_large", name, "more than %d pieces of memory", FENCES);
		return NULL;
	}
	*fence = (struct fence){.bytes = bytes, .writable = true};
	(void)snprintf(fence->name, sizeof(fence->name), "%s", name);
	if (map_memory(fence, align, diag) < 0)
		return NULL;
	uintptr_t end = (uintptr_t)inside(fence) + room(fence);
	fence->data = (void *)((end - bytes) & ~((uintptr_t)align - 1));
	memset(inside(fence), PATTERN,
		(size_t)((unsigned char *)fence->data - inside(fence)));
	memset((unsigned char *)fence->data + bytes, PATTERN,
		end - (uintptr_t)fence->data - bytes);
	fences->count++;
	return fence;
}

void fence_close(struct fence *fence)
{
	fence->writable = mprotect(inside(fence), room(fence), PROT_READ) < 0;
}

void fence_open(struct fence *fence)
{
	fence->writable |=
		mprotect(inside(fence), room(fence), PROT_READ | PROT_WRITE) == 0;
}

void fences_clear(struct fences *fences)
{
	while (fences->count > 0) {
		const struct fence *fence = &fences->items[--fences->count];
		(void)munmap(fence->map, fence->mapped);
	}
}

/* The first byte that is not the pattern, or NULL. */
static const unsigned char *spoiled(const unsigned char *from, const unsigned char *to)
{
	for (; from < to; from++)
		if (*from != PATTERN)
			return from;
	return NULL;
}

static int check(const struct fence *fence, struct kp_diag *diag)
{
	const unsigned char *data = fence->data;
	const unsigned char *at = spoiled(inside(fence), data);

	if (at)
		return kp_diag_set(diag, "out_of_bounds", fence->name,
			"wrote before %s (%zu bytes before its start)", fence->name,
			(size_t)(data - at));
	at = spoiled(data + fence->bytes, inside(fence) + room(fence));
	if (at)
		return kp_diag_set(diag, "out_of_bounds", fence->name,
			"wrote behind %s (%zu bytes behind its end)", fence->name,
			(size_t)(at - data) - fence->bytes + 1);
	return 0;
}

int fences_check(const struct fences *fences, struct kp_diag *diag)
{
	for (size_t i = 0; i < fences->count; i++)
		if (fences->items[i].writable && check(&fences->items[i], diag) < 0)
			return -1;
	return 0;
}

/* ---- faults ---------------------------------------------------------------------
 *
 * In a signal handler: nothing but write(2), and a text made by hand.
 */

struct line {
	char text[256];
	size_t used;
};

static void put(struct line *line, const char *text)
{
	while (*text && line->used < sizeof(line->text))
		line->text[line->used++] = *text++;
}

static void put_number(struct line *line, size_t number)
{
	char digits[24];
	size_t at = sizeof(digits) - 1;

	digits[at] = '\0';
	do
		digits[--at] = (char)('0' + number % 10);
	while ((number /= 10) > 0);
	put(line, digits + at);
}

static void tell(const struct fence *fence, const char *side, size_t distance)
{
	struct line line = {.used = 0};

	put(&line, watch_mark);
	put(&line, *watch_mark ? " " : "");
	put(&line, "{\"fault\":{\"name\":\"");
	put(&line, fence->name);
	put(&line, "\",\"side\":\"");
	put(&line, side);
	put(&line, "\",\"distance\":");
	put_number(&line, distance);
	put(&line, "}}\n");
	if (write(watcher, line.text, line.used) < 0)
		return;
}

static void look(const unsigned char *at)
{
	for (size_t i = 0; i < watched->count; i++) {
		const struct fence *fence = &watched->items[i];
		const unsigned char *data = fence->data;
		if (at < fence->map || at >= fence->map + fence->mapped)
			continue;
		if (at < data)
			tell(fence, "before", (size_t)(data - at));
		else if (at >= data + fence->bytes)
			tell(fence, "behind", (size_t)(at - data) - fence->bytes + 1);
		else
			tell(fence, "inside", (size_t)(at - data));
		return;
	}
}

/* The default action is restored, so that the same instruction faults again. */
static void fault(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	look(info->si_addr);
}

void fences_watch(const struct fences *fences, int fd, const char *mark)
{
	const int numbers[] = {SIGSEGV, SIGBUS};
	struct sigaction action = {.sa_sigaction = fault,
		.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND};
	/* A kernel that has used up its stack faults, too. */
	stack_t stack = {.ss_sp = malloc(STACK), .ss_size = STACK};

	watched = fences;
	watcher = fd;
	watch_mark = mark;
	if (stack.ss_sp)
		(void)sigaltstack(&stack, NULL);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		(void)sigaction(numbers[i], &action, NULL);
}
