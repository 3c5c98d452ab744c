/* SPDX-License-Identifier: MIT */
/* Opens an ELF file and says whether this machine could load it. */
#include "daemon/worker/elf_image.h"

#include <errno.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/worker/elf_sound.h"

/* This program's own header, by the linker: what it is, the host runs. */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

const char *elf_machine_name(unsigned machine, char *text, size_t size)
{
	static const struct {
		unsigned machine;
		const char *name;
	} names[] = {
		{EM_X86_64, "x86_64"},
		{EM_AARCH64, "aarch64"},
		{EM_386, "i386"},
		{EM_ARM, "arm"},
		{EM_RISCV, "riscv"},
		{EM_PPC64, "ppc64"},
		{EM_S390, "s390"},
		{EM_MIPS, "mips"},
		{EM_CUDA, "cuda"},
		{EM_AMDGPU, "amdgpu"},
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].machine == machine)
			return names[i].name;
	snprintf(text, size, "machine %u", machine);
	return text;
}

int elf_damaged(const struct elf_image *image, const char *what, struct kp_diag *diag)
{
	/* libelf does not always say so; elf_image_open begins with no error. */
	if (errno == ENOMEM)
		return kp_diag_no_memory(diag);
	return kp_diag_set(diag, "elf_damaged", image->name,
		"%s is not a sound ELF file: %s", image->name, what);
}

static int truncated(const struct elf_image *image, const char *what, uint64_t end,
	struct kp_diag *diag)
{
	return kp_diag_set(diag, "elf_truncated", image->name,
		"%s is cut: %s ends at byte %" PRIu64 ", the file has %" PRIu64,
		image->name, what, end, image->size);
}

/* Whether offset + size lies in the file; else says what is cut. */
static int must_hold(const struct elf_image *image, const char *what, uint64_t offset,
	uint64_t size, struct kp_diag *diag)
{
	uint64_t end;
	if (__builtin_add_overflow(offset, size, &end))
		return elf_damaged(image, "an offset wraps around", diag);
	return end <= image->size ? 0 : truncated(image, what, end, diag);
}

/* Before libelf, whose errors do not tell these cases apart. */
static int check_identity(const struct elf_image *image, struct kp_diag *diag)
{
	unsigned char ident[EI_NIDENT] = {0};
	ssize_t n = pread(image->fd, ident, sizeof(ident), 0);
	if (image->size == 0)
		return kp_diag_set(
			diag, "empty_file", image->name, "%s is empty", image->name);
	if (n < SELFMAG || memcmp(ident, ELFMAG, SELFMAG) != 0)
		return kp_diag_set(diag, "not_elf", image->name,
			"%s is not an ELF file: it does not start with \\x7f"
			"ELF",
			image->name);
	if (n < EI_NIDENT)
		return truncated(image, "the ELF header", EI_NIDENT, diag);
	if (ident[EI_CLASS] != ELFCLASS32 && ident[EI_CLASS] != ELFCLASS64)
		return elf_damaged(image, "its class is unknown", diag);
	const unsigned char *host = __ehdr_start.e_ident;
	if (ident[EI_CLASS] != host[EI_CLASS])
		return kp_diag_set(diag, "wrong_class", image->name,
			"file is %d-bit, host is %d-bit",
			ident[EI_CLASS] == ELFCLASS64 ? 64 : 32,
			host[EI_CLASS] == ELFCLASS64 ? 64 : 32);
	if (ident[EI_DATA] != ELFDATA2LSB && ident[EI_DATA] != ELFDATA2MSB)
		return elf_damaged(image, "its byte order is unknown", diag);
	if (ident[EI_DATA] != host[EI_DATA])
		return kp_diag_set(diag, "wrong_endian", image->name,
			"file is %s-endian, host is %s-endian",
			ident[EI_DATA] == ELFDATA2MSB ? "big" : "little",
			host[EI_DATA] == ELFDATA2MSB ? "big" : "little");
	return must_hold(image, "the ELF header", 0, sizeof(ElfW(Ehdr)), diag);
}

static int check_header(const struct elf_image *image, struct kp_diag *diag)
{
	const GElf_Ehdr *header = &image->header;
	char file[32];
	char host[32];
	if (header->e_machine != __ehdr_start.e_machine)
		return kp_diag_set(diag, "wrong_machine", image->name,
			"file is %s, host is %s",
			elf_machine_name(header->e_machine, file, sizeof(file)),
			elf_machine_name(__ehdr_start.e_machine, host, sizeof(host)));
	if (header->e_type != ET_DYN)
		return kp_diag_set(diag, "not_shared_object", image->name,
			"%s is %s, not a shared object", image->name,
			header->e_type == ET_REL    ? "an object file"
			: header->e_type == ET_EXEC ? "an executable"
			: header->e_type == ET_CORE ? "a core dump"
						    : "of an unknown type");
	if (header->e_phnum == 0 || header->e_phnum > ELF_IMAGE_SEGMENTS)
		return elf_damaged(image, "its number of segments is impossible", diag);
	if (elf_sound_header(image, diag) < 0)
		return -1;
	if (must_hold(image, "the table of segments", header->e_phoff,
		    (uint64_t)header->e_phnum * header->e_phentsize, diag) < 0)
		return -1;
	/* Not needed to load, but a file that lacks its end lacks this. */
	return must_hold(image, "the table of sections", header->e_shoff,
		(uint64_t)header->e_shnum * header->e_shentsize, diag);
}

static int read_segments(struct elf_image *image, struct kp_diag *diag)
{
	size_t count = image->header.e_phnum;
	image->segments = calloc(count, sizeof(*image->segments));
	if (!image->segments)
		return kp_diag_no_memory(diag);
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr *segment = &image->segments[i];
		if (!gelf_getphdr(image->elf, (int)i, segment))
			return elf_damaged(image, elf_errmsg(-1), diag);
		image->n_segments = i + 1;
		if (segment->p_filesz > 0 && segment->p_type != PT_NULL &&
			must_hold(image, "a segment", segment->p_offset,
				segment->p_filesz, diag) < 0)
			return -1;
	}
	return 0;
}

/* Sections are not used, but one beyond the end shows that the file is cut. */
static int check_sections(const struct elf_image *image, struct kp_diag *diag)
{
	for (size_t i = 1; i < image->header.e_shnum; i++) {
		GElf_Shdr section;
		Elf_Scn *scn = elf_getscn(image->elf, i);
		if (!scn || !gelf_getshdr(scn, &section))
			return elf_damaged(image, elf_errmsg(-1), diag);
		if (section.sh_type != SHT_NOBITS && section.sh_type != SHT_NULL &&
			must_hold(image, "a section", section.sh_offset, section.sh_size,
				diag) < 0)
			return -1;
	}
	return 0;
}

const GElf_Phdr *elf_image_segment(const struct elf_image *image, uint32_t type)
{
	for (size_t i = 0; i < image->n_segments; i++)
		if (image->segments[i].p_type == type)
			return &image->segments[i];
	return NULL;
}

const GElf_Phdr *elf_image_loaded(const struct elf_image *image, uint64_t address)
{
	for (size_t i = 0; i < image->n_segments; i++) {
		const GElf_Phdr *at = &image->segments[i];
		if (at->p_type == PT_LOAD && address >= at->p_vaddr &&
			address - at->p_vaddr < at->p_memsz)
			return at;
	}
	return NULL;
}

uint64_t elf_image_offset(const struct elf_image *image, uint64_t address)
{
	for (size_t i = 0; i < image->n_segments; i++) {
		const GElf_Phdr *at = &image->segments[i];
		if (at->p_type == PT_LOAD && address >= at->p_vaddr &&
			address - at->p_vaddr < at->p_filesz)
			return at->p_offset + (address - at->p_vaddr);
	}
	return UINT64_MAX;
}

const void *elf_image_read(
	const struct elf_image *image, uint64_t offset, uint64_t size, Elf_Type type)
{
	if (size == 0 || offset > image->size || size > image->size - offset)
		return NULL;
	Elf_Data *data = elf_getdata_rawchunk(image->elf, (int64_t)offset, size, type);
	return data && data->d_size >= size ? data->d_buf : NULL;
}

static int read_dynamic(struct elf_image *image, struct kp_diag *diag)
{
	const GElf_Phdr *segment = elf_image_segment(image, PT_DYNAMIC);
	if (!segment)
		return kp_diag_set(diag, "not_shared_object", image->name,
			"%s has no dynamic section: it cannot be loaded", image->name);
	size_t each = gelf_fsize(image->elf, ELF_T_DYN, 1, EV_CURRENT);
	size_t count = (size_t)(segment->p_filesz / each);
	count = count < ELF_IMAGE_DYNAMIC ? count : ELF_IMAGE_DYNAMIC;
	Elf_Data *data = elf_getdata_rawchunk(
		image->elf, (int64_t)segment->p_offset, count * each, ELF_T_DYN);
	image->dynamic = calloc(count + 1, sizeof(*image->dynamic));
	if (!image->dynamic)
		return kp_diag_no_memory(diag);
	for (size_t i = 0; i < count; i++) {
		if (!data || !gelf_getdyn(data, (int)i, &image->dynamic[i]))
			return elf_damaged(image, "its dynamic section is cut", diag);
		if (image->dynamic[i].d_tag == DT_NULL)
			break;
		image->n_dynamic = i + 1;
	}
	if (image->n_dynamic == count)
		return elf_damaged(image, "its dynamic section has no end", diag);
	/* A program that is position-independent is ET_DYN, too. */
	if (elf_image_dynamic(image, DT_FLAGS_1, 0) & DF_1_PIE)
		return kp_diag_set(diag, "not_shared_object", image->name,
			"%s is an executable, not a shared object", image->name);
	return 0;
}

static int find_strings(struct elf_image *image, struct kp_diag *diag)
{
	uint64_t at =
		elf_image_offset(image, elf_image_dynamic(image, DT_STRTAB, UINT64_MAX));
	uint64_t size = elf_image_dynamic(image, DT_STRSZ, 0);
	if (at != UINT64_MAX && size <= ELF_IMAGE_STRINGS)
		image->strings = elf_image_read(image, at, size, ELF_T_BYTE);
	if (!image->strings)
		return elf_damaged(image, "its dynamic string table is not there", diag);
	image->string_size = size;
	return 0;
}

int elf_image_open(
	int fd, const char *name, struct elf_image *image, struct kp_diag *diag)
{
	struct stat st;
	*image = (struct elf_image){.name = name, .fd = fd};
	errno = 0;
	if (fstat(fd, &st) < 0)
		return elf_damaged(image, "it cannot be read", diag);
	image->size = (uint64_t)st.st_size;
	if (check_identity(image, diag) < 0)
		return -1;
	if (elf_version(EV_CURRENT) == EV_NONE)
		return elf_damaged(image, "libelf is too old for it", diag);
	image->elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!image->elf || elf_kind(image->elf) != ELF_K_ELF ||
		!gelf_getehdr(image->elf, &image->header))
		return elf_damaged(image, elf_errmsg(-1), diag);
	if (check_header(image, diag) < 0 || read_segments(image, diag) < 0 ||
		check_sections(image, diag) < 0 || elf_sound_segments(image, diag) < 0 ||
		read_dynamic(image, diag) < 0 || find_strings(image, diag) < 0)
		return -1;
	return elf_sound_tables(image, diag);
}

void elf_image_finish(struct elf_image *image)
{
	free(image->segments);
	free(image->dynamic);
	if (image->elf)
		elf_end(image->elf);
	*image = (struct elf_image){.fd = -1};
}

uint64_t elf_image_dynamic(const struct elf_image *image, int64_t tag, uint64_t absent)
{
	for (size_t i = 0; i < image->n_dynamic; i++)
		if (image->dynamic[i].d_tag == tag)
			return image->dynamic[i].d_un.d_val;
	return absent;
}

const char *elf_image_string(const struct elf_image *image, uint64_t index)
{
	if (index >= image->string_size ||
		!memchr(image->strings + index, '\0', image->string_size - index))
		return NULL;
	return image->strings + index;
}
