/* SPDX-License-Identifier: MIT */
/* Platforms by name, from JSON and from sysfs. */
#include "lib/platform/platform.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/file.h"
#include "tests/support/suite.h"

static bool device_has(const struct kp_device_facts *device, const char *feature)
{
	for (size_t i = 0; i < device->n_features; i++)
		if (strcmp(device->features[i], feature) == 0)
			return true;
	return false;
}

/* ---- names ------------------------------------------------------------------ */

static const struct {
	const char *name, *vendor;
	int major, minor; /* -1: not known */
	const char *has, *lacks;
} named[] = {
	{"x86-64", "x86-64", 1, 0, "sse2", "sse4_2"},
	{"x86-64-v1", "x86-64", 1, 0, "cmov", "ssse3"},
	{"x86-64-v2", "x86-64", 2, 0, "sse4_2", "avx"},
	{"x86-64-v3", "x86-64", 3, 0, "avx2", "avx512f"},
	{"x86-64-v4", "x86-64", 4, 0, "avx512vl", "avx512_vnni"},
	{"x86-64-v2+avx", "x86-64", 2, 0, "avx", "avx2"},
	{"x86-64-v3+avx512f+avx512_bf16", "x86-64", 3, 0, "avx512_bf16", "avx512vl"},
	{"aarch64", "aarch64", -1, 0, "asimd", "sve"},
	{"aarch64+sve2+i8mm", "aarch64", -1, 0, "i8mm", "bf16"},
	{"nvidia-9.0", "nvidia", 9, 0, NULL, "avx2"},
	{"nvidia-8.6", "nvidia", 8, 6, NULL, "avx2"},
	{"nvidia-10", "nvidia", 10, 0, NULL, "avx2"},
	{"amd-9.5", "amd", 9, 5, NULL, "avx2"},
	{"intel-12.0", "intel", 12, 0, NULL, "avx2"},
	{"nvidia-9.0+wgmma", "nvidia", 9, 0, "wgmma", "avx2"},
};

START_TEST(a_name_is_a_platform_of_one_device)
{
	struct kp_platform p;
	ck_assert_int_eq(kp_platform_named(named[_i].name, &p, NULL), 0);
	ck_assert_str_eq(p.name, named[_i].name);
	ck_assert_uint_eq(p.n_devices, 1);
	const struct kp_device_facts *device = &p.devices[0];
	ck_assert_str_eq(device->vendor, named[_i].vendor);
	ck_assert_int_eq(device->arch.known, named[_i].major >= 0);
	if (device->arch.known) {
		ck_assert_int_eq(device->arch.major, named[_i].major);
		ck_assert_int_eq(device->arch.minor, named[_i].minor);
	}
	if (named[_i].has)
		ck_assert(device_has(device, named[_i].has));
	ck_assert(!device_has(device, named[_i].lacks));
	for (size_t i = 1; i < device->n_features; i++)
		ck_assert_str_lt(device->features[i - 1], device->features[i]);
	kp_platform_finish(&p);
}
END_TEST

static const struct {
	const char *name, *offered;
} unknown[] = {
	{"", NULL},
	{"x86-64-v5", "x86-64"},
	{"x86_64", "x86-64"},
	{"x86-64-v33", "x86-64-v3"},
	{"arm64", NULL},
	{"aarch46", "aarch64"},
	{"NVIDIA-8.6", "nvidia-8.6"},
	{"adm-11.0", "amd-11.0"},
	{"X86-64-V3", "x86-64-v3"},
	{"nvida-9.0", "nvidia-9.0"},
	{"x86-64-v2+avx3", "avx"},
	{"x86-64-v3+nvidia", NULL},
	{"x86-64+", NULL},
	{"a-name-that-is-much-too-long-for-any-platform-that-was-ever-made-0123456789",
		NULL},
};

START_TEST(an_unknown_name_is_refused_and_the_nearest_offered)
{
	struct kp_platform p;
	struct kp_diag diag;
	ck_assert_int_eq(kp_platform_named(unknown[_i].name, &p, &diag), -1);
	ck_assert_str_eq(diag.code, "unknown_platform");
	ck_assert_str_eq(diag.object, unknown[_i].name);
	if (unknown[_i].offered) {
		const char *offer = strstr(diag.message, "did you mean ");
		ck_assert_msg(
			offer && strstr(offer, unknown[_i].offered), "%s", diag.message);
	}
}
END_TEST

static const struct {
	const char *name, *form;
} models[] = {
	{"nvidia-h200", "write nvidia-MAJOR.MINOR"},
	{"nvidia-", "such as nvidia-9.0"},
	{"nvidia-9.x", "such as nvidia-9.0"},
	{"nvidia", "such as nvidia-9.0"},
	{"NVIDIA-H200", "write nvidia-MAJOR.MINOR"},
	{"nvidai-h200", "write nvidia-MAJOR.MINOR"},
	{"amd-mi350x", "such as amd-9.0"},
};

START_TEST(a_model_of_a_gpu_is_no_misspelt_arch)
{
	struct kp_platform p;
	struct kp_diag diag;
	ck_assert_int_eq(kp_platform_named(models[_i].name, &p, &diag), -1);
	ck_assert_str_eq(diag.code, "unknown_platform");
	ck_assert_msg(strstr(diag.message, models[_i].form) != NULL, "%s", diag.message);
	ck_assert_msg(!strstr(diag.message, "did you mean"), "%s", diag.message);
}
END_TEST

/* ---- JSON ------------------------------------------------------------------- */

static int from_text(const char *text, struct kp_platform *p, struct kp_diag *diag)
{
	json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);
	ck_assert_msg(value != NULL, "%s", text);
	int rc = kp_platform_from_json(value, p, diag);
	json_decref(value);
	return rc;
}

START_TEST(a_platform_comes_back_from_its_json)
{
	struct kp_platform p;
	struct kp_platform back;
	struct kp_diag diag;
	ck_assert_int_eq(
		from_text("{\"name\":\"rack 4\",\"devices\":["
			  "{\"kind\":\"gpu\",\"vendor\":\"nvidia\",\"arch\":\"9.0\"},"
			  "{\"kind\":\"gpu\",\"vendor\":\"amd\",\"arch\":null},"
			  "{\"id\":\"host\",\"kind\":\"cpu\",\"vendor\":\"aarch64\","
			  "\"name\":\"N1\",\"features\":[\"sve\",\"bf16\",\"sve\"]}]}",
			&p, &diag),
		0);
	ck_assert_str_eq(p.devices[0].id, "gpu");
	ck_assert_str_eq(p.devices[1].id, "gpu-1");
	ck_assert_str_eq(p.devices[2].id, "host");
	ck_assert(p.devices[0].arch.known);
	ck_assert(!p.devices[1].arch.known);
	ck_assert_uint_eq(p.devices[2].n_features, 2);
	ck_assert_str_eq(p.devices[2].features[0], "bf16");
	json_t *json = kp_platform_json(&p);
	ck_assert_int_eq(kp_platform_from_json(json, &back, &diag), 0);
	json_t *again = kp_platform_json(&back);
	ck_assert(json_equal(json, again));
	json_decref(json);
	json_decref(again);
	kp_platform_finish(&p);
	kp_platform_finish(&back);
}
END_TEST

START_TEST(a_text_is_the_name_of_a_platform)
{
	struct kp_platform p;
	struct kp_diag diag;
	ck_assert_int_eq(from_text("\"nvidia-9.0\"", &p, &diag), 0);
	ck_assert_int_eq(p.devices[0].kind, KP_GPU);
	kp_platform_finish(&p);
	ck_assert_int_eq(from_text("\"nvidia-9.0.1\"", &p, &diag), -1);
	ck_assert_str_eq(diag.code, "unknown_platform");
}
END_TEST

static const struct {
	const char *text, *code, *object;
} wrong[] = {
	{"7", "wrong_type", ""},
	{"{}", "missing_key", "devices"},
	{"{\"devices\":{}}", "wrong_type", "devices"},
	{"{\"devices\":[]}", "bad_platform", "devices"},
	{"{\"devices\":[3]}", "wrong_type", "devices[0]"},
	{"{\"devices\":[{\"vendor\":\"amd\"}]}", "missing_key", "devices[0].kind"},
	{"{\"devices\":[{\"kind\":\"gpu\"}]}", "missing_key", "devices[0].vendor"},
	{"{\"devices\":[{\"kind\":\"any\",\"vendor\":\"amd\"}]}", "bad_platform",
		"devices[0].kind"},
	{"{\"devices\":[{\"kind\":\"gpu\",\"vendor\":\"\"}]}", "bad_platform",
		"devices[0].vendor"},
	{"{\"devices\":[{\"kind\":\"gpu\",\"vendor\":\"amd\",\"arch\":\"gfx90a\"}]}",
		"bad_platform", "devices[0].arch"},
	{"{\"devices\":[{\"kind\":\"gpu\",\"vendor\":\"amd\",\"features\":[3]}]}",
		"wrong_type", "devices[0].features[0]"},
	{"{\"devices\":[{\"kind\":\"gpu\",\"vendor\":\"amd\",\"features\":[\"a b\"]}]}",
		"bad_name", "devices[0].features[0]"},
	{"{\"devices\":[{\"kind\":\"gpu\",\"vendor\":\"amd\",\"features\":[\"a\","
	 "\"a23456789012345678901234567890\"]}]}",
		"too_many", "devices[0].features[1]"},
	{"{\"devices\":[{\"kind\":\"gpu\",\"vendor\":\"amd\",\"colour\":1}]}",
		"unknown_key", "devices[0].colour"},
	{"{\"devices\":[{\"kind\":\"gpu\",\"vendor\":\"amd\",\"id\":\"a\"},"
	 "{\"kind\":\"gpu\",\"vendor\":\"amd\",\"id\":\"a\"}]}",
		"bad_platform", "devices[1].id"},
};

START_TEST(a_wrong_platform_is_refused_with_its_path)
{
	struct kp_platform p;
	struct kp_diag diag;
	ck_assert_int_eq(from_text(wrong[_i].text, &p, &diag), -1);
	ck_assert_msg(strcmp(diag.code, wrong[_i].code) == 0, "%s", diag.message);
	ck_assert_str_eq(diag.object, wrong[_i].object);
}
END_TEST

START_TEST(more_devices_than_a_platform_holds_are_refused)
{
	json_t *devices = json_array();
	struct kp_platform p;
	struct kp_diag diag;
	for (int i = 0; i < KP_PLATFORM_DEVICES; i++)
		json_array_append_new(
			devices, json_pack("{s:s, s:s}", "kind", "gpu", "vendor", "amd"));
	json_t *platform = json_pack("{s:O}", "devices", devices);
	ck_assert_int_eq(kp_platform_from_json(platform, &p, &diag), 0);
	ck_assert_uint_eq(p.n_devices, KP_PLATFORM_DEVICES);
	kp_platform_finish(&p);
	json_array_append_new(
		devices, json_pack("{s:s, s:s}", "kind", "gpu", "vendor", "amd"));
	ck_assert_int_eq(kp_platform_from_json(platform, &p, &diag), -1);
	ck_assert_str_eq(diag.code, "too_many");
	json_decref(platform);
	json_decref(devices);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

int main(void)
{
	Suite *suite = suite_create("platform");
	TCase *tcase = tcase_create("platform");
	tcase_add_loop_test(tcase, a_name_is_a_platform_of_one_device, 0, COUNT(named));
	tcase_add_loop_test(tcase, an_unknown_name_is_refused_and_the_nearest_offered, 0,
		COUNT(unknown));
	tcase_add_loop_test(tcase, a_model_of_a_gpu_is_no_misspelt_arch, 0,
		(int)(sizeof(models) / sizeof(models[0])));
	tcase_add_test(tcase, a_platform_comes_back_from_its_json);
	tcase_add_test(tcase, a_text_is_the_name_of_a_platform);
	tcase_add_loop_test(
		tcase, a_wrong_platform_is_refused_with_its_path, 0, COUNT(wrong));
	tcase_add_test(tcase, more_devices_than_a_platform_holds_are_refused);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
