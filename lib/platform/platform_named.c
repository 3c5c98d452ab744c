/* SPDX-License-Identifier: MIT */
/* Platforms by name, for "what if": nothing of this machine is looked at. */
#include "lib/platform/platform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/owned.h"
#include "lib/base/text.h"
#include "lib/platform/cpu.h"
#include "lib/platform/platform_build.h"

enum { NAME_BYTES = 64 };

static const char *const cpu_names[] = {
	"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"};
static const char *const gpu_vendors[] = {"nvidia", "amd", "intel"};

/*
 * A GPU by another name than its arch: a list of the archs there are would offer one
 * of another machine that is spelt alike.
 */
static int unknown_gpu(const char *name, const char *vendor, struct kp_diag *diag)
{
	return kp_diag_set(diag, "unknown_platform", name,
		"there is no platform %s; write %s-MAJOR.MINOR, its compute capability, "
		"such as %s-9.0",
		name, vendor, vendor);
}

static int unknown(const char *name, struct kp_diag *diag)
{
	const char *dash = strchr(name, '-');
	size_t length = dash ? (size_t)(dash - name) : strlen(name);
	char text[NAME_BYTES];
	char offer[KP_TEXT_OFFER];
	struct kp_arch arch;

	(void)snprintf(text, sizeof(text), "%.*s",
		(int)(length < sizeof(text) ? length : sizeof(text) - 1), name);
	const char *vendor = kp_text_nearest(text, gpu_vendors, KP_COUNT(gpu_vendors));
	if (vendor && dash && kp_arch_parse(dash + 1, &arch, NULL) == 0)
		return kp_diag_set(diag, "unknown_platform", name,
			"there is no platform %s; did you mean %s%s?", name, vendor,
			dash);
	if (vendor)
		return unknown_gpu(name, vendor, diag);
	kp_text_offer(name, cpu_names, KP_COUNT(cpu_names), NULL, offer);
	return kp_diag_set(diag, "unknown_platform", name, "there is no platform %s%s",
		name,
		offer[0] ? offer
			 : ": x86-64[-vN], aarch64, nvidia-M.m, amd-M.m or intel-M.m "
			   "expected");
}

/* x86-64, x86-64-v1 to -v4, aarch64. */
static bool cpu_named(const char *name, struct kp_cpu *cpu)
{
	static const char x86[] = "x86-64";
	size_t length = sizeof(x86) - 1;

	if (strcmp(name, "aarch64") == 0)
		return kp_cpu_least(name, 0, cpu);
	if (strncmp(name, x86, length) != 0)
		return false;
	const char *rest = name + length;
	if (!*rest)
		return kp_cpu_least(x86, 1, cpu);
	return strncmp(rest, "-v", 2) == 0 && rest[2] >= '1' && rest[2] <= '9' &&
	       !rest[3] && kp_cpu_least(x86, (unsigned)(rest[2] - '0'), cpu);
}

static bool gpu_named(const char *name, const char **vendor, struct kp_arch *arch)
{
	for (size_t i = 0; i < KP_COUNT(gpu_vendors); i++) {
		size_t length = strlen(gpu_vendors[i]);
		if (strncmp(name, gpu_vendors[i], length) != 0 || name[length] != '-')
			continue;
		*vendor = gpu_vendors[i];
		return kp_arch_parse(name + length + 1, arch, NULL) == 0;
	}
	return false;
}

static int add_gpu(struct kp_platform *platform, const char *vendor,
	const struct kp_arch *arch, struct kp_diag *diag)
{
	struct kp_device_facts *device = kp_platform_add(platform, diag);
	if (!device)
		return -1;
	device->kind = KP_GPU;
	device->arch = *arch;
	(void)snprintf(device->id, sizeof(device->id), "gpu");
	(void)snprintf(device->vendor, sizeof(device->vendor), "%s", vendor);
	return 0;
}

/* A CPU's features are known by name; a GPU's are whatever its kernels ask for. */
static int check_feature(const struct kp_device_facts *device, const char *name,
	const char *feature, struct kp_diag *diag)
{
	const char *known[KP_CPU_FEATURES];
	size_t count = kp_cpu_feature_names(device->vendor, known, KP_CPU_FEATURES);
	char offer[KP_TEXT_OFFER];

	for (size_t i = 0; i < count; i++)
		if (strcmp(known[i], feature) == 0)
			return 0;
	if (count == 0 && kp_text_is_name(feature))
		return 0;
	return kp_diag_set(diag, "unknown_platform", name, "%s: unknown feature %s%s",
		name, feature, kp_text_offer(feature, known, count, NULL, offer));
}

/* `list` is cut into its parts: "avx2+fma". */
static int add_features(struct kp_device_facts *device, const char *name, char *list,
	struct kp_diag *diag)
{
	char *rest = list;
	while (rest) {
		char *feature = strsep(&rest, "+");
		if (check_feature(device, name, feature, diag) < 0)
			return -1;
		if (!kp_device_add_feature(device, feature))
			return kp_diag_set(diag, "too_many", name,
				"%s: a device has at most %d features of %zu characters",
				name, KP_DEVICE_FEATURES,
				sizeof(device->features[0]) - 1);
	}
	return 0;
}

static int add_device(struct kp_platform *platform, const char *name, const char *base,
	struct kp_diag *diag)
{
	struct kp_cpu cpu;
	struct kp_arch arch;
	const char *vendor;

	if (cpu_named(base, &cpu))
		return kp_platform_add_cpu(platform, &cpu, diag);
	if (gpu_named(base, &vendor, &arch))
		return add_gpu(platform, vendor, &arch, diag);
	return unknown(name, diag);
}

int kp_platform_named(
	const char *name, struct kp_platform *platform, struct kp_diag *diag)
{
	struct kp_platform made = {0};
	char base[NAME_BYTES + 1];

	if (strlen(name) > NAME_BYTES - 1)
		return unknown(name, diag);
	(void)snprintf(made.name, sizeof(made.name), "%s", name);
	(void)snprintf(base, sizeof(base), "%s", name);
	char *features = strchr(base, '+');
	if (features)
		*features++ = '\0';
	if (add_device(&made, name, base, diag) < 0 ||
		(features && add_features(&made.devices[0], name, features, diag) < 0)) {
		kp_platform_finish(&made);
		return -1;
	}
	*platform = made;
	return 0;
}
