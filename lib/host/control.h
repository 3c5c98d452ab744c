/* SPDX-License-Identifier: MIT */
/*
 * The pages that plugind shares with attached applications, as they lie in memory.
 *
 * Control page: one memory file for all applications, sealed so that plugind alone
 * can write. An application maps it read-only; after plugind's restart it maps the new
 * one at the same address, so that a pointer into it is valid as long as its handle.
 *
 * View: one memory file a published table, sealed against every write: the bytes of the
 * table (lib/table/table.h), then for each of its kernels the number of its bit.
 *
 * Slots: one memory file an application, which it writes: a kp_slot a thread, then what
 * it tells of itself (kp_told). plugind reads it, and believes nothing that is there.
 */
#ifndef KP_LIB_CONTROL_H
#define KP_LIB_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kplug/host.h"

#define KP_CONTROL_MAGIC UINT64_C(0x31544c525443504b) /* "KPCTRLT1" */

enum {
	KP_CONTROL_BYTES = 64 << 10,
	KP_CONTROL_HEAD = 64,
	/* Kernels beyond are off wherever the table's newest view does not say otherwise.
	 */
	KP_CONTROL_BITS = (KP_CONTROL_BYTES - KP_CONTROL_HEAD) * 8,
	KP_SLOTS_BYTES = 16 << 10,
	KP_SLOTS = KP_SLOTS_BYTES / sizeof(struct kp_slot),
	KP_TOLD_BYTES = 12 << 10, /* behind the slots */
	KP_HELD = 63,
	KP_HELD_KERNEL = 160, /* KP_KERNEL_ID_BYTES */
	KP_HELD_WHAT = 24,
	/*
	 * kp_slot.kernel, from above: half a boot, a site's label, the number of the
	 * kernel, KP_SLOT_OWN.
	 */
	KP_SLOT_NUMBER_BITS = 20,
	KP_SLOT_NUMBER_AT = 1,
	KP_SLOT_LABEL_AT = KP_SLOT_NUMBER_AT + KP_SLOT_NUMBER_BITS,
	KP_SLOT_LABELS = 1 << (32 - KP_SLOT_LABEL_AT),
};
_Static_assert(KP_CONTROL_BITS < 1 << KP_SLOT_NUMBER_BITS, "every number has room");
/* kp_told.fatal: a signal, and what is known of it; above 32 bits the thread. */
#define KP_FATAL_SIGNAL 0xffU
#define KP_FATAL_SENT	0x100U /* by somebody else than the thread itself */
#define KP_FATAL_EXIT	0x200U /* exit(3) was called, no signal came */
#define KP_FATAL_INSIDE 0x400U /* of a kernel */
/* Of a kernel beyond KP_CONTROL_BITS: it has no bit. */
#define KP_CONTROL_NONE UINT32_MAX

/*
 * generation: grows with every change that an application must obey; whoever has
 *             resolved anything under another one resolves it again.
 * view:       the generation of the newest published table.
 * bits:       1: the kernel with this number must not be called, whatever a view says.
 *             A number belongs to one "plugin/kernel" for plugind's life.
 * Written in this order on a change: bits, view, generation (release); read the other
 * way round (acquire).
 */
struct kp_control {
	uint64_t magic;
	uint64_t boot;	     /* random, of this plugind */
	uint64_t generation; /* atomic */
	uint64_t view;	     /* atomic */
	uint32_t wake;	     /* futex: the low half of generation */
	uint32_t n_bits;     /* numbers given out so far */
	uint64_t changed_ns; /* of CLOCK_MONOTONIC, just before the bits are stored */
	uint64_t reserved[2];
	uint64_t bits[KP_CONTROL_BITS / 64]; /* atomic */
};
_Static_assert(sizeof(struct kp_control) == KP_CONTROL_BYTES, "one size");
_Static_assert(sizeof(struct kp_slot) == 64, "a cache line a thread");

/* Something that keeps a kernel in use beyond a call. count 0: a free place. */
struct kp_held {
	uint64_t count; /* atomic; texts are written before */
	char what[KP_HELD_WHAT];
	char kernel[KP_HELD_KERNEL]; /* "plugin/kernel": numbers end with plugind */
};
/*
 * What an application tells without a call: adopted is the generation that its calls
 * obey, view that of the table from which they choose, more how many holds found no
 * place, closed that it leaves in peace, fatal the last fatal signal that a handler was
 * called for and nobody has recovered from.
 */
struct kp_told {
	uint64_t adopted, view, more, closed; /* atomic */
	uint64_t fatal;			      /* atomic */
	uint64_t reserved[3];
	struct kp_held held[KP_HELD];
	char rest[KP_TOLD_BYTES - 64 - KP_HELD * sizeof(struct kp_held)];
};
_Static_assert(sizeof(struct kp_told) == KP_TOLD_BYTES, "whole pages");

/* What is told behind these slots. */
static inline struct kp_told *kp_slots_told(struct kp_slot *slots)
{
	return (struct kp_told *)(void *)((char *)slots + KP_SLOTS_BYTES);
}

/* In a view, the numbers begin behind a table of so many bytes. */
static inline size_t kp_view_numbers_at(size_t table)
{
	return (table + 7) & ~(size_t)7;
}

/*
 * kp_slot.kernel for the kernel of this number: says also of which plugind the number is,
 * so that one that is older is not taken for another kernel.
 */
static inline uint64_t kp_slot_kernel(uint64_t boot, uint32_t number)
{
	return boot << 32 | ((uint64_t)number + 1) << KP_SLOT_NUMBER_AT;
}

/* The number of such a value; false: none, or of another plugind. */
static inline bool kp_slot_number(uint64_t kernel, uint64_t boot, uint32_t *number)
{
	uint64_t mask = (UINT64_C(1) << KP_SLOT_NUMBER_BITS) - 1;
	uint64_t at = kernel >> KP_SLOT_NUMBER_AT & mask;

	if (kernel >> 32 != (boot & UINT32_MAX) || at == 0)
		return false;
	*number = (uint32_t)at - 1;
	return true;
}

/* The same value at a site whose label has this number (lib/host/signals.h). */
static inline uint64_t kp_slot_labelled(uint64_t kernel, unsigned label)
{
	return kernel | (uint64_t)label << KP_SLOT_LABEL_AT;
}

static inline unsigned kp_slot_label(uint64_t kernel)
{
	return (unsigned)(kernel & UINT32_MAX) >> KP_SLOT_LABEL_AT;
}

static inline uint64_t kp_control_generation(const struct kp_control *control)
{
	return __atomic_load_n(&control->generation, __ATOMIC_ACQUIRE);
}

static inline bool kp_control_is_off(const struct kp_control *control, uint32_t number)
{
	if (number >= KP_CONTROL_BITS)
		return false;
	return __atomic_load_n(&control->bits[number / 64], __ATOMIC_RELAXED) >>
		       (number % 64) &
	       1;
}

#endif
