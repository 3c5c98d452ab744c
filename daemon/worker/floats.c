/* SPDX-License-Identifier: MIT */
/* The control registers of each machine. */
#include "daemon/worker/floats.h"

#if defined(__x86_64__)
#include <xmmintrin.h>

/* MXCSR but for its six sticky flags, and the control word of the x87. */
static const uint32_t flags = 0x3f;

struct floats floats_now(void)
{
	uint16_t word;

	__asm__ volatile("fnstcw %0" : "=m"(word));
	return (struct floats){_mm_getcsr() & ~flags, word};
}

void floats_restore(const struct floats *floats)
{
	uint16_t word = (uint16_t)floats->other;

	_mm_setcsr((uint32_t)floats->control);
	__asm__ volatile("fldcw %0" : : "m"(word));
}

#elif defined(__aarch64__)

struct floats floats_now(void)
{
	uint64_t control;

	__asm__ volatile("mrs %0, fpcr" : "=r"(control));
	return (struct floats){control, 0};
}

void floats_restore(const struct floats *floats)
{
	__asm__ volatile("msr fpcr, %0" : : "r"(floats->control));
}

#else
#include <fenv.h>

/* Rounding alone is told on every machine. */
struct floats floats_now(void)
{
	return (struct floats){(uint64_t)fegetround(), 0};
}

void floats_restore(const struct floats *floats)
{
	(void)fesetround((int)floats->control);
}
#endif

bool floats_equal(const struct floats *a, const struct floats *b)
{
	return a->control == b->control && a->other == b->other;
}
