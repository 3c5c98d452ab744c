/* SPDX-License-Identifier: MIT */
/* Structs of plugins, of every size and with every fault. */
#include "lib/plugin/abi.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int run(const struct kp_call *call)
{
	(void)call;
	return KP_OK;
}

static int available(const struct kp_device *device, struct kp_error *error)
{
	(void)device;
	(void)error;
	return KP_OK;
}

static int start(const struct kp_host *host, const char *config_json, void **state,
	struct kp_error *error)
{
	(void)host;
	(void)config_json;
	(void)state;
	(void)error;
	return KP_OK;
}

/* A plugin of two kernels that a test then spoils. */
struct sample {
	struct kp_kernel kernels[2];
	struct kp_entry entries[2];
	const struct kp_entry *array[2];
	struct kp_plugin plugin;
};

static void fill(struct sample *s)
{
	static const char *const names[] = {"mm", "rms"};
	for (int i = 0; i < 2; i++) {
		s->kernels[i] = (struct kp_kernel){
			KP_SIZED(struct kp_kernel), .run = run, .available = available};
		s->entries[i] = (struct kp_entry){KP_SIZED(struct kp_entry),
			KP_ENTRY_KERNEL, 0, names[i], &s->kernels[i]};
		s->array[i] = &s->entries[i];
	}
	s->plugin = (struct kp_plugin){KP_SIZED(struct kp_plugin), KP_ABI_MAJOR,
		KP_ABI_MINOR, 0, 2, s->array, start, NULL};
}

static void expect(const struct sample *s, const char *code, const char *object)
{
	struct kp_diag diag = {0};
	int rc = kp_abi_check(&s->plugin, &diag);
	if (!code) {
		ck_assert_msg(rc == 0, "%s", diag.message);
		return;
	}
	ck_assert_int_eq(rc, -1);
	ck_assert_str_eq(diag.code, code);
	ck_assert_str_eq(diag.object, object);
}

START_TEST(a_whole_plugin_is_accepted)
{
	struct sample s;
	fill(&s);
	expect(&s, NULL, NULL);
	s.plugin.n_entries = 0;
	s.plugin.entries = NULL;
	expect(&s, NULL, NULL);
}
END_TEST

/* ---- A01, A02: sizes ------------------------------------------------------------ */

START_TEST(a01_a_kernel_of_any_length_from_run_on_is_accepted)
{
	struct sample s;
	struct kp_kernel today;
	for (size_t size = offsetof(struct kp_kernel, available);
		size <= sizeof(struct kp_kernel); size++) {
		fill(&s);
		s.kernels[1].backward = run;
		s.kernels[1].size = (uint32_t)size;
		expect(&s, NULL, NULL);
		kp_abi_kernel(&s.entries[1], &today);
		ck_assert_ptr_eq((void *)(uintptr_t)today.run, (void *)(uintptr_t)run);
		bool has_available = size >= offsetof(struct kp_kernel, load);
		ck_assert_int_eq(today.available != NULL, has_available);
		ck_assert_int_eq(
			today.backward != NULL, size == sizeof(struct kp_kernel));
		ck_assert_uint_eq(today.size, sizeof(today));
	}
}
END_TEST

START_TEST(a01_a_plugin_without_start_and_stop_is_accepted)
{
	struct sample s;
	struct kp_plugin today;
	fill(&s);
	s.plugin.size = offsetof(struct kp_plugin, stop);
	expect(&s, NULL, NULL);
	kp_abi_plugin(&s.plugin, &today);
	ck_assert(today.start == start);
	s.plugin.size = offsetof(struct kp_plugin, start);
	expect(&s, NULL, NULL);
	kp_abi_plugin(&s.plugin, &today);
	ck_assert(today.start == NULL);
	ck_assert_ptr_eq(today.entries, s.array);
	s.plugin.size = offsetof(struct kp_plugin, start) + 4;
	kp_abi_plugin(&s.plugin, &today);
	ck_assert(today.start == NULL);
}
END_TEST

static const struct {
	size_t offset; /* of the size, in a sample */
	const char *object;
	size_t least;
} sized[] = {
	{offsetof(struct sample, plugin), "kplug_plugin",
		offsetof(struct kp_plugin, start)},
	{offsetof(struct sample, entries[1]), "entries[1]", sizeof(struct kp_entry)},
	{offsetof(struct sample, kernels[0]), "entries[0].vtable",
		offsetof(struct kp_kernel, available)},
};

static void set_word(struct sample *s, size_t offset, uint32_t value)
{
	memcpy((char *)s + offset, &value, sizeof(value));
}

START_TEST(a02_a_size_below_the_prefix_or_absurd_is_refused)
{
	static const uint32_t absurd[] = {0, 1, 8, KP_STRUCT_MOST + 1, UINT32_MAX};
	struct sample s;
	for (size_t i = 0; i < sizeof(absurd) / sizeof(absurd[0]); i++) {
		fill(&s);
		set_word(&s, sized[_i].offset, absurd[i]);
		expect(&s, "bad_struct_size", sized[_i].object);
	}
	fill(&s);
	set_word(&s, sized[_i].offset, (uint32_t)sized[_i].least - 1);
	expect(&s, "bad_struct_size", sized[_i].object);
	set_word(&s, sized[_i].offset, (uint32_t)sized[_i].least);
	expect(&s, NULL, NULL);
}
END_TEST

START_TEST(a02_a_plausibly_larger_struct_is_accepted_and_its_tail_ignored)
{
	static const uint32_t larger[] = {8, 64, 1024};
	static const size_t ours[] = {sizeof(struct kp_plugin), sizeof(struct kp_entry),
		sizeof(struct kp_kernel)};
	struct sample s;
	for (size_t i = 0; i < sizeof(larger) / sizeof(larger[0]); i++) {
		fill(&s);
		set_word(&s, sized[_i].offset, (uint32_t)ours[_i] + larger[i]);
		expect(&s, NULL, NULL);
	}
	fill(&s);
	set_word(&s, sized[_i].offset, KP_STRUCT_MOST);
	expect(&s, NULL, NULL);
}
END_TEST

/* `size` bytes that end where a page without access begins. */
static void *at_end_of_page(const void *bytes, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *map = mmap(NULL, page * 2, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(map, MAP_FAILED);
	ck_assert_int_eq(mprotect(map + page, page, PROT_NONE), 0);
	memcpy(map + page - size, bytes, size);
	return map + page - size;
}

START_TEST(a01_nothing_behind_the_size_is_read)
{
	struct sample s;
	struct kp_kernel today;
	struct kp_plugin plugin_today;
	struct kp_diag diag = {0};
	fill(&s);
	s.kernels[0].size = offsetof(struct kp_kernel, available);
	s.kernels[1].size = offsetof(struct kp_kernel, need);
	s.plugin.size = offsetof(struct kp_plugin, start);
	for (int i = 0; i < 2; i++)
		s.entries[i].vtable = at_end_of_page(&s.kernels[i], s.kernels[i].size);
	s.array[1] = at_end_of_page(&s.entries[1], sizeof(s.entries[1]));
	s.plugin.entries = at_end_of_page(s.array, sizeof(s.array));
	const struct kp_plugin *plugin = at_end_of_page(&s.plugin, s.plugin.size);
	ck_assert_msg(kp_abi_check(plugin, &diag) == 0, "%s", diag.message);
	kp_abi_kernel(&s.entries[0], &today);
	ck_assert(today.available == NULL);
	kp_abi_kernel(s.array[1], &today);
	ck_assert(today.available == available);
	ck_assert(today.need == NULL);
	kp_abi_plugin(plugin, &plugin_today);
	ck_assert(plugin_today.start == NULL);
}
END_TEST

START_TEST(a02_a_struct_of_its_head_alone_is_refused_unread)
{
	struct sample s;
	struct kp_diag diag;
	fill(&s);
	s.plugin.size = 8;
	ck_assert_int_eq(kp_abi_check(at_end_of_page(&s.plugin, 8), &diag), -1);
	ck_assert_str_eq(diag.code, "bad_struct_size");
	fill(&s);
	s.kernels[0].size = 8;
	s.entries[0].vtable = at_end_of_page(&s.kernels[0], 8);
	expect(&s, "bad_struct_size", "entries[0].vtable");
	fill(&s);
	s.entries[1].size = 12;
	s.array[1] = at_end_of_page(&s.entries[1], 12);
	expect(&s, "bad_struct_size", "entries[1]");
}
END_TEST

/* ---- A03: flags ---------------------------------------------------------------- */

START_TEST(a03_an_unknown_low_flag_is_refused_with_its_bit)
{
	static const int bits[] = {0, 7, 15};
	struct sample s;
	struct kp_diag diag;
	char wanted[16];
	for (size_t i = 0; i < 3; i++) {
		fill(&s);
		set_word(&s, sized[_i].offset + 4, 1u << bits[i] | 1u << 30);
		ck_assert_int_eq(kp_abi_check(&s.plugin, &diag), -1);
		ck_assert_str_eq(diag.code, "unknown_flag");
		ck_assert_str_eq(diag.object, sized[_i].object);
		snprintf(wanted, sizeof(wanted), "bit %d ", bits[i]);
		ck_assert_msg(strstr(diag.message, wanted) != NULL, "%s", diag.message);
	}
}
END_TEST

START_TEST(a03_a_high_flag_is_a_hint)
{
	struct sample s;
	for (int bit = 16; bit < 32; bit++) {
		fill(&s);
		set_word(&s, sized[_i].offset + 4, 1u << bit);
		expect(&s, NULL, NULL);
	}
}
END_TEST

/* ---- A04: pointers --------------------------------------------------------------- */

START_TEST(a04_each_required_pointer_is_named_when_it_is_null)
{
	struct sample s;
	struct kp_diag diag;
	fill(&s);
	s.plugin.entries = NULL;
	expect(&s, "missing_pointer", "kplug_plugin.entries");
	fill(&s);
	s.entries[1].name = NULL;
	expect(&s, "missing_pointer", "entries[1].name");
	fill(&s);
	s.entries[0].vtable = NULL;
	expect(&s, "missing_pointer", "entries[0].vtable");
	fill(&s);
	s.kernels[1].run = NULL;
	expect(&s, "missing_pointer", "entries[1].vtable.run");
	ck_assert_int_eq(kp_abi_check(NULL, &diag), -1);
	ck_assert_str_eq(diag.code, "missing_pointer");
}
END_TEST

START_TEST(a04_each_optional_pointer_may_be_null)
{
	struct sample s;
	fill(&s);
	s.plugin.start = NULL;
	s.plugin.stop = NULL;
	memset((char *)&s.kernels[0] + offsetof(struct kp_kernel, available), 0,
		sizeof(struct kp_kernel) - offsetof(struct kp_kernel, available));
	expect(&s, NULL, NULL);
}
END_TEST

START_TEST(a04_a_hole_in_the_array_is_refused)
{
	struct sample s;
	fill(&s);
	s.array[_i] = NULL;
	expect(&s, "null_entry", _i ? "entries[1]" : "entries[0]");
}
END_TEST

START_TEST(an_entry_of_another_kind_is_refused)
{
	static const uint32_t kinds[] = {0, KP_ENTRY_CLASS, 3, UINT32_MAX};
	struct sample s;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		fill(&s);
		s.entries[1].kind = kinds[i];
		expect(&s, "unknown_entry_kind", "entries[1]");
	}
}
END_TEST

START_TEST(a_bad_name_of_an_entry_is_refused_and_never_read_beyond_its_bound)
{
	static const char *const names[] = {"", "a b", "a/b", "-mm", "m\xff", "\n"};
	struct sample s;
	char endless[256];
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		fill(&s);
		s.entries[0].name = names[i];
		expect(&s, "bad_entry_name", "entries[0].name");
	}
	fill(&s);
	memset(endless, 'x', sizeof(endless));
	s.entries[0].name = at_end_of_page(endless, 65);
	expect(&s, "bad_entry_name", "entries[0].name");
	fill(&s);
	s.entries[0].name = s.entries[1].name;
	expect(&s, "bad_entry_name", "kplug_plugin.entries");
}
END_TEST

START_TEST(more_entries_than_a_plugin_may_have_are_refused)
{
	struct sample s;
	fill(&s);
	s.plugin.n_entries = 16385;
	expect(&s, "too_many", "kplug_plugin.n_entries");
}
END_TEST

/* ---- T39, T40: versions ------------------------------------------------------------ */

static void expect_words(const struct sample *s, unsigned major, unsigned minor,
	const char *code, const char *const *words, size_t count)
{
	struct kp_diag diag = {0};
	ck_assert_int_eq(kp_abi_check_for(&s->plugin, major, minor, &diag), -1);
	ck_assert_str_eq(diag.code, code);
	/* Whoever shows both would say it twice. */
	ck_assert_msg(strncmp(diag.message, code, strlen(code)) != 0, "%s", diag.message);
	for (size_t i = 0; i < count; i++)
		ck_assert_msg(strstr(diag.message, words[i]) != NULL, "%s: not in: %s",
			words[i], diag.message);
}

START_TEST(t39_a_mismatch_names_field_both_values_and_what_to_do)
{
	struct sample s;
	fill(&s);
	s.plugin.abi_major = 7;
	expect_words(&s, 3, 0, "abi_major",
		(const char *const[]){
			"kplug_plugin.abi_major", "7", "3", "use a newer kplug"},
		4);
	s.plugin.abi_major = 1;
	expect_words(&s, 3, 0, "abi_major",
		(const char *const[]){
			"kplug_plugin.abi_major", "1", "3", "build the plugin"},
		4);
	fill(&s);
	s.plugin.abi_needed = 9;
	expect_words(&s, 0, 4, "abi_minor",
		(const char *const[]){"abi_needed", "0.9", "0.4", "use a newer kplug"},
		4);
	fill(&s);
	s.plugin.size = 12;
	expect_words(&s, 0, 0, "bad_struct_size",
		(const char *const[]){
			"kplug_plugin.size", "12", "48", "build the plugin"},
		4);
	fill(&s);
	s.kernels[1].size = 9;
	expect_words(&s, 0, 0, "bad_struct_size",
		(const char *const[]){
			"entries[1].vtable.size", " 9 ", "16", "build the plugin"},
		4);
	fill(&s);
	s.entries[0].flags = 4;
	expect_words(&s, 0, 0, "unknown_flag",
		(const char *const[]){"entries[0].flags", "bit 2", "use a newer kplug"},
		3);
	fill(&s);
	s.entries[0].kind = 2;
	expect_words(&s, 0, 0, "unknown_entry_kind",
		(const char *const[]){"entries[0].kind", "2", "1", "use a newer kplug"},
		4);
}
END_TEST

/* Host minor 5; plugins built with and needing minors from -2 to +2 around it. */
START_TEST(t40_the_matrix_of_minors_is_works_or_a_clean_refusal)
{
	struct sample s;
	struct kp_diag diag;
	for (unsigned built = 3; built <= 7; built++) {
		for (unsigned needed = 3; needed <= 7; needed++) {
			fill(&s);
			s.plugin.abi_minor = built;
			s.plugin.abi_needed = needed;
			int rc = kp_abi_check_for(&s.plugin, 0, 5, &diag);
			ck_assert_int_eq(rc, needed <= 5 ? 0 : -1);
			if (rc < 0)
				ck_assert_str_eq(diag.code, "abi_minor");
		}
	}
}
END_TEST

START_TEST(t40_every_size_of_every_struct_is_works_or_a_clean_refusal)
{
	struct sample s;
	struct kp_diag diag;
	for (uint32_t size = 0; size < 200; size++) {
		fill(&s);
		set_word(&s, sized[_i].offset, size);
		int rc = kp_abi_check(&s.plugin, &diag);
		ck_assert_int_eq(rc, size >= sized[_i].least ? 0 : -1);
		if (rc < 0)
			ck_assert_str_eq(diag.code, "bad_struct_size");
	}
}
END_TEST

START_TEST(t40_a_missing_optional_function_is_absent)
{
	struct sample s;
	struct kp_kernel today;
	fill(&s);
	s.kernels[0].available = NULL;
	expect(&s, NULL, NULL);
	kp_abi_kernel(&s.entries[0], &today);
	ck_assert(today.available == NULL);
	ck_assert(today.plan == NULL);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

static void add_structs(TCase *tcase)
{
	tcase_add_test(tcase, a_whole_plugin_is_accepted);
	tcase_add_test(tcase, a01_a_kernel_of_any_length_from_run_on_is_accepted);
	tcase_add_test(tcase, a01_a_plugin_without_start_and_stop_is_accepted);
	tcase_add_test(tcase, a01_nothing_behind_the_size_is_read);
	tcase_add_loop_test(
		tcase, a02_a_size_below_the_prefix_or_absurd_is_refused, 0, COUNT(sized));
	tcase_add_loop_test(tcase,
		a02_a_plausibly_larger_struct_is_accepted_and_its_tail_ignored, 0,
		COUNT(sized));
	tcase_add_test(tcase, a02_a_struct_of_its_head_alone_is_refused_unread);
	tcase_add_loop_test(
		tcase, a03_an_unknown_low_flag_is_refused_with_its_bit, 0, COUNT(sized));
	tcase_add_loop_test(tcase, a03_a_high_flag_is_a_hint, 0, COUNT(sized));
	tcase_add_test(tcase, a04_each_required_pointer_is_named_when_it_is_null);
	tcase_add_test(tcase, a04_each_optional_pointer_may_be_null);
	tcase_add_loop_test(tcase, a04_a_hole_in_the_array_is_refused, 0, 2);
	tcase_add_test(tcase, an_entry_of_another_kind_is_refused);
	tcase_add_test(
		tcase, a_bad_name_of_an_entry_is_refused_and_never_read_beyond_its_bound);
	tcase_add_test(tcase, more_entries_than_a_plugin_may_have_are_refused);
	tcase_add_test(tcase, t39_a_mismatch_names_field_both_values_and_what_to_do);
	tcase_add_test(tcase, t40_the_matrix_of_minors_is_works_or_a_clean_refusal);
	tcase_add_loop_test(tcase,
		t40_every_size_of_every_struct_is_works_or_a_clean_refusal, 0,
		COUNT(sized));
	tcase_add_test(tcase, t40_a_missing_optional_function_is_absent);
}

int main(void)
{
	Suite *suite = suite_create("abi");
	TCase *tcase = tcase_create("abi");
	add_structs(tcase);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
