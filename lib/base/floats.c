/* SPDX-License-Identifier: MIT */
/* The control registers of each machine. */
#include "lib/base/floats.h"

#if defined(__x86_64__)
#include <xmmintrin.h>

/* MXCSR but for its six sticky flags, and the control word of the x87. */
static const uint32_t flags = 0x3f;

struct kp_floats kp_floats_now(void)
{
	uint16_t word;

	__asm__ volatile("fnstcw %0" : "=m"(word));
	return (struct kp_floats){_mm_getcsr() & ~flags, word};
}

void kp_floats_restore(const struct kp_floats *floats)
{
	uint16_t word = (uint16_t)floats->other;

	_mm_setcsr((uint32_t)floats->control);
	__asm__ volatile("fldcw %0" : : "m"(word));
}

#elif defined(__aarch64__)

struct kp_floats kp_floats_now(void)
{
	uint64_t control;

	__asm__ volatile("mrs %0, fpcr" : "=r"(control));
	return (struct kp_floats){control, 0};
}

void kp_floats_restore(const struct kp_floats *floats)
{
	__asm__ volatile("msr fpcr, %0" : : "r"(floats->control));
}

#else
#include <fenv.h>

/* Rounding alone is told on every machine. */
struct kp_floats kp_floats_now(void)
{
	return (struct kp_floats){(uint64_t)fegetround(), 0};
}

void kp_floats_restore(const struct kp_floats *floats)
{
	(void)fesetround((int)floats->control);
}
#endif

bool kp_floats_equal(const struct kp_floats *a, const struct kp_floats *b)
{
	return a->control == b->control && a->other == b->other;
}
