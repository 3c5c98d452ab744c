/* SPDX-License-Identifier: MIT */
/* Platforms from sysfs, from /proc, and from what a worker found out. */
#include "lib/platform/platform.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/file.h"
#include "tests/support/suite.h"

/* ---- sysfs ------------------------------------------------------------------- */

struct tree {
	char root[256];
};

static void put(
	const struct tree *tree, const char *address, const char *file, const char *text)
{
	char path[512];
	snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/%s", tree->root, address);
	ck_assert_int_eq(kp_file_make_dirs(path, 0700, NULL), 0);
	snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/%s/%s", tree->root, address,
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

/* ---- what the kernel's driver tells of itself ----------------------------------- */

static void put_proc(const struct tree *tree, const char *file, const char *text)
{
	char path[512];
	snprintf(path, sizeof(path), "%s/proc/driver/nvidia/%s", tree->root, file);
	*strrchr(path, '/') = '\0';
	ck_assert_int_eq(kp_file_make_dirs(path, 0700, NULL), 0);
	snprintf(path, sizeof(path), "%s/proc/driver/nvidia/%s", tree->root, file);
	FILE *out = fopen(path, "w");
	ck_assert_ptr_nonnull(out);
	fputs(text, out);
	fclose(out);
}

static const struct {
	const char *text, *version;
} versions[] = {
	{"NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 2024\n",
		"550.54.15"},
	{"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.82.07  Release "
	 "Build  (root@x)\nGCC version:  gcc version 12.3.0\n",
		"580.82.07"},
	{"NVRM version: NVIDIA UNIX Kernel Module 590.1\n", "590.1"},
	{"NVRM version: NVIDIA UNIX\nGCC version:  gcc version 12.3.0\n", ""},
	{"1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1\n", ""},
	{"", ""},
};

START_TEST(the_drivers_version_is_read_where_it_is_told)
{
	struct tree tree;
	struct kp_platform p;
	plant(&tree);
	put_device(&tree, "0000:65:00.0", "0x030200\n", "0x10de\n", "0x2335\n");
	put_device(&tree, "0000:66:00.0", "0x030200\n", "0x1002\n", "0x74a1\n");
	put_proc(&tree, "version", versions[_i].text);
	ck_assert_int_eq(kp_platform_detect(tree.root, &p, NULL), 0);
	ck_assert_str_eq(p.devices[1].driver, versions[_i].version);
	ck_assert_str_eq(p.devices[2].driver, "");
	kp_platform_finish(&p);
	fell(&tree);
}
END_TEST

static const struct {
	const char *text, *name, *uuid;
} informations[] = {
	{"Model: \t\t NVIDIA H200\nIRQ:   \t\t 133\nGPU UUID: \t "
	 "GPU-1c2d3e4f-0000-4000-8000-123456789abc\n",
		"NVIDIA H200", "GPU-1c2d3e4f-0000-4000-8000-123456789abc"},
	{"Model: \t\t NVIDIA H200  \nGPU UUID: \t GPU-?\?\?\?-?\?\?\?\n", "NVIDIA H200",
		""},
	{"Model: \t\t Unknown\nGPU UUID:\n", "PCI device 10de:2335", ""},
	{"Models: x\n Model: y\n", "PCI device 10de:2335", ""},
	{"Model: \x1b[2J\xff\n", "\\x1b[2J\\xff", ""},
};

START_TEST(model_and_uuid_are_read_where_the_driver_knows_them)
{
	struct tree tree;
	struct kp_platform p;
	plant(&tree);
	put_device(&tree, "0000:65:00.0", "0x030200\n", "0x10de\n", "0x2335\n");
	put_proc(&tree, "gpus/0000:65:00.0/information", informations[_i].text);
	ck_assert_int_eq(kp_platform_detect(tree.root, &p, NULL), 0);
	ck_assert_str_eq(p.devices[1].name, informations[_i].name);
	ck_assert_str_eq(p.devices[1].uuid, informations[_i].uuid);
	ck_assert(!p.devices[1].arch.known);
	kp_platform_finish(&p);
	fell(&tree);
}
END_TEST

/* ---- what a worker found out ------------------------------------------------------ */

static bool learn(struct kp_platform *p, const char *text)
{
	json_t *gpu = json_loads(text, 0, NULL);
	ck_assert_msg(gpu != NULL, "%s", text);
	bool changed = kp_platform_learn(p, gpu);
	json_decref(gpu);
	return changed;
}

static void one_gpu(struct kp_platform *p)
{
	json_t *value =
		json_loads("{\"devices\":[{\"kind\":\"gpu\",\"vendor\":\"nvidia\","
			   "\"id\":\"gpu-0000:18:00.0\"}]}",
			0, NULL);
	ck_assert_int_eq(kp_platform_from_json(value, p, NULL), 0);
	json_decref(value);
}

START_TEST(what_a_worker_found_out_is_the_devices)
{
	struct kp_platform p;
	static const char full[] =
		"{\"pci\":\"0000:18:00.0\",\"arch\":\"9.0\",\"name\":\"H\","
		"\"uuid\":\"GPU-1\",\"memory_bytes\":1024}";
	one_gpu(&p);
	ck_assert(learn(&p, full));
	ck_assert(!learn(&p, full));
	ck_assert(p.devices[0].arch.known);
	ck_assert_int_eq(p.devices[0].arch.major, 9);
	ck_assert_uint_eq(p.devices[0].memory, 1024);
	ck_assert_str_eq(p.devices[0].uuid, "GPU-1");
	/* Lost: its arch is not known any more. */
	ck_assert(learn(&p, "{\"pci\":\"0000:18:00.0\",\"reason\":{}}"));
	ck_assert(!p.devices[0].arch.known);
	kp_platform_finish(&p);
}
END_TEST

static const char *const nothing[] = {
	"{}",
	"{\"pci\":7}",
	"{\"pci\":\"0000:19:00.0\",\"arch\":\"9.0\"}",
	"{\"pci\":\"0000:18:00.0\",\"arch\":\"-7.0\"}",
	"{\"pci\":\"0000:18:00.0\",\"arch\":9.0,\"name\":[],\"uuid\":{}}",
	"{\"pci\":\"0000:18:00.0\",\"memory_bytes\":-1}",
	"{\"pci\":\"0000:18:00.0000000000000000000000000000000000000000\"}",
	"{\"pci\":\"0000:18:00.0\",\"uuid\":"
	"\"GPU-0123456789012345678901234567890123456789012345678901234567890123456789\"}",
};

START_TEST(what_is_no_answer_teaches_nothing)
{
	struct kp_platform p;
	one_gpu(&p);
	ck_assert(!learn(&p, nothing[_i]));
	ck_assert(!p.devices[0].arch.known);
	ck_assert_uint_eq(p.devices[0].memory, 0);
	kp_platform_finish(&p);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

int main(void)
{
	Suite *suite = suite_create("platform_devices");
	TCase *tcase = tcase_create("devices");
	tcase_add_test(tcase, gpus_of_sysfs_are_devices_in_order_of_address);
	tcase_add_test(tcase, what_is_no_gpu_is_no_device);
	tcase_add_test(tcase, a_host_without_a_gpu_is_a_platform_of_its_cpu);
	tcase_add_test(tcase, more_gpus_than_a_platform_holds_leave_the_first);
	tcase_add_loop_test(
		tcase, the_drivers_version_is_read_where_it_is_told, 0, COUNT(versions));
	tcase_add_loop_test(tcase, model_and_uuid_are_read_where_the_driver_knows_them, 0,
		COUNT(informations));
	tcase_add_test(tcase, what_a_worker_found_out_is_the_devices);
	tcase_add_loop_test(tcase, what_is_no_answer_teaches_nothing, 0, COUNT(nothing));
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
