/* SPDX-License-Identifier: MIT */
/* Verdicts survive the way into a cache and back; damaged ones are refused. */
#include "lib/plugin/verdict.h"
#include "tests/support/suite.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char digest[] =
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/* A verdict with every member set. */
static struct kp_verdict full(void)
{
	struct kp_verdict v = {.state = KP_STATE_FAILED,
		.bytes = 123456789012,
		.retry = true,
		.probe_ms = 12.5};
	struct kp_diag warning;
	strcpy(v.code, "died");
	strcpy(v.digest, digest);
	strcpy(v.closure, digest);
	v.message = strdup("killed by SIGSEGV\nin start");
	v.stored = strdup("/var/lib/kplug/store/ab/libx.so");
	v.note = json_pack("{s:s, s:s}", "name", "x", "version", "1.0.0");
	v.elf = json_pack("{s:[s,s]}", "needed", "libc.so.6", "libm.so.6");
	v.evidence = json_pack(
		"{s:s, s:n, s:s}", "stage", "load", "exit", "signal", "SIGSEGV");
	kp_diag_set(&warning, "unknown_key", "kernels[0].colour", "unknown key");
	kp_diag_at(&warning, "plugin.json", 3, 9);
	kp_diags_add(&v.warnings, &warning);
	v.n_kernels = 2;
	v.kernels = calloc(2, sizeof(*v.kernels));
	v.kernels[0].kernel = strdup("mm");
	v.kernels[0].available = true;
	v.kernels[1].kernel = strdup("rms");
	v.kernels[1].message = strdup("libopenblas.so.0 is missing");
	strcpy(v.kernels[1].code, "missing_library");
	return v;
}

static json_t *full_json(void)
{
	struct kp_verdict v = full();
	json_t *json = kp_verdict_json(&v);
	ck_assert_ptr_nonnull(json);
	kp_verdict_finish(&v);
	return json;
}

START_TEST(a_verdict_comes_back_whole)
{
	json_t *json = full_json();
	struct kp_verdict v;
	struct kp_diag diag;
	ck_assert_int_eq(kp_verdict_from_json(json, &v, &diag), 0);
	json_t *again = kp_verdict_json(&v);
	ck_assert(json_equal(json, again));
	json_decref(json);
	/* Nothing of it is borrowed from the text that it was read from. */
	ck_assert_str_eq(v.warnings.items[0].code, "unknown_key");
	ck_assert_uint_eq(v.warnings.items[0].line, 3);
	ck_assert_str_eq(v.kernels[1].code, "missing_library");
	ck_assert_ptr_null(v.kernels[0].message);
	ck_assert(v.retry);
	json_decref(again);
	kp_verdict_finish(&v);
}
END_TEST

START_TEST(an_empty_verdict_comes_back_whole)
{
	struct kp_verdict v = {.state = KP_STATE_MISSING, .probe_ms = -1};
	json_t *json = kp_verdict_json(&v);
	struct kp_verdict back;
	ck_assert_int_eq(kp_verdict_from_json(json, &back, NULL), 0);
	ck_assert_int_eq(back.state, KP_STATE_MISSING);
	ck_assert_double_eq(back.probe_ms, -1);
	ck_assert_ptr_null(back.message);
	ck_assert_ptr_null(back.note);
	ck_assert_uint_eq(back.n_kernels, 0);
	json_decref(json);
	kp_verdict_finish(&back);
}
END_TEST

START_TEST(each_missing_key_is_a_bad_cache)
{
	json_t *whole = full_json();
	const char *key;
	json_t *value;
	size_t tried = 0;
	json_object_foreach (whole, key, value) {
		json_t *less = json_copy(whole);
		struct kp_verdict v;
		struct kp_diag diag;
		json_object_del(less, key);
		ck_assert_int_eq(kp_verdict_from_json(less, &v, &diag), -1);
		ck_assert_str_eq(diag.code, "bad_cache");
		ck_assert_str_eq(diag.object, key);
		json_decref(less);
		tried++;
	}
	ck_assert_uint_eq(tried, 15);
	json_decref(whole);
}
END_TEST

/* A key and a value, as JSON, that it must not have. */
static const struct {
	const char *key, *value;
} wrong[] = {
	{"state", "\"pending\""},
	{"state", "\"excellent\""},
	{"state", "3"},
	{"code", "\"a_code_that_is_longer_than_any_code_that_kplug_ever_had\""},
	{"digest", "\"0123\""},
	{"closure",
		"\"zz23456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\""},
	{"bytes", "-1"},
	{"note", "[]"},
	{"retry", "0"},
	{"probe_ms", "\"soon\""},
	{"warnings", "[{}]"},
	{"warnings",
		"[{\"code\":\"c\",\"object\":\"\",\"file\":\"\",\"line\":-1,\"column\":0,"
		"\"message\":\"\"}]"},
	{"kernels", "[{\"kernel\":\"mm\"}]"},
	{"kernels", "[7]"},
};

START_TEST(a_wrong_value_is_a_bad_cache)
{
	json_t *json = full_json();
	json_t *value = json_loads(wrong[_i].value, JSON_DECODE_ANY, NULL);
	struct kp_verdict v;
	struct kp_diag diag;
	ck_assert_ptr_nonnull(value);
	json_object_set_new(json, wrong[_i].key, value);
	ck_assert_int_eq(kp_verdict_from_json(json, &v, &diag), -1);
	ck_assert_str_eq(diag.code, "bad_cache");
	json_decref(json);
}
END_TEST

START_TEST(a_verdict_with_no_number_of_milliseconds_has_no_json)
{
	struct kp_verdict v = {.state = KP_STATE_ACTIVE, .probe_ms = NAN};
	ck_assert_ptr_null(kp_verdict_json(&v));
}
END_TEST

START_TEST(every_state_has_a_name_that_is_read_back)
{
	for (int i = 0; i < KP_STATES; i++) {
		enum kp_state state = KP_STATES;
		ck_assert(kp_state_parse(kp_state_name((enum kp_state)i), &state));
		ck_assert_int_eq((int)state, i);
	}
	enum kp_state state = KP_STATE_MASKED;
	ck_assert(!kp_state_parse("Active", &state));
	ck_assert_int_eq(state, KP_STATE_MASKED);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("verdict");
	TCase *tcase = tcase_create("verdict");
	tcase_add_test(tcase, a_verdict_comes_back_whole);
	tcase_add_test(tcase, an_empty_verdict_comes_back_whole);
	tcase_add_test(tcase, each_missing_key_is_a_bad_cache);
	tcase_add_loop_test(tcase, a_wrong_value_is_a_bad_cache, 0,
		(int)(sizeof(wrong) / sizeof(wrong[0])));
	tcase_add_test(tcase, a_verdict_with_no_number_of_milliseconds_has_no_json);
	tcase_add_test(tcase, every_state_has_a_name_that_is_read_back);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
