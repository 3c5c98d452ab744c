/* SPDX-License-Identifier: MIT */
/* Numbers for kernels, and the page that their bits are in. */
#include "daemon/application/control.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "daemon/application/sealed.h"
#include "lib/base/file.h"
#include "lib/base/hash.h"
#include "lib/host/control.h"
#include "lib/table/table_read.h"

enum { NAMES_FIRST = 256, WORD = 64 };

struct control {
	struct kp_control *page;
	int fd;
	char **names;	 /* by number */
	uint64_t *words; /* the bits as they are to be */
	size_t n_names, room;
	uint32_t *slots;   /* open addressing: a number plus 1; 0 is free */
	size_t n_slots;	   /* a power of two */
	uint32_t *numbers; /* of the table's kernels */
	size_t n_numbers, numbers_room;
};

/* ---- numbers ----------------------------------------------------------------- */

static size_t first_slot(const struct control *control, const char *name)
{
	uint64_t hash = kp_hash_bytes(KP_HASH_START, name, strlen(name));
	return (size_t)(hash ^ hash >> 32) & (control->n_slots - 1);
}

/* Where the name is, or where it would go. */
static uint32_t *slot_of(const struct control *control, const char *name)
{
	size_t at = first_slot(control, name);

	while (control->slots[at] &&
		strcmp(control->names[control->slots[at] - 1], name) != 0)
		at = (at + 1) & (control->n_slots - 1);
	return &control->slots[at];
}

uint32_t control_number(const struct control *control, const char *kernel)
{
	uint32_t slot = *slot_of(control, kernel);
	return slot ? slot - 1 : KP_CONTROL_NONE;
}

const char *control_name(const struct control *control, uint32_t number)
{
	return number < control->n_names ? control->names[number] : NULL;
}

/* At least half of the slots stay free. */
static bool grow(struct control *control)
{
	size_t room = control->room ? 2 * control->room : NAMES_FIRST;
	char **names = realloc(control->names, room * sizeof(*names));

	if (!names)
		return false;
	control->names = names;
	uint32_t *slots = calloc(2 * room, sizeof(*slots));
	if (!slots)
		return false;
	free(control->slots);
	control->slots = slots;
	control->n_slots = 2 * room;
	control->room = room;
	for (uint32_t i = 0; i < control->n_names; i++)
		*slot_of(control, control->names[i]) = i + 1;
	return true;
}

static uint32_t give_number(struct control *control, const char *kernel)
{
	uint32_t *slot = slot_of(control, kernel);

	if (*slot)
		return *slot - 1;
	if (control->n_names == KP_CONTROL_BITS)
		return KP_CONTROL_NONE;
	if (control->n_names == control->room) {
		if (!grow(control))
			return KP_CONTROL_NONE;
		slot = slot_of(control, kernel);
	}
	char *name = strdup(kernel);
	if (!name)
		return KP_CONTROL_NONE;
	control->names[control->n_names] = name;
	*slot = (uint32_t)++control->n_names;
	return *slot - 1;
}

const uint32_t *control_numbers(const struct control *control, size_t *count)
{
	*count = control->n_numbers;
	return control->numbers;
}

/* ---- bits -------------------------------------------------------------------- */

static bool may_run(const struct kp_table *table, size_t i)
{
	const unsigned char *kernel = kp_table_kernel(table, i);
	return kernel[KP_KERNEL_STATE] == KP_STATE_ACTIVE &&
	       kp_load32(kernel + KP_KERNEL_UNAVAILABLE) == 0;
}

static bool make_room(struct control *control, size_t count)
{
	if (count <= control->numbers_room)
		return true;
	uint32_t *numbers = realloc(control->numbers, count * sizeof(*numbers));
	if (!numbers)
		return false;
	control->numbers = numbers;
	control->numbers_room = count;
	return true;
}

/* The numbers of all kernels of the table; bits of those that may run are cleared. */
static void number_all(struct control *control, const struct kp_table *table)
{
	size_t count = kp_table_kernels(table);
	bool has_room = make_room(control, count);

	memset(control->words, 0xff, KP_CONTROL_BITS / 8);
	for (size_t i = 0; i < count; i++) {
		char id[KP_KERNEL_ID_BYTES];
		uint32_t number = give_number(
			control, kp_table_kernel_id(table, i, id, sizeof(id)));
		if (has_room)
			control->numbers[i] = number;
		if (number != KP_CONTROL_NONE && may_run(table, i))
			control->words[number / WORD] &= ~(UINT64_C(1) << number % WORD);
	}
	if (!has_room) {
		free(control->numbers);
		control->numbers = NULL;
		control->numbers_room = 0;
	}
	control->n_numbers = has_room ? count : 0;
}

/* Bits beyond the numbers that were given out stay 0. */
static void store_bits(struct control *control)
{
	struct kp_control *page = control->page;
	size_t count = (control->n_names + WORD - 1) / WORD;
	size_t rest = control->n_names % WORD;

	if (rest)
		control->words[count - 1] &= (UINT64_C(1) << rest) - 1;
	for (size_t i = 0; i < count; i++)
		if (page->bits[i] != control->words[i])
			__atomic_store_n(
				&page->bits[i], control->words[i], __ATOMIC_RELAXED);
	__atomic_store_n(&page->n_bits, (uint32_t)control->n_names, __ATOMIC_RELAXED);
}

static uint64_t now_ns(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void control_follow(
	struct control *control, const struct kp_table *table, uint64_t generation)
{
	if (!control)
		return;
	struct kp_control *page = control->page;
	number_all(control, table);
	__atomic_store_n(&page->changed_ns, now_ns(), __ATOMIC_RELEASE);
	store_bits(control);
	__atomic_store_n(&page->view, generation, __ATOMIC_RELEASE);
	__atomic_store_n(&page->generation, generation, __ATOMIC_RELEASE);
	__atomic_store_n(&page->wake, (uint32_t)generation, __ATOMIC_RELEASE);
	(void)syscall(SYS_futex, &page->wake, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

bool control_is_off(const struct control *control, const char *kernel)
{
	uint32_t number = control_number(control, kernel);
	return number == KP_CONTROL_NONE || kp_control_is_off(control->page, number);
}

uint64_t control_boot(const struct control *control)
{
	return control->page->boot;
}

int control_descriptor(const struct control *control)
{
	return control->fd;
}

/* ---- the page ---------------------------------------------------------------- */

/* 16 of the digits; never 0, which would be no start at all. */
static uint64_t boot_of(const char *digits)
{
	char half[17];

	(void)snprintf(half, sizeof(half), "%s", digits);
	return strtoull(half, NULL, 16) | 1;
}

static int make_page(struct control *control, const char *boot, struct kp_diag *diag)
{
	int fd = sealed_new("kplug-control", KP_CONTROL_BYTES, diag);

	if (fd < 0)
		return -1;
	void *page =
		mmap(NULL, KP_CONTROL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page != MAP_FAILED) {
		control->page = page;
		control->page->magic = KP_CONTROL_MAGIC;
		control->page->boot = boot_of(boot);
		control->fd = sealed_reader(fd, diag);
	} else {
		kp_diag_set(diag, "io_error", "control",
			"cannot map the control page: %s", strerror(errno));
	}
	(void)close(fd);
	return control->fd < 0 ? -1 : 0;
}

struct control *control_new(const char *boot, struct kp_diag *diag)
{
	struct control *control = calloc(1, sizeof(*control));

	if (!control) {
		kp_diag_no_memory(diag);
		return NULL;
	}
	control->fd = -1;
	control->words = malloc(KP_CONTROL_BITS / 8);
	if (!control->words || !grow(control)) {
		kp_diag_no_memory(diag);
		control_free(control);
		return NULL;
	}
	if (make_page(control, boot, diag) < 0) {
		control_free(control);
		return NULL;
	}
	return control;
}

void control_free(struct control *control)
{
	if (!control)
		return;
	if (control->page)
		(void)munmap(control->page, KP_CONTROL_BYTES);
	kp_file_close(&control->fd);
	for (size_t i = 0; i < control->n_names; i++)
		free(control->names[i]);
	free(control->names);
	free(control->words);
	free(control->slots);
	free(control->numbers);
	free(control);
}
