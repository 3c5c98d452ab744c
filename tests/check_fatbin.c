/* SPDX-License-Identifier: MIT */
/* Fat binaries: found wherever they are, read within bounds whatever they hold. */
#include "daemon/worker/fatbin.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/suite.h"

enum { ROOM = 1 << 16, PTX = 1, SASS = 2 };

/* A file that is built piece by piece. */
struct bytes {
	size_t size;
	unsigned char at[ROOM];
};
static struct bytes made;
static struct fatbins found;

static void put(struct bytes *bytes, uint64_t value, size_t size)
{
	ck_assert_uint_le(bytes->size + size, ROOM);
	for (size_t i = 0; i < size; i++)
		bytes->at[bytes->size++] =
			i < sizeof(value) ? (unsigned char)(value >> 8 * i) : 0;
}

static void poke(struct bytes *bytes, size_t at, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		bytes->at[at + i] = (unsigned char)(value >> 8 * i);
}

/* Where the container begins; finish_container sets its size. */
static size_t put_container(struct bytes *bytes)
{
	size_t begin = bytes->size;
	put(bytes, 0xba55ed50, 4);
	put(bytes, 1, 2);
	put(bytes, 16, 2);
	put(bytes, 0, 8);
	return begin;
}

static void finish_container(struct bytes *bytes, size_t begin)
{
	poke(bytes, begin + 8, bytes->size - begin - 16, 8);
}

static void put_entry(
	struct bytes *bytes, unsigned kind, unsigned arch, uint64_t flags, size_t code)
{
	size_t begin = bytes->size;
	put(bytes, kind, 2);
	put(bytes, 0x101, 2);
	put(bytes, 64, 4);
	put(bytes, code, 8);
	put(bytes, 0, 12);
	put(bytes, arch, 4);
	put(bytes, 0, 8);
	put(bytes, flags, 8);
	put(bytes, 0, 64 - (bytes->size - begin));
	for (size_t i = 0; i < code; i++)
		put(bytes, i * 31, 1);
}

static void search(const struct bytes *bytes)
{
	int fd = memfd_create("fatbin", MFD_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, bytes->at, bytes->size), (ssize_t)bytes->size);
	memset(&found, 0, sizeof(found));
	ck_assert_int_eq(fatbins_search(fd, 0, bytes->size, &found), 0);
	close(fd);
}

static const char *text(void)
{
	static char out[1024];
	return fatbins_text(&found, out, sizeof(out));
}

/* ---- what is there ------------------------------------------------------------- */

static void three(struct bytes *bytes)
{
	size_t begin = put_container(bytes);
	put_entry(bytes, SASS, 90, 0x11, 40);
	put_entry(bytes, PTX, 90, 0x8011, 16);
	put_entry(bytes, SASS, 80, 0x11, 24);
	finish_container(bytes, begin);
}

START_TEST(the_archs_of_a_container_are_told_in_order)
{
	three(&made);
	search(&made);
	ck_assert_str_eq(text(), "sass 8.0, sass 9.0, ptx 9.0");
	ck_assert_uint_eq(found.containers, 1);
	ck_assert_uint_eq(found.damaged, 0);
}
END_TEST

START_TEST(archs_of_their_own_and_of_families_are_told_apart)
{
	size_t begin = put_container(&made);
	put_entry(&made, SASS, 90, 0x100011, 8);
	put_entry(&made, SASS, 103, 0x1200011, 8);
	put_entry(&made, PTX, 100, 0x208011, 8);
	put_entry(&made, SASS, 121, 0x11, 8);
	finish_container(&made, begin);
	search(&made);
	ck_assert_str_eq(text(), "sass 9.0a, ptx 10.0f, sass 10.3f, sass 12.1");
	json_t *list = fatbins_json(&found);
	ck_assert_uint_eq(json_array_size(list), 4);
	ck_assert_str_eq(
		json_string_value(json_object_get(json_array_get(list, 0), "scope")),
		"exact");
	json_decref(list);
}
END_TEST

/* Anywhere: aligned or not, and over the edge of what is read at a time. */
START_TEST(containers_are_found_wherever_they_begin)
{
	static unsigned char big[(2 << 20) + ROOM];
	size_t edge = 1 << 20;
	size_t at = edge - 24 + (size_t)_i;
	three(&made);
	memset(big, 0x50, sizeof(big));
	memcpy(big + at, made.at, made.size);
	memcpy(big + at + made.size + 1, made.at, made.size);
	int fd = memfd_create("fatbin", MFD_CLOEXEC);
	ck_assert_int_eq(write(fd, big, sizeof(big)), (ssize_t)sizeof(big));
	ck_assert_int_eq(fatbins_search(fd, 0, sizeof(big), &found), 0);
	close(fd);
	ck_assert_uint_eq(found.containers, 2);
	ck_assert_uint_eq(found.count, 3);
}
END_TEST

START_TEST(the_same_arch_twice_is_told_once)
{
	for (int i = 0; i < 20; i++)
		three(&made);
	search(&made);
	ck_assert_uint_eq(found.containers, 20);
	ck_assert_uint_eq(found.count, 3);
}
END_TEST

/* ---- what does not add up -------------------------------------------------------- */

static const struct {
	const char *what;
	size_t at; /* in the container */
	uint64_t value;
	size_t size;
	size_t containers, count, damaged;
} faults[] = {
	{"a container of another version", 4, 2, 2, 0, 0, 0},
	{"a header without room", 6, 15, 2, 0, 0, 0},
	{"a header beyond the file", 6, 0xffff, 2, 0, 0, 0},
	{"a container beyond the file", 8, 4096, 8, 0, 0, 0},
	{"a container whose size wraps around", 8, UINT64_MAX - 8, 8, 0, 0, 0},
	{"a container of nothing", 8, 0, 8, 1, 0, 0},
	{"a container that is cut in an entry", 8, 70, 8, 1, 0, 1},
	{"a container that ends in a header", 8, 20, 8, 1, 0, 1},
	{"an entry without a header", 16 + 4, 0, 4, 1, 0, 1},
	{"an entry whose header is too short", 16 + 4, 31, 4, 1, 0, 1},
	{"an entry whose header is endless", 16 + 4, UINT32_MAX, 4, 1, 0, 1},
	{"an entry whose code is endless", 16 + 8, UINT64_MAX, 8, 1, 0, 1},
	{"an entry whose code wraps around", 16 + 8, UINT64_MAX - 63, 8, 1, 0, 1},
	{"an entry that is longer than the container", 16 + 8, 4096, 8, 1, 0, 1},
	{"an entry of another kind", 16, 7, 2, 1, 2, 0},
	{"an arch of zero", 16 + 28, 0, 4, 1, 2, 0},
	{"an arch of no GPU", 16 + 28, UINT32_MAX, 4, 1, 2, 0},
};

START_TEST(what_does_not_add_up_is_no_code)
{
	three(&made);
	poke(&made, faults[_i].at, faults[_i].value, faults[_i].size);
	search(&made);
	ck_assert_msg(found.containers == faults[_i].containers, "%s: %zu containers",
		faults[_i].what, found.containers);
	ck_assert_msg(found.count == faults[_i].count, "%s: %s", faults[_i].what, text());
	ck_assert_msg(found.damaged == faults[_i].damaged, "%s: %zu damaged",
		faults[_i].what, found.damaged);
}
END_TEST

START_TEST(a_container_that_is_cut_anywhere_tells_no_more_than_is_there)
{
	three(&made);
	for (size_t size = 0; size < made.size; size++) {
		struct bytes cut = {.size = size};
		memcpy(cut.at, made.at, size);
		search(&cut);
		ck_assert_uint_eq(found.count, 0);
	}
}
END_TEST

START_TEST(containers_inside_each_other_are_read_once)
{
	size_t outer = put_container(&made);
	put_entry(&made, SASS, 80, 0, 0);
	size_t length = made.size;
	three(&made);
	/* The inner one is the code of the entry. */
	poke(&made, outer + 16 + 8, made.size - length, 8);
	finish_container(&made, outer);
	search(&made);
	ck_assert_uint_eq(found.containers, 1);
	ck_assert_str_eq(text(), "sass 8.0");
}
END_TEST

START_TEST(a_file_of_nothing_but_magics_ends_the_search)
{
	while (made.size + 16 <= ROOM)
		put_container(&made);
	for (size_t at = 0; at + 16 <= made.size; at += 16)
		poke(&made, at + 8, made.size - at - 16, 8);
	search(&made);
	ck_assert_uint_le(found.entries, FATBIN_ENTRIES);
	ck_assert_uint_eq(found.count, 0);
}
END_TEST

START_TEST(more_entries_than_are_looked_at_are_cut)
{
	static unsigned char big[16 + 32 * (FATBIN_ENTRIES + 8)];
	struct bytes head = {.size = 0};
	put_container(&head);
	memcpy(big, head.at, head.size);
	uint64_t size = sizeof(big) - 16;
	memcpy(big + 8, &size, 8);
	for (size_t at = 16; at + 32 <= sizeof(big); at += 32) {
		const uint32_t header = 32, arch = 90;
		big[at] = SASS;
		memcpy(big + at + 4, &header, 4);
		memcpy(big + at + 28, &arch, 4);
	}
	int fd = memfd_create("fatbin", MFD_CLOEXEC);
	ck_assert_int_eq(write(fd, big, sizeof(big)), (ssize_t)sizeof(big));
	ck_assert_int_eq(fatbins_search(fd, 0, sizeof(big), &found), 0);
	close(fd);
	ck_assert(found.is_cut);
	ck_assert_str_eq(text(), "sass 9.0");
}
END_TEST

START_TEST(more_archs_than_are_kept_are_cut)
{
	size_t begin = put_container(&made);
	for (unsigned arch = 10; arch < 10 + FATBIN_CODES + 5; arch++)
		put_entry(&made, SASS, arch, 0, 0);
	finish_container(&made, begin);
	search(&made);
	ck_assert_uint_eq(found.count, FATBIN_CODES);
	ck_assert(found.is_cut);
}
END_TEST

/* Any bytes: what is told stays within its bounds, and the search ends. */
START_TEST(mutated_fat_binaries_are_read_within_bounds)
{
	uint64_t seed = 0x9e3779b97f4a7c15ULL * (uint64_t)(_i + 1);
	for (int round = 0; round < 400; round++) {
		made.size = 0;
		three(&made);
		three(&made);
		for (int i = 0; i < 1 + round % 7; i++) {
			seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
			size_t at = (size_t)(seed >> 33) % made.size;
			static const unsigned char odd[] = {0, 1, 0x7f, 0x80, 0xff};
			made.at[at] = round % 2 ? odd[(seed >> 20) % 5]
						: (unsigned char)(seed >> 12);
		}
		made.size -=
			(size_t)(seed >> 40) % 3 ? 0 : (size_t)(seed >> 45) % made.size;
		search(&made);
		ck_assert_uint_le(found.count, 6);
		for (size_t i = 0; i < found.count; i++) {
			ck_assert_int_ge(found.codes[i].arch.major, 1);
			ck_assert_int_le(found.codes[i].arch.major, 999);
		}
	}
}
END_TEST

/* ---- what runs where --------------------------------------------------------------- */

static const struct {
	bool ptx;
	enum fatbin_scope scope;
	int code[2];
	const char *min, *max;
	bool meets;
} ranges[] = {
	{false, FATBIN_PLAIN, {8, 0}, "8.0", NULL, true},
	{false, FATBIN_PLAIN, {8, 0}, "8.6", NULL, true},
	{false, FATBIN_PLAIN, {8, 6}, "8.0", NULL, true},
	{false, FATBIN_PLAIN, {8, 0}, "9.0", NULL, false},
	{false, FATBIN_PLAIN, {9, 0}, "8.0", "8.9", false},
	{false, FATBIN_PLAIN, {9, 0}, NULL, "8.9", false},
	{false, FATBIN_PLAIN, {8, 0}, NULL, "8.9", true},
	{true, FATBIN_PLAIN, {7, 5}, "9.0", "9.0", true},
	{true, FATBIN_PLAIN, {9, 0}, "8.0", "8.9", false},
	{true, FATBIN_PLAIN, {9, 0}, "8.0", NULL, true},
	{false, FATBIN_EXACT, {9, 0}, "9.0", "9.0", true},
	{false, FATBIN_EXACT, {9, 0}, "10.0", NULL, false},
	{true, FATBIN_EXACT, {9, 0}, "10.0", NULL, false},
	{false, FATBIN_EXACT, {10, 0}, "10.3", NULL, false},
	{false, FATBIN_FAMILY, {10, 0}, "10.3", NULL, true},
	{true, FATBIN_FAMILY, {10, 0}, "10.3", NULL, true},
	{true, FATBIN_FAMILY, {10, 0}, "12.0", NULL, false},
};

START_TEST(t51_code_meets_a_range_or_does_not)
{
	struct kp_arch min = {false, 0, 0}, max = {false, 0, 0};
	if (ranges[_i].min)
		ck_assert_int_eq(kp_arch_parse(ranges[_i].min, &min, NULL), 0);
	if (ranges[_i].max)
		ck_assert_int_eq(kp_arch_parse(ranges[_i].max, &max, NULL), 0);
	const struct fatbin_code code = {ranges[_i].ptx, ranges[_i].scope,
		{true, ranges[_i].code[0], ranges[_i].code[1]}};
	ck_assert_int_eq(fatbin_code_meets(&code, &min, &max), ranges[_i].meets);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

int main(void)
{
	Suite *suite = suite_create("fatbin");
	TCase *tcase = tcase_create("fatbin");
	tcase_add_test(tcase, the_archs_of_a_container_are_told_in_order);
	tcase_add_test(tcase, archs_of_their_own_and_of_families_are_told_apart);
	tcase_add_loop_test(tcase, containers_are_found_wherever_they_begin, 0, 30);
	tcase_add_test(tcase, the_same_arch_twice_is_told_once);
	tcase_add_loop_test(tcase, what_does_not_add_up_is_no_code, 0, COUNT(faults));
	tcase_add_test(
		tcase, a_container_that_is_cut_anywhere_tells_no_more_than_is_there);
	tcase_add_test(tcase, containers_inside_each_other_are_read_once);
	tcase_add_test(tcase, a_file_of_nothing_but_magics_ends_the_search);
	tcase_add_test(tcase, more_entries_than_are_looked_at_are_cut);
	tcase_add_test(tcase, more_archs_than_are_kept_are_cut);
	tcase_add_loop_test(tcase, mutated_fat_binaries_are_read_within_bounds, 0, 10);
	tcase_add_loop_test(tcase, t51_code_meets_a_range_or_does_not, 0, COUNT(ranges));
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
