/* SPDX-License-Identifier: MIT */
/* mmap(2) and mremap(2) over pages that other threads are reading. */
#include "lib/host/pages.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/file.h"

enum {
	SIZE_SEALS = F_SEAL_SHRINK | F_SEAL_GROW,
	SLOTS_SIZE = KP_SLOTS_BYTES + KP_TOLD_BYTES,
};

static bool is_sealed(int fd, int wanted, off_t size)
{
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && (seals & wanted) == wanted && fstat(fd, &st) == 0 &&
	       st.st_size == size;
}

/* What sites compare with: the greatest of all mean that nothing is decided. */
static bool is_control(int fd)
{
	struct kp_control head;
	const size_t size = offsetof(struct kp_control, bits);

	return is_sealed(fd, SIZE_SEALS | F_SEAL_FUTURE_WRITE, KP_CONTROL_BYTES) &&
	       pread(fd, &head, size, 0) == (ssize_t)size &&
	       head.magic == KP_CONTROL_MAGIC && head.generation <= INT64_MAX &&
	       head.view <= INT64_MAX;
}

static int check(int control_fd, int slots_fd, struct kp_diag *diag)
{
	if (!is_control(control_fd))
		return kp_diag_set(diag, "bad_view", "control",
			"plugind's control page is not one, or it is not sealed");
	if (!is_sealed(slots_fd, SIZE_SEALS, SLOTS_SIZE))
		return kp_diag_set(diag, "bad_view", "slots",
			"plugind's slots are of another size, or not sealed");
	return 0;
}

static void *map_new(size_t size, int protection, int flags, int fd)
{
	void *map = mmap(NULL, size, protection, flags, fd, 0);
	return map == MAP_FAILED ? NULL : map;
}

/*
 * Puts a mapping in the place of another: in one step, so that a thread that uses the
 * place meanwhile finds the one or the other. The mapping is gone when that fails.
 */
static bool move_to(void *place, void *map, size_t size)
{
	if (map && mremap(map, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, place) !=
			   MAP_FAILED)
		return true;
	if (map)
		(void)munmap(map, size);
	return false;
}

/* ---- what goes from one slots file to the next --------------------------------- */

/* Threads write theirs meanwhile: each word is loaded as one. */
static void copy_threads(const struct kp_slot *from, struct kp_slot *to)
{
	for (size_t i = 0; i < KP_SLOTS; i++)
		to[i].thread = __atomic_load_n(&from[i].thread, __ATOMIC_RELAXED);
}

static void copy_told(const struct kp_told *from, struct kp_told *to)
{
	to->adopted = __atomic_load_n(&from->adopted, __ATOMIC_RELAXED);
	to->view = __atomic_load_n(&from->view, __ATOMIC_RELAXED);
	to->more = from->more;
	memcpy(to->held, from->held, sizeof(to->held));
}

/* Fills the new file before anybody sees it. */
static bool fill(const struct kp_pages *pages, int fd)
{
	struct {
		struct kp_slot slots[KP_SLOTS];
		struct kp_told told;
	} *content = mmap(NULL, SLOTS_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if ((void *)content == MAP_FAILED)
		return false;
	copy_threads(pages->slots, content->slots);
	copy_told(pages->told, &content->told);
	(void)munmap(content, SLOTS_SIZE);
	return true;
}

/* A thread that came while the files were changed is in the old one alone. */
static void catch_up(struct kp_pages *pages, int old)
{
	struct kp_slot slot;

	for (size_t i = 0; i < KP_SLOTS; i++)
		if (__atomic_load_n(&pages->slots[i].thread, __ATOMIC_RELAXED) == 0 &&
			pread(old, &slot, sizeof(slot), (off_t)(i * sizeof(slot))) ==
				(ssize_t)sizeof(slot) &&
			slot.thread)
			__atomic_store_n(
				&pages->slots[i].thread, slot.thread, __ATOMIC_RELAXED);
}

/* ---- mapping ------------------------------------------------------------------- */

static int map_slots(struct kp_pages *pages, int fd, struct kp_diag *diag)
{
	int old = pages->slots_fd;

	if (pages->slots && !fill(pages, fd))
		return kp_diag_no_memory(diag);
	void *map = map_new(SLOTS_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	if (!map || (pages->slots && !move_to(pages->slots, map, SLOTS_SIZE)))
		return kp_diag_no_memory(diag);
	pages->slots_fd = fd;
	if (pages->slots) {
		catch_up(pages, old);
		(void)close(old);
		return 0;
	}
	pages->slots = map;
	pages->told = (struct kp_told *)(void *)((char *)map + KP_SLOTS_BYTES);
	return 0;
}

int kp_pages_map(
	struct kp_pages *pages, int control_fd, int slots_fd, struct kp_diag *diag)
{
	/* Slots first: they are of no use to anybody yet, should the other fail. */
	if (check(control_fd, slots_fd, diag) < 0 ||
		map_slots(pages, slots_fd, diag) < 0) {
		(void)close(slots_fd);
		return -1;
	}
	void *map = map_new(KP_CONTROL_BYTES, PROT_READ, MAP_SHARED, control_fd);
	if (!map || (pages->control && !move_to(pages->control, map, KP_CONTROL_BYTES)))
		return kp_diag_no_memory(diag);
	if (!pages->control)
		pages->control = map;
	return 0;
}

bool kp_pages_follow(struct kp_pages *pages, uint64_t generation, uint64_t view)
{
	struct kp_control *own = map_new(KP_CONTROL_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1);

	if (!own)
		return false;
	own->magic = KP_CONTROL_MAGIC;
	own->boot = pages->control->boot;
	own->generation = generation;
	own->view = view;
	own->wake = (uint32_t)generation;
	(void)mprotect(own, KP_CONTROL_BYTES, PROT_READ);
	return move_to(pages->control, own, KP_CONTROL_BYTES);
}

void kp_pages_forked(struct kp_pages *pages)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS;

	if (pages->slots)
		(void)move_to(pages->slots,
			map_new(SLOTS_SIZE, PROT_READ | PROT_WRITE, flags, -1),
			SLOTS_SIZE);
	if (pages->control)
		(void)move_to(pages->control,
			map_new(KP_CONTROL_BYTES, PROT_READ, flags, -1),
			KP_CONTROL_BYTES);
	kp_file_close(&pages->slots_fd);
}

/* Where there is no memory for others, those that are there stay. */
static void leave_behind(const struct kp_pages *pages)
{
	struct kp_slot *copy = map_new(
		SLOTS_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	for (size_t i = 0; copy && i < KP_SLOTS; i++)
		copy[i].kernel =
			__atomic_load_n(&pages->slots[i].kernel, __ATOMIC_RELAXED);
	(void)move_to(pages->slots, copy, SLOTS_SIZE);
}

void kp_pages_finish(struct kp_pages *pages)
{
	if (pages->control)
		(void)munmap(pages->control, KP_CONTROL_BYTES);
	if (pages->slots && pages->stays)
		leave_behind(pages);
	else if (pages->slots)
		(void)munmap(pages->slots, SLOTS_SIZE);
	kp_file_close(&pages->slots_fd);
	*pages = (struct kp_pages){.slots_fd = -1};
}
