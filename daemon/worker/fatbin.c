/* SPDX-License-Identifier: MIT */
/* The search for fat binaries, and the walk over their entries. */
#include "daemon/worker/fatbin.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/json.h"
#include "lib/base/text.h"

/*
 * A container: magic, version (16 bits), bytes of this header (16 bits), bytes of the
 * entries behind it (64 bits). An entry: kind (16), version (16), bytes of its header
 * (32), bytes of the code behind it (64), ..., arch at 28 (32), ..., flags at 40 (64).
 * Found by looking at what nvcc 13.0 writes.
 */
enum {
	CONTAINER_BYTES = 16,
	ENTRY_LEAST = 32, /* up to the arch */
	ENTRY_BYTES = 48, /* up to the flags */
	HEADER_MOST = 65536,
	AT_HEADER = 6,
	AT_SIZE = 8,
	ENTRY_AT_HEADER = 4,
	ENTRY_AT_SIZE = 8,
	ENTRY_AT_ARCH = 28,
	ENTRY_AT_FLAGS = 40,
	KIND_PTX = 1,
	KIND_SASS = 2,
	ARCH_LEAST = 10,
	ARCH_MOST = 9999,
	STEP = 1 << 20, /* bytes that are searched at a time */
};
static const uint64_t flag_exact = 1U << 20, flag_family = 1U << 21;
static const unsigned char magic[] = {0x50, 0xed, 0x55, 0xba};

static uint64_t number(const unsigned char *bytes, size_t at, size_t size)
{
	uint64_t value = 0;

	memcpy(&value, bytes + at, size);
	return le64toh(value);
}

/* All of it, or not: a file that shrinks meanwhile has less. */
static bool read_at(int fd, uint64_t at, void *out, size_t size)
{
	size_t got = 0;

	while (got < size) {
		ssize_t n = pread(fd, (char *)out + got, size - got, (off_t)(at + got));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		got += (size_t)n;
	}
	return true;
}

/* ---- codes ------------------------------------------------------------------------- */

static int compare(const struct fatbin_code *a, const struct fatbin_code *b)
{
	int order = kp_arch_compare(&a->arch, &b->arch);

	if (order == 0)
		order = (int)a->is_ptx - (int)b->is_ptx;
	return order ? order : (int)a->scope - (int)b->scope;
}

static void add_code(struct fatbins *fatbins, const struct fatbin_code *code)
{
	size_t at = 0;

	while (at < fatbins->count && compare(&fatbins->codes[at], code) < 0)
		at++;
	if (at < fatbins->count && compare(&fatbins->codes[at], code) == 0)
		return;
	if (fatbins->count == FATBIN_CODES) {
		fatbins->is_cut = true;
		return;
	}
	memmove(&fatbins->codes[at + 1], &fatbins->codes[at],
		(fatbins->count - at) * sizeof(*code));
	fatbins->codes[at] = *code;
	fatbins->count++;
}

/* Other kinds and impossible archs are passed over. */
static void take_entry(
	struct fatbins *fatbins, const unsigned char *entry, uint64_t header)
{
	uint64_t kind = number(entry, 0, 2);
	uint64_t arch = number(entry, ENTRY_AT_ARCH, 4);
	uint64_t flags = header >= ENTRY_BYTES ? number(entry, ENTRY_AT_FLAGS, 8) : 0;
	struct fatbin_code code = {.is_ptx = kind == KIND_PTX};

	if ((kind != KIND_PTX && kind != KIND_SASS) || arch < ARCH_LEAST ||
		arch > ARCH_MOST)
		return;
	code.arch = (struct kp_arch){true, (int32_t)(arch / 10), (int32_t)(arch % 10)};
	code.scope = flags & flag_exact	   ? FATBIN_EXACT
		     : flags & flag_family ? FATBIN_FAMILY
					   : FATBIN_PLAIN;
	add_code(fatbins, &code);
}

/* ---- containers -------------------------------------------------------------------- */

/* False when the entries do not add up to what the container says. */
static bool walk(int fd, uint64_t at, uint64_t end, struct fatbins *fatbins)
{
	while (at < end) {
		unsigned char entry[ENTRY_BYTES] = {0};
		size_t size = end - at < ENTRY_BYTES ? (size_t)(end - at) : ENTRY_BYTES;
		if (fatbins->entries == FATBIN_ENTRIES) {
			fatbins->is_cut = true;
			return true;
		}
		fatbins->entries++;
		if (size < ENTRY_LEAST || !read_at(fd, at, entry, size))
			return false;
		uint64_t header = number(entry, ENTRY_AT_HEADER, 4);
		uint64_t code = number(entry, ENTRY_AT_SIZE, 8);
		if (header < ENTRY_LEAST || header > HEADER_MOST || header > end - at ||
			code > end - at - header)
			return false;
		take_entry(fatbins, entry, header);
		at += header + code;
	}
	return true;
}

/* Where the search goes on behind the magic at `at`. */
static uint64_t take_container(int fd, uint64_t at, uint64_t end, struct fatbins *fatbins)
{
	unsigned char bytes[CONTAINER_BYTES];

	/* The magic alone is a constant in every program that reads fat binaries. */
	fatbins->entries++;
	if (end - at < CONTAINER_BYTES || !read_at(fd, at, bytes, sizeof(bytes)))
		return at + sizeof(magic);
	uint64_t header = number(bytes, AT_HEADER, 2);
	uint64_t size = number(bytes, AT_SIZE, 8);
	if (number(bytes, 4, 2) != 1 || header < CONTAINER_BYTES || header > end - at ||
		size > end - at - header)
		return at + sizeof(magic);
	fatbins->containers++;
	if (walk(fd, at + header, at + header + size, fatbins))
		return at + header + size;
	fatbins->damaged++;
	return at + sizeof(magic);
}

/* The containers that begin among these bytes of the file; where to go on. */
static uint64_t search_bytes(int fd, const unsigned char *bytes, uint64_t at, size_t size,
	uint64_t end, struct fatbins *fatbins)
{
	const uint64_t base = at;
	const uint64_t last =
		base + size - (sizeof(magic) - 1); /* no magic begins there */

	while (at < last && !fatbins->is_cut) {
		size_t skip = (size_t)(at - base);
		const unsigned char *found =
			memmem(bytes + skip, size - skip, magic, sizeof(magic));
		if (!found)
			return last;
		if (fatbins->entries == FATBIN_ENTRIES)
			fatbins->is_cut = true;
		else
			at = take_container(
				fd, base + (uint64_t)(found - bytes), end, fatbins);
	}
	return at;
}

int fatbins_search(int fd, uint64_t begin, uint64_t end, struct fatbins *fatbins)
{
	unsigned char *bytes = malloc(STEP);
	uint64_t at = begin;

	if (!bytes)
		return -1;
	while (at < end && end - at >= sizeof(magic) && !fatbins->is_cut) {
		size_t size = end - at < STEP ? (size_t)(end - at) : STEP;
		if (!read_at(fd, at, bytes, size))
			break;
		at = search_bytes(fd, bytes, at, size, end, fatbins);
	}
	free(bytes);
	return 0;
}

int fatbins_of_image(const struct elf_image *image, struct fatbins *fatbins)
{
	uint64_t done = 0; /* segments may overlap in the file */

	for (size_t i = 0; i < image->n_segments; i++) {
		const GElf_Phdr *segment = &image->segments[i];
		uint64_t begin = segment->p_offset > done ? segment->p_offset : done;
		uint64_t end = segment->p_offset + segment->p_filesz;
		if (segment->p_type != PT_LOAD || begin >= end)
			continue;
		if (fatbins_search(image->fd, begin, end, fatbins) < 0)
			return -1;
		done = end;
	}
	return 0;
}

/* ---- what they are good for -------------------------------------------------------- */

bool fatbin_code_meets(const struct fatbin_code *code, const struct kp_arch *min,
	const struct kp_arch *max)
{
	const struct kp_arch *own = &code->arch;
	bool below = min->known && kp_arch_compare(own, min) < 0;

	if (max->known && kp_arch_compare(own, max) > 0)
		return false;
	if (!below)
		return true;
	/* What is written for less: does it reach up into the range? */
	if (code->scope == FATBIN_EXACT)
		return false;
	return (code->is_ptx && code->scope == FATBIN_PLAIN) || own->major == min->major;
}

json_t *fatbins_json(const struct fatbins *fatbins)
{
	static const char *const scopes[] = {NULL, "family", "exact"};
	json_t *list = json_array();
	char arch[32];

	for (size_t i = 0; list && i < fatbins->count; i++) {
		const struct fatbin_code *code = &fatbins->codes[i];
		list = kp_json_append(
			list, json_pack("{s:s, s:s, s:s*}", "kind",
				      code->is_ptx ? "ptx" : "sass", "arch",
				      kp_arch_print(&code->arch, arch, sizeof(arch)),
				      "scope", scopes[code->scope]));
	}
	return list;
}

const char *fatbins_text(const struct fatbins *fatbins, char *text, size_t size)
{
	static const char *const ends[] = {"", "f", "a"};
	size_t used = 0;
	char arch[32];

	text[0] = '\0';
	for (size_t i = 0; i < fatbins->count; i++) {
		const struct fatbin_code *code = &fatbins->codes[i];
		used = kp_text_add(text, size, used, "%s%s %s%s", i ? ", " : "",
			code->is_ptx ? "ptx" : "sass",
			kp_arch_print(&code->arch, arch, sizeof(arch)),
			ends[code->scope]);
	}
	return text;
}
