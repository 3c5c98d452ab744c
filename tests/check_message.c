/* SPDX-License-Identifier: MIT */
/* Calls and replies survive their text; what is not one is refused with a code. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/protocol/message.h"
#include "tests/support/suite.h"

static void refused(const char *text, size_t size, const char *code, const char *word)
{
	struct kp_call_message call = {.method = (char *)"untouched"};
	struct kp_diag diag;
	ck_assert_int_eq(kp_call_parse(text, size, &call, &diag), -1);
	ck_assert_str_eq(diag.code, code);
	if (word)
		ck_assert_msg(
			strstr(diag.message, word), "%s not in: %s", word, diag.message);
	ck_assert_str_eq(call.method, "untouched");
}

START_TEST(a_call_survives_its_text)
{
	json_t *parameters = json_pack("{s:s, s:[i,i]}", "name", "x/y", "list", 1, 2);
	size_t size;
	char *text = kp_call_print("a.b.Run", parameters, true, &size);
	ck_assert_uint_eq(size, strlen(text) + 1);
	struct kp_call_message call;
	ck_assert_int_eq(kp_call_parse(text, size - 1, &call, NULL), 0);
	ck_assert_str_eq(call.method, "a.b.Run");
	ck_assert(json_equal(call.parameters, parameters));
	ck_assert(call.more && !call.oneway && !call.upgrade);
	kp_call_message_finish(&call);
	json_decref(parameters);
	free(text);
}
END_TEST

START_TEST(a_call_without_parameters_has_an_empty_object)
{
	static const char *const texts[] = {"{\"method\":\"a.B\"}",
		"{\"method\":\"a.B\",\"parameters\":null,\"more\":null}",
		"{\"method\":\"a.B\",\"parameters\":{}}"};
	struct kp_call_message call;
	ck_assert_int_eq(kp_call_parse(texts[_i], strlen(texts[_i]), &call, NULL), 0);
	ck_assert(json_is_object(call.parameters));
	ck_assert_uint_eq(json_object_size(call.parameters), 0);
	ck_assert(!call.more);
	kp_call_message_finish(&call);
}
END_TEST

START_TEST(unknown_members_of_a_call_are_ignored)
{
	const char *text =
		"{\"method\":\"a.B\",\"oneway\":true,\"later\":{\"x\":[]},\"z\":1}";
	struct kp_call_message call;
	ck_assert_int_eq(kp_call_parse(text, strlen(text), &call, NULL), 0);
	ck_assert(call.oneway);
	kp_call_message_finish(&call);
}
END_TEST

START_TEST(t71_what_is_not_a_call_is_refused_with_a_code)
{
	static const struct {
		const char *text, *code, *word;
	} rows[] = {
		{"", "json_syntax", NULL},
		{"{", "json_syntax", NULL},
		{"[]", "wrong_type", "an object expected, not an array"},
		{"7", "wrong_type", "object"},
		{"{}", "missing_key", "method"},
		{"{\"method\":3}", "wrong_type", "method: a string expected"},
		{"{\"method\":null}", "wrong_type", "method"},
		{"{\"method\":\"a.B\",\"parameters\":[]}", "wrong_type", "parameters"},
		{"{\"method\":\"a.B\",\"parameters\":\"x\"}", "wrong_type", "parameters"},
		{"{\"method\":\"a.B\",\"more\":1}", "wrong_type", "more"},
		{"{\"method\":\"a.B\",\"oneway\":\"yes\"}", "wrong_type", "oneway"},
		{"{\"method\":\"a.B\",\"method\":\"a.C\"}", "json_duplicate_key", NULL},
		{"{\"method\":\"a.B\xff\"}", "json_not_utf8", NULL},
		{"{\"method\":\"a\\u0000b\"}", "json_nul", NULL},
		{"{\"method\":\"a.B\"} x", "json_syntax", NULL},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		refused(rows[i].text, strlen(rows[i].text), rows[i].code, rows[i].word);
}
END_TEST

START_TEST(t71_a_nul_inside_a_call_is_refused)
{
	refused("{\"method\":\"a.B\0\"}", 17, "json_nul", NULL);
}
END_TEST

START_TEST(t71_deep_and_huge_calls_are_refused)
{
	char deep[2200] = "{\"method\":\"a.B\",\"parameters\":{\"x\":";
	size_t used = strlen(deep);
	memset(deep + used, '[', 1000);
	memset(deep + used + 1000, ']', 1000);
	memcpy(deep + used + 2000, "}}", 3);
	refused(deep, strlen(deep), "json_too_deep", NULL);
	size_t size = (4 << 20) + 10;
	char *huge = malloc(size);
	ck_assert_ptr_nonnull(huge);
	memset(huge, ' ', size);
	refused(huge, size, "json_too_large", NULL);
	free(huge);
}
END_TEST

START_TEST(a_reply_survives_its_text)
{
	json_t *parameters = json_pack("{s:f, s:n}", "x", 1.5, "none");
	size_t size;
	char *text = kp_reply_print(parameters, _i, &size);
	struct kp_reply_message reply;
	ck_assert_int_eq(kp_reply_parse(text, size - 1, &reply, NULL), 0);
	ck_assert(json_equal(reply.parameters, parameters));
	ck_assert_ptr_null(reply.error);
	ck_assert_int_eq(reply.continues, _i);
	kp_reply_message_finish(&reply);
	json_decref(parameters);
	free(text);
}
END_TEST

START_TEST(an_error_survives_its_text)
{
	json_t *parameters = json_pack("{s:s}", "code", "no_such_plugin");
	size_t size;
	char *text = kp_error_print(KP_INTERFACE ".NotFound", parameters, &size);
	struct kp_reply_message reply;
	ck_assert_int_eq(kp_reply_parse(text, size - 1, &reply, NULL), 0);
	ck_assert_str_eq(reply.error, "org.kplug.Manager.NotFound");
	ck_assert(json_equal(reply.parameters, parameters));
	kp_reply_message_finish(&reply);
	json_decref(parameters);
	free(text);
}
END_TEST

START_TEST(text_with_control_bytes_is_escaped)
{
	json_t *parameters = json_pack("{s:s}", "x", "a\x1b[31m\n\x01");
	size_t size;
	char *text = kp_reply_print(parameters, false, &size);
	for (size_t i = 0; i + 1 < size; i++)
		ck_assert_int_ge((unsigned char)text[i], 0x20);
	json_decref(parameters);
	free(text);
}
END_TEST

START_TEST(a_missing_parameters_object_is_an_empty_one)
{
	size_t size;
	char *text = kp_reply_print(NULL, false, &size);
	ck_assert_str_eq(text, "{\"parameters\":{}}");
	free(text);
}
END_TEST

START_TEST(a_reply_may_be_larger_than_a_call)
{
	size_t size;
	json_t *parameters = json_object();
	char *text = malloc(5 << 20);
	ck_assert_ptr_nonnull(text);
	memset(text, 'x', 5 << 20);
	json_object_set_new(parameters, "x", json_stringn(text, 5 << 20));
	free(text);
	text = kp_reply_print(parameters, false, &size);
	struct kp_reply_message reply;
	ck_assert_int_eq(kp_reply_parse(text, size - 1, &reply, NULL), 0);
	ck_assert(json_equal(reply.parameters, parameters));
	kp_reply_message_finish(&reply);
	/* And is still refused when it is not one. */
	text[size - 2] = ' ';
	struct kp_diag diag;
	ck_assert_int_eq(kp_reply_parse(text, size - 1, &reply, &diag), -1);
	ck_assert_str_eq(diag.code, "json_syntax");
	json_decref(parameters);
	free(text);
}
END_TEST

START_TEST(what_is_not_a_reply_is_refused)
{
	static const char *const texts[] = {"", "[]", "{\"error\":1}",
		"{\"parameters\":[]}", "{\"continues\":\"x\"}", "{\"parameters\":{}",
		"HTTP/1.1 400 Bad Request"};
	struct kp_reply_message reply = {.error = (char *)"untouched"};
	struct kp_diag diag;
	ck_assert_int_eq(kp_reply_parse(texts[_i], strlen(texts[_i]), &reply, &diag), -1);
	ck_assert(!strcmp(diag.code, "json_syntax") || !strcmp(diag.code, "wrong_type"));
	ck_assert_str_eq(reply.error, "untouched");
}
END_TEST

START_TEST(t73_each_code_has_its_error_and_exit_status)
{
	static const struct {
		const char *code, *error;
		enum kp_exit status;
	} rows[] = {
		{"no_such_plugin", "NotFound", KP_EXIT_NOT_FOUND},
		{"no_such_kernel", "NotFound", KP_EXIT_NOT_FOUND},
		{"unknown_operation", "NotFound", KP_EXIT_NOT_FOUND},
		{"override_ineligible", "OverrideIneligible", KP_EXIT_NO},
		{"not_permitted", "NotPermitted", KP_EXIT_NOT_PERMITTED},
		{"timed_out", "TimedOut", KP_EXIT_TIMED_OUT},
		{"busy", "Busy", KP_EXIT_FAILED},
		{"no_memory", "Failed", KP_EXIT_FAILED},
		{"write_failed", "Failed", KP_EXIT_FAILED},
		{"bad_reply", "Failed", KP_EXIT_FAILED},
		{"bad_signature", "InvalidArgument", KP_EXIT_USAGE},
		{"unknown_trait", "InvalidArgument", KP_EXIT_USAGE},
		{"missing_role", "InvalidArgument", KP_EXIT_USAGE},
		{"ambiguous_name", "InvalidArgument", KP_EXIT_USAGE},
		{"path_too_long", "InvalidArgument", KP_EXIT_USAGE},
		{"bench_busy", "Busy", KP_EXIT_FAILED},
		{"launcher_failed", "Failed", KP_EXIT_FAILED},
		{"table_too_large", "Failed", KP_EXIT_FAILED},
		{"cancelled", "Failed", KP_EXIT_FAILED},
		{"nobody_knows_this_code", "Failed", KP_EXIT_FAILED},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char name[80];
		(void)snprintf(name, sizeof(name), "%s.%s", KP_INTERFACE, rows[i].error);
		ck_assert_str_eq(kp_error_name(rows[i].code), name);
		ck_assert_int_eq(kp_error_exit(name), rows[i].status);
	}
}
END_TEST

START_TEST(t73_an_error_of_another_interface_is_a_failure)
{
	ck_assert_int_eq(kp_error_exit(NULL), KP_EXIT_OK);
	ck_assert_int_eq(kp_error_exit(""), KP_EXIT_FAILED);
	ck_assert_int_eq(
		kp_error_exit("org.varlink.service.MethodNotFound"), KP_EXIT_FAILED);
	ck_assert_int_eq(kp_error_exit("org.kplug.Manager.NotFoundX"), KP_EXIT_FAILED);
}
END_TEST

START_TEST(a_diagnostic_becomes_code_message_and_object)
{
	struct kp_diag diag;
	kp_diag_set(&diag, "unknown_key", "a.b", "unknown key %s", "a.b");
	kp_diag_at(&diag, "x.json", 3, 4);
	json_t *value = kp_diag_json(&diag);
	json_t *wanted = json_pack("{s:s, s:s, s:s}", "code", "unknown_key", "message",
		"x.json:3:4: unknown key a.b", "object", "a.b");
	ck_assert(json_equal(value, wanted));
	json_decref(value);
	json_decref(wanted);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("message");
	TCase *all = tcase_create("message");
	tcase_add_test(all, a_call_survives_its_text);
	tcase_add_loop_test(all, a_call_without_parameters_has_an_empty_object, 0, 3);
	tcase_add_test(all, unknown_members_of_a_call_are_ignored);
	tcase_add_test(all, t71_what_is_not_a_call_is_refused_with_a_code);
	tcase_add_test(all, t71_a_nul_inside_a_call_is_refused);
	tcase_add_test(all, t71_deep_and_huge_calls_are_refused);
	tcase_add_loop_test(all, a_reply_survives_its_text, 0, 2);
	tcase_add_test(all, an_error_survives_its_text);
	tcase_add_test(all, text_with_control_bytes_is_escaped);
	tcase_add_test(all, a_missing_parameters_object_is_an_empty_one);
	tcase_add_test(all, a_reply_may_be_larger_than_a_call);
	tcase_add_loop_test(all, what_is_not_a_reply_is_refused, 0, 7);
	tcase_add_test(all, t73_each_code_has_its_error_and_exit_status);
	tcase_add_test(all, t73_an_error_of_another_interface_is_a_failure);
	tcase_add_test(all, a_diagnostic_becomes_code_message_and_object);
	suite_add_tcase(suite, all);
	return suite_run(suite);
}
