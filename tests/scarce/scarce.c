/* SPDX-License-Identifier: MIT */
/* malloc and its kin, counted, and failing where it was asked for. */
#include "tests/scarce/scarce.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_OTHER_HEAP 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_OTHER_HEAP 1
#endif
#endif

static __thread struct {
	bool counts, for_good;
	size_t at, seen;
} scarce;

/* What one thread allocates another may free: of all, while one counts. */
static bool watches;
static long left_over;

static void leave(long blocks)
{
	if (__atomic_load_n(&watches, __ATOMIC_RELAXED))
		(void)__atomic_add_fetch(&left_over, blocks, __ATOMIC_RELAXED);
}

/* Of a whole program: all its threads. */
static size_t program_at, program_seen;

void scarce_begin(size_t at, bool for_good)
{
	scarce.at = at;
	scarce.for_good = for_good;
	scarce.seen = 0;
	__atomic_store_n(&left_over, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&watches, true, __ATOMIC_RELAXED);
	scarce.counts = true;
}

size_t scarce_end(long *left)
{
	scarce.counts = false;
	__atomic_store_n(&watches, false, __ATOMIC_RELAXED);
	*left = __atomic_load_n(&left_over, __ATOMIC_RELAXED);
	return scarce.seen;
}

#ifdef HAS_OTHER_HEAP

bool scarce_works(void)
{
	return false;
}

#else

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void __libc_free(void *block);

bool scarce_works(void)
{
	return true;
}

__attribute__((constructor)) static void read_environment(void)
{
	const char *at = getenv("SCARCE_AT");
	const char *program = getenv("SCARCE_PROGRAM");

	if (at && program && strcmp(program, program_invocation_short_name) == 0)
		program_at = strtoul(at, NULL, 10);
}

static bool fails(void)
{
	bool now = false;

	if (program_at > 0)
		now = __atomic_add_fetch(&program_seen, 1, __ATOMIC_RELAXED) ==
		      program_at;
	if (scarce.counts) {
		scarce.seen++;
		now |= scarce.at > 0 && (scarce.for_good ? scarce.seen >= scarce.at
							 : scarce.seen == scarce.at);
	}
	if (now)
		errno = ENOMEM;
	return now;
}

static void *counted(void *block)
{
	if (block)
		leave(1);
	return block;
}

void *malloc(size_t size)
{
	return fails() ? NULL : counted(__libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
	return fails() ? NULL : counted(__libc_calloc(count, size));
}

void *realloc(void *block, size_t size)
{
	if (fails())
		return NULL;
	void *moved = __libc_realloc(block, size);
	/* What was there goes on under another address. */
	return block ? moved : counted(moved);
}

void *reallocarray(void *block, size_t count, size_t size)
{
	size_t all;

	if (!__builtin_mul_overflow(count, size, &all))
		return realloc(block, all);
	errno = ENOMEM;
	return NULL;
}

void free(void *block)
{
	int saved = errno;

	if (block)
		leave(-1);
	__libc_free(block);
	errno = saved;
}

#endif
