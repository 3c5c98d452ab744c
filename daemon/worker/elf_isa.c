/* SPDX-License-Identifier: MIT */
/* Reading of .note.gnu.property, of 64-bit files. */
#include "daemon/worker/elf_isa.h"

#include <stdbool.h>
#include <string.h>

enum {
	NOTE_HEAD = 16, /* three words and "GNU" */
	PROPERTY_HEAD = 8,
	ALIGN = 8,
	SEGMENT_MOST = 64 << 10,
	LEVELS = 4,
};

static uint32_t word(const unsigned char *bytes, size_t at)
{
	uint32_t value;

	memcpy(&value, bytes + at, sizeof(value));
	return value;
}

static size_t padded(size_t size)
{
	return (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

/* The highest level among the bits: bit 0 is the baseline. */
static unsigned level_of(uint32_t bits)
{
	unsigned level = LEVELS;

	while (level > 0 && !(bits & 1U << (level - 1)))
		level--;
	return level;
}

/* Properties of one note: type, size, data, each padded to 8. */
static unsigned read_properties(const unsigned char *bytes, size_t size)
{
	for (size_t at = 0; size - at >= PROPERTY_HEAD;) {
		uint32_t type = word(bytes, at);
		size_t length = word(bytes, at + 4);
		if (length > size - at - PROPERTY_HEAD)
			return 0;
		if (type == GNU_PROPERTY_X86_ISA_1_NEEDED && length >= sizeof(uint32_t))
			return level_of(word(bytes, at + PROPERTY_HEAD));
		length = padded(length);
		if (length > size - at - PROPERTY_HEAD)
			return 0;
		at += PROPERTY_HEAD + length;
	}
	return 0;
}

static unsigned read_notes(const unsigned char *bytes, size_t size)
{
	for (size_t at = 0; size - at >= NOTE_HEAD;) {
		size_t name = word(bytes, at);
		size_t length = word(bytes, at + 4);
		bool ours = name == 4 && memcmp(bytes + at + 12, "GNU", 4) == 0 &&
			    word(bytes, at + 8) == NT_GNU_PROPERTY_TYPE_0;
		/* Notes of other owners in such a segment are none that ld makes. */
		if (!ours || length > size - at - NOTE_HEAD)
			return 0;
		unsigned level = read_properties(bytes + at + NOTE_HEAD, length);
		if (level > 0)
			return level;
		length = padded(length);
		if (length > size - at - NOTE_HEAD)
			return 0;
		at += NOTE_HEAD + length;
	}
	return 0;
}

unsigned elf_isa_needed(const struct elf_image *image)
{
	const GElf_Phdr *segment = elf_image_segment(image, PT_GNU_PROPERTY);

	if (!segment || image->header.e_machine != EM_X86_64 ||
		image->header.e_ident[EI_CLASS] != ELFCLASS64 ||
		segment->p_filesz > SEGMENT_MOST)
		return 0;
	const unsigned char *bytes =
		elf_image_read(image, segment->p_offset, segment->p_filesz, ELF_T_BYTE);
	return bytes ? read_notes(bytes, (size_t)segment->p_filesz) : 0;
}
