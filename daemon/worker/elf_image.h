/* SPDX-License-Identifier: MIT */
/*
 * The ELF file of a library, read by pieces within its bounds through libelf: a
 * file that shrinks meanwhile is a short read, not a signal. Knows nothing of
 * plugins. Nothing is taken from sections: strip may have removed them.
 */
#ifndef KP_WORKER_ELF_IMAGE_H
#define KP_WORKER_ELF_IMAGE_H

#include <gelf.h>
#include <libelf.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/diag.h"

enum {
	ELF_IMAGE_SEGMENTS = 1024,
	ELF_IMAGE_DYNAMIC = 4096,
	ELF_IMAGE_STRINGS = 256 << 20,
};

struct elf_image {
	const char *name; /* for messages; borrowed */
	int fd;		  /* borrowed */
	uint64_t size;
	Elf *elf;
	GElf_Ehdr header;
	size_t n_segments;
	GElf_Phdr *segments;
	size_t n_dynamic;
	GElf_Dyn *dynamic;
	const char *strings; /* the dynamic string table */
	uint64_t string_size;
};

/*
 * Reads and checks headers and the dynamic section. Codes: empty_file, not_elf,
 * elf_truncated (what ends where, and how long the file is), wrong_class,
 * wrong_endian, wrong_machine (both named), not_shared_object, elf_damaged.
 * `image` is to be finished in any case.
 */
int elf_image_open(int fd, const char *name, struct elf_image *image,
	struct kp_diag *diag) __attribute__((warn_unused_result));
void elf_image_finish(struct elf_image *image);

/* The value of the first dynamic entry with this tag, or `absent`. */
uint64_t elf_image_dynamic(const struct elf_image *image, int64_t tag, uint64_t absent);

/* The first segment of a type, or NULL. */
const GElf_Phdr *elf_image_segment(const struct elf_image *image, uint32_t type);

/* Offset in the file of an address; UINT64_MAX when no segment loads it from there. */
uint64_t elf_image_offset(const struct elf_image *image, uint64_t address);

/* The segment that an address is loaded with, or NULL. */
const GElf_Phdr *elf_image_loaded(const struct elf_image *image, uint64_t address);

/*
 * `size` bytes at an offset, converted from the file's form of `type`; valid
 * until finish. NULL when they are not all there.
 */
const void *elf_image_read(
	const struct elf_image *image, uint64_t offset, uint64_t size, Elf_Type type);

/* A string of the dynamic string table, or NULL when it is not inside. */
const char *elf_image_string(const struct elf_image *image, uint64_t index);

/* "x86_64" of a machine number; "machine 1234" into `text` for others. */
const char *elf_machine_name(unsigned machine, char *text, size_t size);

/* Code elf_damaged with a sentence. Returns -1. */
int elf_damaged(const struct elf_image *image, const char *what, struct kp_diag *diag);

#endif
