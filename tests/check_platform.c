/* SPDX-License-Identifier: MIT */
/* Platforms by name, from JSON and from sysfs. */
#include "lib/platform.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/file.h"
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

/* ---- sysfs ------------------------------------------------------------------- */

struct tree {
	char root[256];
};

static void put(
	const struct tree *tree, const char *address, const char *file, const char *text)
{
	char path[512];
	snprintf(path, sizeof(path), "%s/bus/pci/devices/%s", tree->root, address);
	ck_assert_int_eq(kp_file_make_dirs(path, 0700, NULL), 0);
	snprintf(path, sizeof(path), "%s/bus/pci/devices/%s/%s", tree->root, address,
		file);
	FILE *out = fopen(path, "w");
	ck_assert_ptr_nonnull(out);
	fputs(text, out);
	fclose(out);
}

static void put_device(const struct tree *tree, const char *address, const char *class,
	const char *vendor, const char *device)
{
	put(tree, address, "class", class);
	put(tree, address, "vendor", vendor);
	put(tree, address, "device", device);
}

static void plant(struct tree *tree)
{
	const char *tmp = getenv("TMPDIR");
	snprintf(tree->root, sizeof(tree->root), "%s/sysfs-XXXXXX", tmp ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(tree->root));
}

static void fell(const struct tree *tree)
{
	char command[300];
	snprintf(command, sizeof(command), "rm -rf '%s'", tree->root);
	ck_assert_int_eq(system(command), 0);
}

START_TEST(gpus_of_sysfs_are_devices_in_order_of_address)
{
	struct tree tree;
	struct kp_platform p;
	plant(&tree);
	put_device(&tree, "0000:c1:00.0", "0x120000\n", "0x1002\n", "0x74a1\n");
	put_device(&tree, "0000:65:00.0", "0x030200\n", "0x10de\n", "0x2335\n");
	put_device(&tree, "0000:00:02.0", "0x038000\n", "0x8086\n", "0x4c8a\n");
	put_device(&tree, "0000:66:00.0", "0x030000\n", "0x10de\n", "0x2335\n");
	ck_assert_int_eq(kp_platform_detect(tree.root, &p, NULL), 0);
	ck_assert_uint_eq(p.n_devices, 5);
	ck_assert_str_eq(p.devices[0].id, "cpu");
	ck_assert_str_eq(p.devices[1].id, "gpu-0000:00:02.0");
	ck_assert_str_eq(p.devices[1].vendor, "intel");
	ck_assert_str_eq(p.devices[2].id, "gpu-0000:65:00.0");
	ck_assert_str_eq(p.devices[2].vendor, "nvidia");
	ck_assert_str_eq(p.devices[4].vendor, "amd");
	ck_assert(!p.devices[2].arch.known);
	ck_assert_int_eq(p.devices[2].kind, KP_GPU);
	ck_assert_ptr_nonnull(strstr(p.devices[2].name, "10de:2335"));
	ck_assert_ptr_nonnull(strstr(p.name, "+intel+nvidia+amd"));
	kp_platform_finish(&p);
	fell(&tree);
}
END_TEST

START_TEST(what_is_no_gpu_is_no_device)
{
	struct tree tree;
	struct kp_platform p;
	plant(&tree);
	put_device(
		&tree, "0000:00:01.0", "0x030000\n", "0x1234\n", "0x1111\n"); /* bochs */
	put_device(
		&tree, "0000:00:02.0", "0x038000\n", "0x1af4\n", "0x1050\n"); /* virtio */
	put_device(
		&tree, "0000:00:03.0", "0x040300\n", "0x10de\n", "0x22b9\n"); /* sound */
	put_device(
		&tree, "0000:00:04.0", "0x010802\n", "0x8086\n", "0x0a54\n"); /* disk */
	put(&tree, "0000:00:05.0", "class", "0x030000\n");
	put(&tree, "0000:00:06.0", "vendor", "0x10de\n");
	put_device(&tree, "0000:00:07.0", "", "", "");
	put_device(&tree, "0000:00:08.0", "display", "nvidia", "H200");
	ck_assert_int_eq(kp_platform_detect(tree.root, &p, NULL), 0);
	ck_assert_uint_eq(p.n_devices, 1);
	kp_platform_finish(&p);
	fell(&tree);
}
END_TEST

START_TEST(a_host_without_a_gpu_is_a_platform_of_its_cpu)
{
	struct kp_platform p;
	ck_assert_int_eq(kp_platform_detect("/nonexistent", &p, NULL), 0);
	ck_assert_uint_eq(p.n_devices, 1);
	ck_assert_int_eq(p.devices[0].kind, KP_CPU);
	ck_assert_uint_gt(p.devices[0].n_features, 0);
	ck_assert_ptr_null(strchr(p.name, '+'));
	json_t *json = kp_platform_json(&p);
	struct kp_platform back;
	ck_assert_int_eq(kp_platform_from_json(json, &back, NULL), 0);
	json_decref(json);
	kp_platform_finish(&p);
	kp_platform_finish(&back);
}
END_TEST

START_TEST(more_gpus_than_a_platform_holds_leave_the_first)
{
	struct tree tree;
	struct kp_platform p;
	char address[32];
	plant(&tree);
	for (int i = 0; i < KP_PLATFORM_DEVICES + 3; i++) {
		snprintf(address, sizeof(address), "0000:%02x:00.0", i);
		put_device(&tree, address, "0x030200", "0x10de", "0x2335");
	}
	ck_assert_int_eq(kp_platform_detect(tree.root, &p, NULL), 0);
	ck_assert_uint_eq(p.n_devices, KP_PLATFORM_DEVICES);
	ck_assert_str_eq(p.devices[1].id, "gpu-0000:00:00.0");
	kp_platform_finish(&p);
	fell(&tree);
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
	tcase_add_test(tcase, gpus_of_sysfs_are_devices_in_order_of_address);
	tcase_add_test(tcase, what_is_no_gpu_is_no_device);
	tcase_add_test(tcase, a_host_without_a_gpu_is_a_platform_of_its_cpu);
	tcase_add_test(tcase, more_gpus_than_a_platform_holds_leave_the_first);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
