/* SPDX-License-Identifier: MIT */
/* The platform that this is: its CPU, and the GPUs that sysfs lists. */
#include "lib/platform/platform.h"

#include <stdio.h>
#include <string.h>

#include "lib/platform/cpu.h"
#include "lib/platform/platform_build.h"

static void append(struct kp_platform *platform, const char *text)
{
	size_t used = strlen(platform->name);
	(void)snprintf(platform->name + used, sizeof(platform->name) - used, "%s", text);
}

/* "x86-64-v3+nvidia": the level, then each vendor of a GPU once. */
static void set_name(struct kp_platform *platform, const struct kp_cpu *cpu)
{
	(void)snprintf(platform->name, sizeof(platform->name), "%s", cpu->vendor);
	if (cpu->level > 1) {
		char level[16];
		(void)snprintf(level, sizeof(level), "-v%u", cpu->level);
		append(platform, level);
	}
	for (size_t i = 1; i < platform->n_devices; i++) {
		size_t first = 1;
		while (strcmp(platform->devices[first].vendor,
			       platform->devices[i].vendor) != 0)
			first++;
		if (first == i) {
			append(platform, "+");
			append(platform, platform->devices[i].vendor);
		}
	}
}

int kp_platform_detect(
	const char *root, struct kp_platform *platform, struct kp_diag *diag)
{
	struct kp_platform made = {0};
	struct kp_cpu cpu;

	kp_cpu_detect(&cpu);
	if (kp_platform_add_cpu(&made, &cpu, diag) < 0 ||
		kp_platform_add_gpus(&made, root, diag) < 0) {
		kp_platform_finish(&made);
		return -1;
	}
	kp_platform_ask_proc(&made, root);
	set_name(&made, &cpu);
	*platform = made;
	return 0;
}
