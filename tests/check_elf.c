/* SPDX-License-Identifier: MIT */
/* Reading libraries that are cut at any byte, or wrong in any: a verdict, never more. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/worker/closure.h"
#include "daemon/worker/elf_facts.h"
#include "daemon/worker/elf_faults.h"
#include "daemon/worker/elf_isa.h"
#include "daemon/worker/elf_symbols.h"
#include "daemon/worker/elf_trusted.h"
#include "daemon/worker/elf_versions.h"
#include "daemon/worker/note_elf.h"
#include "daemon/worker/provided.h"
#include "lib/base/file.h"
#include "lib/base/json.h"
#include "lib/base/owned.h"
#include "tests/support/suite.h"

enum { BYTES_MOST = 16 << 20 };

/* A library's bytes in memory, and a file of them that is changed. */
struct library {
	char *bytes;
	size_t size;
	int fd;
};

static void library_read(const char *name, struct library *library)
{
	const char *build = getenv("KPLUG_BUILD");
	char path[4096];
	(void)snprintf(path, sizeof(path), "%s/%s", build ? build : "build", name);
	ck_assert_int_eq(kp_file_read(AT_FDCWD, path, BYTES_MOST, &library->bytes,
				 &library->size, NULL),
		0);
	library->fd = memfd_create("library", MFD_CLOEXEC);
	ck_assert_int_ge(library->fd, 0);
	ck_assert_int_eq(kp_file_write(library->fd, library->bytes, library->size), 0);
}

static void library_finish(struct library *library)
{
	free(library->bytes);
	kp_file_close(&library->fd);
}

/* All that identify looks at, but for other libraries. */
static void walk(const struct elf_image *image)
{
	struct kp_diags faults = {0}, warnings = {0};
	struct closure nobody = {.is_cut = true};
	struct elf_load load;
	struct kp_diag diag;
	const char *text;
	size_t size;
	owned_json *facts = elf_facts(image);
	if (elf_trusted_entries(image, &diag) < 0 ||
		elf_trusted_names(image, &diag) < 0 ||
		elf_trusted_relocations(image, &diag) < 0)
		ck_assert_str_eq(diag.code, "elf_damaged");
	elf_load_read(image, &load);
	elf_faults_find(image, facts, &load, &faults, &warnings);
	(void)elf_isa_needed(image);
	(void)elf_versions_highest(image, "GLIBC_2");
	if (elf_symbols_check(image, &diag) < 0)
		ck_assert_str_ne(diag.code, "");
	if (note_elf_find(image, &text, &size, &diag) == 0)
		ck_assert_uint_lt(size, BYTES_MOST);
	ck_assert_int_eq(provided_check(image, &nobody, &faults, &warnings), 0);
	kp_diags_finish(&faults);
	kp_diags_finish(&warnings);
}

/* The code of what is wrong with the file as it is, or "". */
static const char *look(const struct library *library)
{
	struct elf_image image;
	struct kp_diag diag;
	const char *code = "";
	if (elf_image_open(library->fd, "x.so", &image, &diag) < 0)
		code = diag.code;
	else
		walk(&image);
	elf_image_finish(&image);
	return code;
}

static void cut_everywhere(struct library *library, size_t end)
{
	for (size_t size = end; size-- > 0;) {
		ck_assert_int_eq(ftruncate(library->fd, (off_t)size), 0);
		const char *code = look(library);
		const char *wanted = size == 0	? "empty_file"
				     : size < 4 ? "not_elf"
						: "elf_truncated";
		ck_assert_msg(strcmp(code, wanted) == 0, "%zu bytes: %s", size, code);
	}
}

START_TEST(t02_a_plugin_cut_at_any_byte_is_refused_for_that)
{
	struct library library;
	library_read("plugins/openblas.so", &library);
	ck_assert_str_eq(look(&library), "");
	cut_everywhere(&library, library.size);
	library_finish(&library);
}
END_TEST

static uint64_t end_of_segments(const struct library *library)
{
	struct elf_image image;
	uint64_t end = 0;
	ck_assert_int_eq(elf_image_open(library->fd, "x.so", &image, NULL), 0);
	for (size_t i = 0; i < image.n_segments; i++) {
		uint64_t at = image.segments[i].p_offset + image.segments[i].p_filesz;
		end = at > end ? at : end;
	}
	elf_image_finish(&image);
	return end;
}

/* As `objcopy --strip-section-headers` leaves it: nothing lies behind the segments. */
START_TEST(t02_without_sections_too)
{
	struct library library;
	library_read("plugins/openblas.so", &library);
	GElf_Ehdr *header = (GElf_Ehdr *)(void *)library.bytes;
	if (header->e_ident[EI_CLASS] != ELFCLASS64) {
		library_finish(&library);
		return;
	}
	uint64_t end = end_of_segments(&library);
	header->e_shoff = 0;
	header->e_shnum = header->e_shstrndx = 0;
	ck_assert_int_eq(pwrite(library.fd, header, sizeof(*header), 0), sizeof(*header));
	ck_assert_int_eq(ftruncate(library.fd, (off_t)end), 0);
	ck_assert_str_eq(look(&library), "");
	cut_everywhere(&library, end);
	library_finish(&library);
}
END_TEST

static void flip(struct library *library, size_t begin, size_t end, unsigned char mask)
{
	for (size_t at = begin; at < end && at < library->size; at++) {
		char wrong = (char)(library->bytes[at] ^ mask);
		ck_assert_int_eq(pwrite(library->fd, &wrong, 1, (off_t)at), 1);
		(void)look(library);
		ck_assert_int_eq(
			pwrite(library->fd, &library->bytes[at], 1, (off_t)at), 1);
	}
}

START_TEST(a_wrong_byte_in_headers_symbols_or_versions_gives_a_verdict)
{
	static const unsigned char masks[] = {0xff, 0x80, 0x01};
	struct library library;
	library_read("tests/fixtures/noisy.so", &library);
	for (size_t i = 0; i < KP_COUNT(masks); i++)
		flip(&library, 0, 4096, masks[i]);
	ck_assert_str_eq(look(&library), "");
	library_finish(&library);
}
END_TEST

START_TEST(a_wrong_byte_in_the_dynamic_section_gives_a_verdict)
{
	struct library library;
	struct elf_image image;
	library_read("tests/fixtures/noisy.so", &library);
	ck_assert_int_eq(elf_image_open(library.fd, "x.so", &image, NULL), 0);
	const GElf_Phdr dynamic = *elf_image_segment(&image, PT_DYNAMIC);
	elf_image_finish(&image);
	flip(&library, dynamic.p_offset, dynamic.p_offset + dynamic.p_filesz, 0xff);
	flip(&library, dynamic.p_offset, dynamic.p_offset + dynamic.p_filesz, 0x08);
	ck_assert_str_eq(look(&library), "");
	library_finish(&library);
}
END_TEST

START_TEST(the_libraries_of_this_machine_have_all_that_they_use)
{
	static const char *const names[] = {
		"tests/fixtures/noisy.so", "plugins/reference.so", "plugins/openblas.so"};
	for (size_t i = 0; i < KP_COUNT(names); i++) {
		struct kp_diags faults = {0}, warnings = {0};
		struct closure closure = {0};
		struct elf_image image;
		struct library library;
		library_read(names[i], &library);
		ck_assert_int_eq(elf_image_open(library.fd, names[i], &image, NULL), 0);
		owned_json *facts = elf_facts(&image);
		const struct search_path path = {
			.origin = "/nonexistent",
			.rpath = json_object_get(facts, "rpath"),
			.runpath = json_object_get(facts, "runpath"),
			.machine = image.header.e_machine,
			.class = image.header.e_ident[EI_CLASS],
		};
		ck_assert_int_eq(closure_gather(&closure, facts, &path), 0);
		ck_assert_ptr_null(closure.missing);
		ck_assert_ptr_nonnull(closure_find(&closure, "libc.so.6"));
		ck_assert_int_eq(provided_check(&image, &closure, &faults, &warnings), 0);
		ck_assert_uint_eq(faults.count, 0);
		kp_diags_finish(&faults);
		kp_diags_finish(&warnings);
		closure_finish(&closure);
		elf_image_finish(&image);
		library_finish(&library);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("elf");
	TCase *tcase = tcase_create("elf");
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, t02_a_plugin_cut_at_any_byte_is_refused_for_that);
	tcase_add_test(tcase, t02_without_sections_too);
	tcase_add_test(
		tcase, a_wrong_byte_in_headers_symbols_or_versions_gives_a_verdict);
	tcase_add_test(tcase, a_wrong_byte_in_the_dynamic_section_gives_a_verdict);
	tcase_add_test(tcase, the_libraries_of_this_machine_have_all_that_they_use);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
