/* SPDX-License-Identifier: MIT */
/*
 * Device memory of the fake driver: host memory that cannot be touched while no
 * kernel and no copy runs, with pages around it that never can.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/fake/cuda/fake.h"

enum { PAGE = 4096, ALIGN = 256, MARK = 0xdb, FRESH = 0xff, FRESH_MOST = 1 << 18 };

struct block {
	struct block *next;
	unsigned char *map, *open,
		*data; /* with guards; what opens; what was asked for */
	size_t map_bytes, open_bytes, bytes;
};

static struct block *blocks;
static unsigned opened;
static size_t used;

size_t fake_memory_used(void)
{
	return used;
}

static void protect(const struct block *block, int access)
{
	if (mprotect(block->open, block->open_bytes, access) != 0)
		fake_die("mprotect fails");
}

void fake_memory_open(void)
{
	if (opened++ == 0)
		for (const struct block *b = blocks; b; b = b->next)
			protect(b, PROT_READ | PROT_WRITE);
}

/* What lies between an allocation and its guard must be as it was. */
static void check_marks(
	const struct block *block, const unsigned char *from, const unsigned char *to)
{
	for (const unsigned char *p = from; p < to; p++)
		if (*p != MARK)
			fake_die("%td bytes from the start of an allocation of %zu bytes "
				 "something was written",
				p - block->data, block->bytes);
}

void fake_memory_close(void)
{
	if (--opened > 0)
		return;
	for (const struct block *b = blocks; b; b = b->next) {
		check_marks(b, b->open, b->data);
		check_marks(b, b->data + b->bytes, b->open + b->open_bytes);
		protect(b, PROT_NONE);
	}
}

bool fake_memory_holds(fake_pointer pointer, size_t bytes)
{
	const unsigned char *data = (const unsigned char *)(uintptr_t)pointer;

	for (const struct block *b = blocks; b; b = b->next)
		if (data >= b->data && data <= b->data + b->bytes &&
			bytes <= (size_t)(b->data + b->bytes - data))
			return true;
	return false;
}

static size_t round_up(size_t value, size_t to)
{
	return (value + to - 1) / to * to;
}

/* The marks around it, and what a fresh allocation may hold: of a large one its ends. */
static void poison(const struct block *block)
{
	size_t each = block->bytes < FRESH_MOST ? block->bytes : FRESH_MOST;
	unsigned char *end = block->data + block->bytes;

	memset(block->open, MARK, (size_t)(block->data - block->open));
	memset(end, MARK, (size_t)(block->open + block->open_bytes - end));
	memset(block->data, FRESH, each);
	memset(end - each, FRESH, each);
}

int cuMemAlloc_v2(fake_pointer *pointer, size_t bytes)
{
	FAKE_CALL_IN_CONTEXT();
	int result = fake_refuse_in_capture();

	if (result != FAKE_OK)
		return result;
	if (bytes == 0)
		return FAKE_INVALID_VALUE;
	if (bytes > fake_settings()->memory - used)
		return FAKE_OUT_OF_MEMORY;
	struct block *block = calloc(1, sizeof(*block));

	if (!block)
		return FAKE_OUT_OF_MEMORY;
	block->bytes = bytes;
	block->open_bytes = round_up(bytes, PAGE);
	block->map_bytes = block->open_bytes + 2 * PAGE;
	block->map = mmap(
		NULL, block->map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (block->map == MAP_FAILED) {
		free(block);
		return FAKE_OUT_OF_MEMORY;
	}
	block->open = block->map + PAGE;
	block->data = block->open + block->open_bytes - round_up(bytes, ALIGN);
	protect(block, PROT_READ | PROT_WRITE);
	poison(block);
	protect(block, PROT_NONE);
	block->next = blocks;
	blocks = block;
	used += bytes;
	*pointer = (uintptr_t)block->data;
	return FAKE_OK;
}

static void release(struct block **at)
{
	struct block *block = *at;

	*at = block->next;
	used -= block->bytes;
	munmap(block->map, block->map_bytes);
	free(block);
}

void fake_memory_reset(void)
{
	while (blocks)
		release(&blocks);
	opened = 0;
}

int cuMemFree_v2(fake_pointer pointer)
{
	FAKE_CALL_IN_CONTEXT();
	int result = fake_refuse_in_capture();

	if (result != FAKE_OK || pointer == 0)
		return result;
	fake_run_queue();
	for (struct block **at = &blocks; *at; at = &(*at)->next)
		if ((uintptr_t)(*at)->data == pointer) {
			release(at);
			return FAKE_OK;
		}
	return FAKE_INVALID_VALUE;
}

int cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
	FAKE_CALL_IN_CONTEXT();
	*total = fake_settings()->memory;
	*free_bytes = *total - used;
	return FAKE_OK;
}

int cuMemAllocHost_v2(void **pointer, size_t bytes)
{
	FAKE_CALL_IN_CONTEXT();
	*pointer = malloc(bytes ? bytes : 1);
	return *pointer ? FAKE_OK : FAKE_OUT_OF_MEMORY;
}

int cuMemFreeHost(void *pointer)
{
	FAKE_CALL_IN_CONTEXT();
	fake_run_queue();
	free(pointer);
	return FAKE_OK;
}

/* ---- copies and fills ------------------------------------------------------------ */

static void run_copy(struct fake_work *work)
{
	memcpy(work->to, work->data ? work->data : work->from, work->bytes);
}

static void run_fill(struct fake_work *work)
{
	unsigned char *to = work->to;
	uint32_t value = work->value;

	for (size_t i = 0; i < work->bytes; i++)
		to[i] = (unsigned char)(value >> (8 * (i % 4)));
}

static int fill(struct fake_stream *stream, fake_pointer to, uint32_t value, size_t bytes)
{
	if (!fake_memory_holds(to, bytes))
		return FAKE_INVALID_VALUE;
	return fake_submit(stream, &(struct fake_work){.run = run_fill,
					   .to = (void *)(uintptr_t)to,
					   .bytes = bytes,
					   .value = value});
}

static int copy(struct fake_stream *stream, void *to, const void *from, size_t bytes)
{
	return fake_submit(
		stream, &(struct fake_work){
				.run = run_copy, .to = to, .from = from, .bytes = bytes});
}

/* From memory that is not pinned the bytes are taken before the call returns. */
static int copy_in(
	struct fake_stream *stream, fake_pointer to, const void *from, size_t bytes)
{
	struct fake_work work = {
		.run = run_copy, .to = (void *)(uintptr_t)to, .bytes = bytes};

	if (!fake_memory_holds(to, bytes))
		return FAKE_INVALID_VALUE;
	work.data = malloc(bytes ? bytes : 1);
	if (!work.data)
		return FAKE_OUT_OF_MEMORY;
	memcpy(work.data, from, bytes);
	return fake_submit(stream, &work);
}

/* Then waits. */
static int at_once(int result)
{
	if (result == FAKE_OK)
		fake_run_queue();
	return result;
}

int cuMemcpyHtoD_v2(fake_pointer to, const void *from, size_t bytes)
{
	FAKE_CALL_IN_CONTEXT();
	int result = fake_refuse_in_capture();

	return result != FAKE_OK ? result : at_once(copy_in(NULL, to, from, bytes));
}

int cuMemcpyHtoDAsync_v2(
	fake_pointer to, const void *from, size_t bytes, struct fake_stream *stream)
{
	FAKE_CALL_IN_CONTEXT();
	return copy_in(stream, to, from, bytes);
}

int cuMemcpyDtoH_v2(void *to, fake_pointer from, size_t bytes)
{
	FAKE_CALL_IN_CONTEXT();
	int result = fake_refuse_in_capture();

	if (result != FAKE_OK)
		return result;
	if (!fake_memory_holds(from, bytes))
		return FAKE_INVALID_VALUE;
	return at_once(copy(NULL, to, (const void *)(uintptr_t)from, bytes));
}

int cuMemcpyDtoHAsync_v2(
	void *to, fake_pointer from, size_t bytes, struct fake_stream *stream)
{
	FAKE_CALL_IN_CONTEXT();
	if (!fake_memory_holds(from, bytes))
		return FAKE_INVALID_VALUE;
	return copy(stream, to, (const void *)(uintptr_t)from, bytes);
}

int cuMemcpyDtoDAsync_v2(
	fake_pointer to, fake_pointer from, size_t bytes, struct fake_stream *stream)
{
	FAKE_CALL_IN_CONTEXT();
	if (!fake_memory_holds(from, bytes) || !fake_memory_holds(to, bytes))
		return FAKE_INVALID_VALUE;
	return copy(stream, (void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
}

/* As in the real one, this one does not wait. */
int cuMemcpyDtoD_v2(fake_pointer to, fake_pointer from, size_t bytes)
{
	FAKE_CALL_IN_CONTEXT();
	int result = fake_refuse_in_capture();

	if (result != FAKE_OK)
		return result;
	if (!fake_memory_holds(from, bytes) || !fake_memory_holds(to, bytes))
		return FAKE_INVALID_VALUE;
	return copy(NULL, (void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
}

int cuMemsetD8Async(
	fake_pointer to, unsigned char value, size_t count, struct fake_stream *stream)
{
	FAKE_CALL_IN_CONTEXT();
	return fill(stream, to, value * 0x01010101u, count);
}

int cuMemsetD32Async(
	fake_pointer to, unsigned value, size_t count, struct fake_stream *stream)
{
	FAKE_CALL_IN_CONTEXT();
	return fill(stream, to, value, count * sizeof(value));
}

static void run_lines(struct fake_work *work)
{
	for (size_t line = 0; line < work->grid.grid.y; line++)
		memset((unsigned char *)work->to + line * work->bytes, (int)work->value,
			work->grid.grid.x);
}

int cuMemsetD2D8Async(fake_pointer to, size_t pitch, unsigned char value, size_t width,
	size_t height, struct fake_stream *stream)
{
	FAKE_CALL_IN_CONTEXT();
	if (width > pitch || height == 0 ||
		!fake_memory_holds(to, (height - 1) * pitch + width))
		return FAKE_INVALID_VALUE;
	return fake_submit(stream,
		&(struct fake_work){.run = run_lines,
			.to = (void *)(uintptr_t)to,
			.bytes = pitch,
			.value = value,
			.grid = {.grid = {(unsigned)width, (unsigned)height, 1}}});
}

int cuMemsetD8_v2(fake_pointer to, unsigned char value, size_t count)
{
	FAKE_CALL_IN_CONTEXT();
	int result = fake_refuse_in_capture();

	return result != FAKE_OK ? result : fill(NULL, to, value * 0x01010101u, count);
}

int cuMemsetD32_v2(fake_pointer to, unsigned value, size_t count)
{
	FAKE_CALL_IN_CONTEXT();
	int result = fake_refuse_in_capture();

	return result != FAKE_OK ? result : fill(NULL, to, value, count * sizeof(value));
}
