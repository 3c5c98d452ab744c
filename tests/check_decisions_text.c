/* SPDX-License-Identifier: MIT */
/* Decisions as a text: it comes back, what is wrong is named, and there is a bound. */
#include "lib/registry/decisions.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static void disable(
	struct kp_decisions *d, const char *name, const char *reason, bool runtime)
{
	bool changed;
	ck_assert_int_eq(kp_decisions_disable(
				 d, name, reason, 1700000000, 1000, runtime, &changed),
		0);
}

START_TEST(the_text_comes_back_without_what_is_for_this_run)
{
	struct kp_decisions d = {0};
	struct kp_decisions back;
	struct kp_diag diag;
	bool changed;
	disable(&d, "slow", "too \"slow\"\n\u00e9", false);
	disable(&d, "now", "", true);
	ck_assert_int_eq(kp_decisions_identify(&d, "slow", "d1", "pkg", &changed), 0);
	ck_assert_int_eq(
		kp_decisions_pin(&d, "gemm/mm", "x86/mm", false, 42, 7, &changed), 0);
	ck_assert_int_eq(
		kp_decisions_pin(&d, "norm/rms", "fast", true, 43, 0, &changed), 0);
	ck_assert_int_eq(kp_decisions_rule(
				 &d, "gemm/mm", "slow", "\"why\"", 9, 7, false, &changed),
		0);
	ck_assert_int_eq(
		kp_decisions_rule(&d, "gemm/mm", "now", "", 9, 7, true, &changed), 0);
	ck_assert_int_eq(kp_decisions_prove(&d, "neon/mm", true, &changed), 0);
	char *text = kp_decisions_print(&d);
	ck_assert_ptr_nonnull(strstr(text, "\"kplug-decisions/1\""));
	ck_assert_int_eq(
		kp_decisions_parse(text, strlen(text), "decisions", &back, &diag), 0);
	ck_assert_uint_eq(back.n_disabled, 1);
	ck_assert_str_eq(back.disabled[0].name, "slow");
	ck_assert_str_eq(back.disabled[0].reason, "too \"slow\"\n\u00e9");
	ck_assert_int_eq(back.disabled[0].at, 1700000000);
	ck_assert_uint_eq(back.disabled[0].uid, 1000);
	ck_assert_str_eq(back.disabled[0].digest, "d1");
	ck_assert_str_eq(back.disabled[0].package, "pkg");
	ck_assert_int_eq(back.pins[0].at, 42);
	ck_assert_str_eq(back.pins[0].choice, "x86/mm");
	ck_assert(!back.pins[0].force && back.pins[1].force);
	ck_assert_uint_eq(back.n_rules, 1);
	ck_assert_str_eq(back.rules[0].name, "gemm/mm/slow");
	ck_assert_str_eq(back.rules[0].reason, "\"why\"");
	ck_assert_int_eq(back.rules[0].at, 9);
	ck_assert(kp_decisions_is_proven(&back, "neon/mm"));
	char *again = kp_decisions_print(&back);
	ck_assert_str_eq(text, again);
	free(text);
	free(again);
	kp_decisions_finish(&d);
	kp_decisions_finish(&back);
}
END_TEST

static const char *const newer[] = {"{\"format\":\"kplug-decisions/2\"}",
	"{\"format\":\"kplug-decisions/10\",\"disabled\":[],\"pins\":[],\"enabled\":[]}",
	"{\"format\":\"kplug-decisions/2\",\"rules\":[1]}"};

START_TEST(a_newer_format_is_refused_naming_both)
{
	struct kp_decisions d;
	struct kp_diag diag;
	ck_assert_int_eq(
		kp_decisions_parse(newer[_i], strlen(newer[_i]), "file", &d, &diag), -1);
	ck_assert_str_eq(diag.code, "newer_format");
	ck_assert_ptr_nonnull(strstr(diag.message, "kplug-decisions/1"));
	ck_assert(strstr(diag.message, "kplug-decisions/2") ||
		  strstr(diag.message, "kplug-decisions/10"));
}
END_TEST

#define HEAD "{\"format\":\"kplug-decisions/1\",\n"
static const struct {
	const char *text, *code;
	unsigned line;
} damaged[] = {
	{"", "json_syntax", 0},
	{HEAD "\"disabled\":[", "json_syntax", 0},
	{"[]", "bad_decisions", 1},
	{"{}", "bad_decisions", 1},
	{"{\"format\":\"kplug-table/1\"}", "bad_decisions", 1},
	{"{\"format\":\"kplug-decisions/\"}", "bad_decisions", 1},
	{"{\"format\":\"kplug-decisions/0\"}", "bad_decisions", 1},
	{"{\"format\":7}", "bad_decisions", 1},
	{HEAD "\"disabled\":[],\"pins\":[]}", "bad_decisions", 1},
	{HEAD "\"disabled\":[{\"name\":\"x\"}],\"pins\":[],\"enabled\":[]}",
		"bad_decisions", 2},
	{HEAD "\"disabled\":[],\"pins\":[],\n\"enabled\":[3]}", "bad_decisions", 3},
	{HEAD "\"disabled\":[],\"pins\":[],\"enabled\":[\"x/a\",\"x/a\"]}",
		"bad_decisions", 2},
	{HEAD "\"disabled\":[{\"name\":\"\x7f"
	      "x\",\"reason\":\"\",\"at\":1,\"uid\":1}],"
	      "\"pins\":[],\"enabled\":[]}",
		"bad_decisions", 2},
	{HEAD "\"disabled\":[],\"pins\":[],\"enabled\":[\"x\\u202e\"]}", "bad_decisions",
		2},
	{HEAD "\"disabled\":[],\"enabled\":[],\"pins\":["
	      "{\"operation\":\"o\",\"choice\":\"\\u001b[2J\",\"at\":1,\"uid\":0}]}",
		"bad_decisions", 2},
	{HEAD "\"disabled\":[{\"name\":\"x\",\"reason\":\"\",\"at\":1,\"uid\":-1}],"
	      "\"pins\":[],"
	      "\"enabled\":[]}",
		"bad_decisions", 2},
	{HEAD "\"disabled\":[],\"enabled\":[],\"pins\":["
	      "{\"operation\":\"o\",\"choice\":\"a\",\"at\":1,\"uid\":0},\n"
	      "{\"operation\":\"o\",\"choice\":\"b\",\"at\":1,\"uid\":0}]}",
		"bad_decisions", 3},
	{HEAD "\"disabled\":[],\"enabled\":[],\"pins\":["
	      "{\"operation\":\"o\",\"choice\":\"a\",\"at\":1,\"uid\":0,\"force\":1}]}",
		"bad_decisions", 2},
	{HEAD "\"disabled\":[],\"enabled\":[],\"pins\":[],\"solutions\":{}}",
		"bad_decisions", 2},
	{HEAD "\"disabled\":[],\"enabled\":[],\"pins\":[],\n\"solutions\":["
	      "{\"operation\":\"o\",\"solution\":\"a\",\"reason\":\"\",\"at\":1}]}",
		"bad_decisions", 3},
};

START_TEST(a_damaged_file_is_refused_with_its_place)
{
	struct kp_decisions d;
	struct kp_diag diag;
	const char *text = damaged[_i].text;
	ck_assert_int_eq(kp_decisions_parse(text, strlen(text), "state", &d, &diag), -1);
	ck_assert_str_eq(diag.code, damaged[_i].code);
	ck_assert_str_eq(diag.file, "state");
	if (damaged[_i].line)
		ck_assert_uint_eq(diag.line, damaged[_i].line);
}
END_TEST

/* Fills them until no more fit: how many there are. */
static int fill_up(struct kp_decisions *d, const char *reason, struct kp_diag *diag)
{
	struct kp_decisions next;
	bool changed;
	char name[24];

	for (int i = 0;; i++) {
		(void)snprintf(name, sizeof(name), "p%05d/k", i);
		ck_assert_int_eq(kp_decisions_copy(d, &next), 0);
		ck_assert_int_eq(
			kp_decisions_disable(&next, name, reason, 1, 0, false, &changed),
			0);
		if (kp_decisions_fit(&next, d, diag) < 0) {
			kp_decisions_finish(&next);
			return i;
		}
		kp_decisions_finish(d);
		*d = next;
	}
}

START_TEST(what_fits_can_be_read_back_once_its_libraries_are_known)
{
	struct kp_decisions d = {0};
	struct kp_decisions back;
	struct kp_diag diag;
	bool changed;
	enum { REASON = 400000 };
	char *reason = malloc(REASON);
	char digest[65];
	char plugin[16];

	ck_assert_ptr_nonnull(reason);
	memset(reason, _i ? 'x' : 1, REASON);
	reason[REASON - 1] = '\0';
	memset(digest, 'd', sizeof(digest));
	digest[sizeof(digest) - 1] = '\0';
	int count = fill_up(&d, reason, &diag);
	ck_assert_str_eq(diag.code, "decisions_full");
	ck_assert_ptr_nonnull(strstr(diag.message, "4194304"));
	ck_assert_int_gt(count, 1);
	for (int i = 0; i < count; i++) {
		(void)snprintf(plugin, sizeof(plugin), "p%05d", i);
		ck_assert_int_eq(
			kp_decisions_identify(&d, plugin, digest, digest, &changed), 0);
	}
	char *text = kp_decisions_print(&d);
	ck_assert_int_eq(
		kp_decisions_parse(text, strlen(text), "state", &back, &diag), 0);
	ck_assert_uint_eq(back.n_disabled, (size_t)count);
	free(text);
	free(reason);
	kp_decisions_finish(&back);
	kp_decisions_finish(&d);
}
END_TEST

START_TEST(fewer_than_before_always_fit)
{
	struct kp_decisions d = {0};
	struct kp_decisions fewer;
	struct kp_diag diag;
	bool changed;
	size_t size = (size_t)3 << 20;
	char *reason = malloc(size + 1);

	ck_assert_ptr_nonnull(reason);
	memset(reason, 'x', size);
	reason[size] = '\0';
	for (int i = 0; i < 3; i++) {
		char name[2] = {(char)('a' + i), '\0'};
		ck_assert_int_eq(
			kp_decisions_disable(&d, name, reason, 1, 0, false, &changed), 0);
	}
	free(reason);
	ck_assert_int_eq(kp_decisions_fit(&d, NULL, &diag), -1);
	ck_assert_int_eq(kp_decisions_copy(&d, &fewer), 0);
	ck_assert(kp_decisions_enable(&fewer, "b"));
	ck_assert_int_eq(kp_decisions_fit(&fewer, NULL, &diag), -1);
	ck_assert_int_eq(kp_decisions_fit(&fewer, &d, &diag), 0);
	ck_assert_int_eq(kp_decisions_fit(&d, &fewer, &diag), -1);
	kp_decisions_finish(&fewer);
	kp_decisions_finish(&d);
}
END_TEST

/* A crash of whoever wrote it may leave any part of the text. */
START_TEST(no_beginning_of_a_text_is_taken_for_the_whole)
{
	static const char whole[] = HEAD
		"\"disabled\":[{\"name\":\"x\",\"reason\":\"slow\",\"at\":1,\"uid\":0}],"
		"\"pins\":[{\"operation\":\"o\",\"choice\":\"a\",\"at\":1,\"uid\":0}],"
		"\"enabled\":[\"x/a\"]}";
	struct kp_decisions d;
	struct kp_diag diag;
	for (size_t size = 0; size < sizeof(whole) - 1; size++) {
		ck_assert_int_eq(kp_decisions_parse(whole, size, "state", &d, &diag), -1);
		ck_assert_str_eq(diag.code, "json_syntax");
	}
	ck_assert_int_eq(
		kp_decisions_parse(whole, sizeof(whole) - 1, "state", &d, &diag), 0);
	kp_decisions_finish(&d);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("decisions_text");
	TCase *tcase = tcase_create("decisions_text");
	tcase_add_test(tcase, the_text_comes_back_without_what_is_for_this_run);
	tcase_add_loop_test(tcase, a_newer_format_is_refused_naming_both, 0,
		(int)(sizeof(newer) / sizeof(newer[0])));
	tcase_add_loop_test(tcase, a_damaged_file_is_refused_with_its_place, 0,
		(int)(sizeof(damaged) / sizeof(damaged[0])));
	tcase_add_loop_test(
		tcase, what_fits_can_be_read_back_once_its_libraries_are_known, 0, 2);
	tcase_add_test(tcase, fewer_than_before_always_fit);
	tcase_add_test(tcase, no_beginning_of_a_text_is_taken_for_the_whole);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
