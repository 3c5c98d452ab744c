/* SPDX-License-Identifier: MIT */
/* The interface description is read and parameters are held against it. */
#include "daemon/socket/idl.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/method/method.h"
#include "lib/protocol/interface.h"
#include "tests/support/suite.h"

static struct idl *idl;
static struct kp_diag diag;

static void read_ours(void)
{
	idl = idl_new(kp_interface_text, &diag);
	ck_assert_ptr_nonnull(idl);
}

static void drop(void)
{
	idl_free(idl);
}

static int check_call(const char *method, const char *text)
{
	json_t *parameters = json_loads(text, 0, NULL);
	ck_assert_ptr_nonnull(parameters);
	int result = idl_check_call(idl, method, parameters, &diag);
	json_decref(parameters);
	return result;
}

static const char *const right[][2] = {
	{"List", "{}"},
	{"List", "{\"state\": \"active\", \"all\": true, \"settle_ms\": 5}"},
	{"List", "{\"state\": null}"},
	{"Info", "{\"name\": \"x\"}"},
	{"Select", "{\"request\": {\"operation\": \"gemm/mm\"}}"},
	{"Select",
		"{\"request\": {\"operation\": \"gemm/mm\", \"shape\": {\"m\": 1},"
		" \"traits\": {\"causal\": true, \"d\": [1, 2]}, \"on\": \"amd-9.5\"}}"},
	{"Bench", "{\"operation\": \"gemm/mm\", \"shapes\": [{\"m\": 1}, {}],"
		  " \"time_s\": 1}"},
	{"Version", "{}"},
};

START_TEST(right_parameters_pass)
{
	ck_assert_msg(check_call(right[_i][0], right[_i][1]) == 0, "%s: %s", right[_i][1],
		diag.message);
}
END_TEST

static const struct {
	const char *method, *text, *code, *object;
} wrong[] = {
	{"List", "{\"sttae\": \"active\"}", "unknown_key", "sttae"},
	{"List", "{\"state\": 1}", "wrong_type", "state"},
	{"List", "{\"all\": \"yes\"}", "wrong_type", "all"},
	{"List", "{\"settle_ms\": 1.5}", "wrong_type", "settle_ms"},
	{"Info", "{}", "missing_key", "name"},
	{"Info", "{\"name\": null}", "missing_key", "name"},
	{"Version", "{\"x\": 1}", "unknown_key", "x"},
	{"Select", "{}", "missing_key", "request"},
	{"Select", "{\"request\": 1}", "wrong_type", "request"},
	{"Select", "{\"request\": {\"operation\": \"o\", \"shape\": {\"m\": \"1\"}}}",
		"wrong_type", "request.shape.m"},
	{"Select", "{\"request\": {\"operation\": \"o\", \"features\": [\"a\", 2]}}",
		"wrong_type", "request.features[1]"},
	{"Select", "{\"request\": {\"operation\": \"o\", \"fource\": true}}",
		"unknown_key", "request.fource"},
	{"Bench", "{\"operation\": \"o\", \"shapes\": [{}, {\"m\": null}]}",
		"missing_key", "shapes[1].m"},
};

START_TEST(wrong_parameters_are_refused_by_their_path)
{
	ck_assert_int_eq(check_call(wrong[_i].method, wrong[_i].text), -1);
	ck_assert_str_eq(diag.code, wrong[_i].code);
	ck_assert_str_eq(diag.object, wrong[_i].object);
}
END_TEST

START_TEST(a_misspelt_member_is_met_with_the_nearest)
{
	ck_assert_int_eq(check_call("List", "{\"famliy\": \"gemm\"}"), -1);
	ck_assert_ptr_nonnull(strstr(diag.message, "family"));
}
END_TEST

START_TEST(every_method_of_the_interface_has_a_handler)
{
	const char *at = kp_interface_text;
	int count = 0;
	while ((at = strstr(at, "\nmethod "))) {
		char name[64] = "";
		ck_assert_int_eq(sscanf(at, "\nmethod %63[A-Za-z]", name), 1);
		ck_assert_msg(method_find(name) != NULL, "%s", name);
		at++;
		count++;
	}
	ck_assert_int_gt(count, 10);
	ck_assert_ptr_null(method_find("Nothing"));
}
END_TEST

static const char *const broken[] = {
	"interface a.b\ntype X (a int)",
	"interface a.b\ntype X (a: int b: int)",
	"interface a.b\ntype X (a: int",
	"interface a.b\nmethod X () (a: int)",
	"interface a.b\nthing X (a: int)",
	"interface a.b\ntype X !",
};

START_TEST(a_broken_description_is_refused)
{
	struct idl *none = idl_new(broken[_i], &diag);
	ck_assert_ptr_null(none);
	ck_assert_str_eq(diag.code, "bad_interface");
	ck_assert_ptr_nonnull(strstr(diag.message, "line 2"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("idl");
	TCase *tcase = tcase_create("idl");
	tcase_add_checked_fixture(tcase, read_ours, drop);
	tcase_add_loop_test(
		tcase, right_parameters_pass, 0, sizeof(right) / sizeof(right[0]));
	tcase_add_loop_test(tcase, wrong_parameters_are_refused_by_their_path, 0,
		sizeof(wrong) / sizeof(wrong[0]));
	tcase_add_test(tcase, a_misspelt_member_is_met_with_the_nearest);
	tcase_add_test(tcase, every_method_of_the_interface_has_a_handler);
	tcase_add_loop_test(tcase, a_broken_description_is_refused, 0,
		sizeof(broken) / sizeof(broken[0]));
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
