/* SPDX-License-Identifier: MIT */
/* Notes: what is read of them, and which hosts may load their plugin. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/plugin/note.h"
#include "tests/support/notes.h"
#include "tests/support/suite.h"

START_TEST(every_key_of_the_note_is_read)
{
	struct kp_note note;
	char version[160];
	note_read(note_full, &note);
	ck_assert_str_eq(note.name, "alpha");
	ck_assert_str_eq(note.version_text, "1.2.3");
	ck_assert_str_eq(
		kp_version_print(&note.version, version, sizeof(version)), "1.2.3");
	ck_assert_str_eq(note.author, "A. Nother");
	ck_assert_str_eq(note.license, "MIT");
	ck_assert_str_eq(note.description, "says what");
	ck_assert_uint_eq(note.abi_major, 1);
	ck_assert_uint_eq(note.abi_built, 3);
	ck_assert_uint_eq(note.abi_needed, 2);
	ck_assert(note.has_host);
	ck_assert_uint_eq(note.host.min.minor, 1);
	ck_assert_uint_eq(note.host.max.minor, 2);
	ck_assert_uint_eq(note.n_kernels, 1);
	kp_note_finish(&note);
	kp_note_finish(&note);
}
END_TEST

START_TEST(every_key_of_a_kernel_is_read)
{
	struct kp_note note;
	note_read(note_full, &note);
	const struct kp_spec *mm = kp_note_find(&note, "mm");
	ck_assert_ptr_eq(mm, &note.kernels[0]);
	ck_assert_str_eq(mm->operation, "gemm/mm");
	ck_assert_uint_eq(mm->revision, 2);
	ck_assert_str_eq(mm->solution, "triton");
	ck_assert_int_eq(mm->priority, 12);
	ck_assert_uint_eq(mm->flags, KP_FLAG_REENTRANT | KP_FLAG_DETERMINISTIC);
	ck_assert_uint_eq(mm->signatures.count, 2);
	ck_assert_str_eq(mm->signatures.items[0], "a=f32,b=f32,c=f32");
	ck_assert_str_eq(mm->signatures.items[1], "a=f16,b=f16,c=f16");
	ck_assert_int_eq(mm->capability.device, KP_GPU);
	ck_assert_str_eq(mm->capability.vendors.items[0], "nvidia");
	ck_assert_int_eq(mm->capability.min_arch.major, 8);
	ck_assert_int_eq(mm->capability.max_arch.major, 9);
	ck_assert_uint_eq(mm->capability.features.count, 2);
	ck_assert_str_eq(mm->capability.features.items[0], "async");
	ck_assert_str_eq(mm->needs.items[0], "libfoo.so.1");
	ck_assert_str_eq(mm->layouts.items[0], "kn");
	kp_note_finish(&note);
}
END_TEST

static const struct kp_trait *trait(const struct kp_note *note, const char *name)
{
	const struct kp_spec *spec = &note->kernels[0];
	for (size_t i = 0; i < spec->n_traits; i++)
		if (strcmp(spec->traits[i].name, name) == 0)
			return &spec->traits[i];
	ck_abort_msg("no trait %s", name);
	return NULL;
}

START_TEST(every_form_of_a_trait_is_read)
{
	struct kp_note note;
	char text[128];
	static const char *const expected[][2] = {
		{"head_dim", "in {64, 128} and >= 64 and <= 128 and multiple of 64"},
		{"causal", "in {true}"},
		{"page", "in {16, 32}"},
		{"mode", "in {fast}"},
		{"scale", "in {0.5}"},
		{"free", "any value"},
	};
	note_read(note_full, &note);
	for (size_t i = 0; i < 6; i++)
		ck_assert_str_eq(
			kp_trait_print(trait(&note, expected[i][0]), text, sizeof(text)),
			expected[i][1]);
	ck_assert(trait(&note, "head_dim")->required);
	ck_assert(!trait(&note, "page")->required);
	kp_note_finish(&note);
}
END_TEST

START_TEST(rg02_only_required_keys_leave_sets_empty)
{
	struct kp_note note;
	char *text = note_with_member("priority", "8");
	note_read(text, &note);
	const struct kp_spec *mm = &note.kernels[0];
	ck_assert_uint_eq(mm->features.count, 0);
	ck_assert_uint_eq(mm->tags.count, 0);
	ck_assert_uint_eq(mm->n_traits, 0);
	ck_assert_uint_eq(mm->needs.count, 0);
	ck_assert_uint_eq(mm->layouts.count, 0);
	ck_assert_ptr_null(mm->solution);
	ck_assert_uint_eq(mm->revision, 1);
	ck_assert_uint_eq(mm->flags, 0);
	ck_assert_int_eq(mm->capability.device, KP_ANY_DEVICE);
	ck_assert(!mm->capability.min_arch.known && !mm->capability.max_arch.known);
	ck_assert_uint_eq(note.abi_major, 0);
	ck_assert(!note.has_host);
	kp_note_finish(&note);
	free(text);
}
END_TEST

START_TEST(rg02_kernel_without_signatures_is_refused)
{
	note_member_refused("signatures", "[]", "no_signature", "kernels[0].signatures",
		"at least one signature");
}
END_TEST

START_TEST(rg34_kernel_is_found_under_its_name)
{
	struct kp_note note;
	char *text = note_with_member("name", "\"my.kernel-1\"");
	note_read(text, &note);
	ck_assert_ptr_nonnull(kp_note_find(&note, "my.kernel-1"));
	ck_assert_ptr_null(kp_note_find(&note, "my.kernel"));
	ck_assert_ptr_null(kp_note_find(&note, ""));
	kp_note_finish(&note);
	free(text);
}
END_TEST

START_TEST(rg35_tags_and_features_are_sets)
{
	struct kp_note note;
	note_read(note_full, &note);
	const struct kp_spec *mm = &note.kernels[0];
	ck_assert_uint_eq(mm->tags.count, 2);
	ck_assert_str_eq(mm->tags.items[0], "latency");
	ck_assert_str_eq(mm->tags.items[1], "throughput");
	ck_assert_uint_eq(mm->features.count, 2);
	ck_assert_str_eq(mm->features.items[0], "gqa");
	ck_assert_str_eq(mm->features.items[1], "paged");
	ck_assert_int_eq(mm->capability.min_arch.major, 8);
	ck_assert_int_eq(mm->capability.min_arch.minor, 0);
	kp_note_finish(&note);
}
END_TEST

START_TEST(n09_note_without_kernels_is_accepted)
{
	static const char *const texts[] = {"{\"name\":\"a\",\"version\":\"1.0.0\"}",
		"{\"name\":\"a\",\"version\":\"1.0.0\",\"kernels\":[]}",
		"{\"name\":\"a\",\"version\":\"1.0.0\",\"description\":\"x\"}\n"};
	for (size_t i = 0; i < 3; i++) {
		struct kp_note note;
		note_read(texts[i], &note);
		ck_assert_uint_eq(note.n_kernels, 0);
		ck_assert_ptr_null(kp_note_find(&note, "x"));
		kp_note_finish(&note);
	}
}
END_TEST

static struct kp_note fitting(unsigned major, unsigned built, unsigned needed)
{
	struct kp_note note;
	char text[160];
	snprintf(text, sizeof(text),
		"{\"name\":\"a\",\"version\":\"1.0.0\",\"abi\":{\"major\":%u,\"built\":%"
		"u,"
		"\"needed\":%u}}",
		major, built, needed);
	note_read(text, &note);
	return note;
}

static const struct {
	unsigned plugin, host;
	bool fits;
} majors[] = {{1, 2, false}, {2, 2, true}, {3, 2, false}, {0, 0, true}, {1, 0, false},
	{0, 1, false}};

START_TEST(v05_another_abi_major_is_refused)
{
	struct kp_note note = fitting(majors[_i].plugin, 0, 0);
	struct kp_diag diag;
	int result = kp_note_fits_abi(&note, majors[_i].host, 0, &diag);
	kp_note_finish(&note);
	ck_assert_int_eq(result, majors[_i].fits ? 0 : -1);
	if (!majors[_i].fits)
		ck_assert_str_eq(diag.code, "abi_major");
}
END_TEST

START_TEST(v06_needed_minor_is_accepted_up_to_the_hosts)
{
	enum { HOST = 5 };
	unsigned needed = (unsigned)(HOST + _i);
	struct kp_note note = fitting(0, HOST + 9, needed);
	struct kp_diag diag;
	int result = kp_note_fits_abi(&note, 0, HOST, &diag);
	ck_assert_uint_eq(note.abi_built, HOST + 9);
	kp_note_finish(&note);
	ck_assert_int_eq(result, needed <= HOST ? 0 : -1);
	if (result < 0)
		ck_assert_str_eq(diag.code, "abi_minor");
}
END_TEST

static void says(const struct kp_diag *diag, const char *const *parts)
{
	for (size_t i = 0; parts[i]; i++)
		ck_assert_msg(strstr(diag->message, parts[i]) != NULL, "%s: %s", parts[i],
			diag->message);
}

START_TEST(t39_mismatch_says_field_both_values_and_what_to_do)
{
	static const char *const major[] = {
		"abi.major", "plugin has 3", "kplug has 2", "install a kplug", NULL};
	static const char *const minor[] = {"abi.needed", "needs ABI 2.7",
		"built with 2.9", "kplug has 2.5", "install a newer kplug", NULL};
	struct kp_diag diag;
	struct kp_note note = fitting(3, 0, 0);
	ck_assert_int_eq(kp_note_fits_abi(&note, 2, 0, &diag), -1);
	says(&diag, major);
	ck_assert_str_eq(diag.object, "abi.major");
	kp_note_finish(&note);
	note = fitting(2, 9, 7);
	ck_assert_int_eq(kp_note_fits_abi(&note, 2, 5, &diag), -1);
	says(&diag, minor);
	ck_assert_str_eq(diag.object, "abi.needed");
	kp_note_finish(&note);
}
END_TEST

static const struct {
	const char *range, *host, *code, *object;
} ranges[] = {
	{"\"min\":\"0.1.0\",\"max\":\"0.2.0\"", "0.0.9", "host_too_old", "host.min"},
	{"\"min\":\"0.1.0\",\"max\":\"0.2.0\"", "0.1.0", NULL, NULL},
	{"\"min\":\"0.1.0\",\"max\":\"0.2.0\"", "0.1.9", NULL, NULL},
	{"\"min\":\"0.1.0\",\"max\":\"0.2.0\"", "0.2.0", "host_too_new", "host.max"},
	{"\"min\":\"0.1.0\"", "0.3.0", "host_too_new", "host.max"},
	{"\"min\":\"1.1.0\"", "1.9.0", NULL, NULL},
	{"\"max\":\"0.2.0\"", "0.1.0", NULL, NULL},
	{"", "9.9.9", NULL, NULL},
};
enum { RANGES = sizeof(ranges) / sizeof(ranges[0]) };

START_TEST(v02_host_outside_the_notes_range_is_refused)
{
	char text[160];
	struct kp_note note;
	struct kp_version host;
	struct kp_diag diag;
	snprintf(text, sizeof(text),
		"{\"name\":\"a\",\"version\":\"1.0.0\",\"host\":{%s}}", ranges[_i].range);
	note_read(text, &note);
	ck_assert_int_eq(kp_version_parse(ranges[_i].host, &host, &diag), 0);
	int result = kp_note_fits(&note, &host, &diag);
	kp_note_finish(&note);
	ck_assert_int_eq(result, ranges[_i].code ? -1 : 0);
	if (!ranges[_i].code)
		return;
	ck_assert_str_eq(diag.code, ranges[_i].code);
	ck_assert_str_eq(diag.object, ranges[_i].object);
	ck_assert_ptr_nonnull(strstr(diag.message, ranges[_i].host));
}
END_TEST

static TCase *reading(void)
{
	TCase *tcase = tcase_create("reading");
	tcase_add_test(tcase, every_key_of_the_note_is_read);
	tcase_add_test(tcase, every_key_of_a_kernel_is_read);
	tcase_add_test(tcase, every_form_of_a_trait_is_read);
	tcase_add_test(tcase, rg02_only_required_keys_leave_sets_empty);
	tcase_add_test(tcase, rg02_kernel_without_signatures_is_refused);
	tcase_add_test(tcase, rg34_kernel_is_found_under_its_name);
	tcase_add_test(tcase, rg35_tags_and_features_are_sets);
	tcase_add_test(tcase, n09_note_without_kernels_is_accepted);
	return tcase;
}

static TCase *hosts(void)
{
	TCase *tcase = tcase_create("hosts");
	tcase_add_loop_test(tcase, v05_another_abi_major_is_refused, 0,
		sizeof(majors) / sizeof(majors[0]));
	tcase_add_loop_test(tcase, v06_needed_minor_is_accepted_up_to_the_hosts, -2, 3);
	tcase_add_test(tcase, t39_mismatch_says_field_both_values_and_what_to_do);
	tcase_add_loop_test(
		tcase, v02_host_outside_the_notes_range_is_refused, 0, RANGES);
	return tcase;
}

int main(void)
{
	Suite *suite = suite_create("note");
	suite_add_tcase(suite, reading());
	suite_add_tcase(suite, hosts());
	return suite_run(suite);
}
