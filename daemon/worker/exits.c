/* SPDX-License-Identifier: MIT */
/* Stands in front of the C library's functions, counts, and passes on. */
#include "daemon/worker/exits.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The process has one list of them, and this is a count of that. */
static struct {
	atomic_size_t count;
	atomic_uintptr_t last;
} registered[EXITS_KINDS];

const char *exits_name(enum exits_kind kind)
{
	static const char *const names[EXITS_KINDS] = {
		"atexit", "on_exit", "at_quick_exit"};

	return names[kind];
}

void exits_count(size_t counts[EXITS_KINDS])
{
	for (size_t i = 0; i < EXITS_KINDS; i++)
		counts[i] = atomic_load(&registered[i].count);
}

void exits_last(enum exits_kind kind, char *name, size_t size)
{
	const void *last = (const void *)atomic_load(&registered[kind].last);
	Dl_info info;
	const char *path =
		last && dladdr(last, &info) && info.dli_fname ? info.dli_fname : "";
	const char *slash = strrchr(path, '/');

	(void)snprintf(name, size, "%s", slash ? slash + 1 : path);
}

static void note(enum exits_kind kind, uintptr_t function)
{
	atomic_store(&registered[kind].last, function);
	atomic_fetch_add(&registered[kind].count, 1);
}

/* The next one in the order of search is the C library's. */
static void *next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

/* ---- in front of ----------------------------------------------------------------- */

/* Of libraries, atexit() comes here, too: without an object, as no destructor does. */
int __cxa_atexit(void (*function)(void *), void *object, void *library);
int __cxa_at_quick_exit(void (*function)(void *), void *library);
int on_exit(void (*function)(int, void *), void *argument);

int __cxa_atexit(void (*function)(void *), void *object, void *library)
{
	int (*real)(void (*)(void *), void *, void *) = next("__cxa_atexit");

	if (!object || !library)
		note(EXITS_ATEXIT, (uintptr_t)function);
	return real ? real(function, object, library) : -1;
}

int __cxa_at_quick_exit(void (*function)(void *), void *library)
{
	int (*real)(void (*)(void *), void *) = next("__cxa_at_quick_exit");

	note(EXITS_QUICK, (uintptr_t)function);
	return real ? real(function, library) : -1;
}

int on_exit(void (*function)(int, void *), void *argument)
{
	int (*real)(void (*)(int, void *), void *) = next("on_exit");

	note(EXITS_ON_EXIT, (uintptr_t)function);
	return real ? real(function, argument) : -1;
}
