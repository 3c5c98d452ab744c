/* SPDX-License-Identifier: MIT */
/* Kernels' capabilities against fat binaries and the level of x86-64. */
#include "daemon/worker/claim.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/owned.h"
#include "lib/base/text.h"

enum { CONTENT = 256, RANGE = 80 };

static bool has(const struct kp_strings *list, const char *text)
{
	return kp_text_among(text, list->items, list->count);
}

/* ---- GPUs -------------------------------------------------------------------------- */

static bool is_drivers(const char *library)
{
	return strncmp(library, "libcuda.so", strlen("libcuda.so")) == 0;
}

static bool brings_libraries(const struct kp_spec *kernel)
{
	for (size_t i = 0; i < kernel->needs.count; i++)
		if (!is_drivers(kernel->needs.items[i]))
			return true;
	return false;
}

static bool is_judged(const struct kp_spec *kernel)
{
	return kernel->capability.device == KP_GPU &&
	       has(&kernel->capability.vendors, "nvidia") && !brings_libraries(kernel);
}

static bool is_met(const struct fatbins *fatbins, const struct kp_arch *min,
	const struct kp_arch *max)
{
	for (size_t i = 0; i < fatbins->count; i++)
		if (fatbin_code_meets(&fatbins->codes[i], min, max))
			return true;
	return false;
}

/* "9.0 and up", "8.0 to 8.9", "up to 8.9". */
static const char *range_text(const struct kp_capability *claim, char text[RANGE])
{
	char min[32] = "";
	char max[32] = "";

	if (claim->min_arch.known)
		(void)kp_arch_print(&claim->min_arch, min, sizeof(min));
	if (claim->max_arch.known)
		(void)kp_arch_print(&claim->max_arch, max, sizeof(max));
	if (*min && *max)
		(void)snprintf(text, RANGE, "%s to %s", min, max);
	else
		(void)snprintf(
			text, RANGE, *min ? "%s and up" : "up to %s", *min ? min : max);
	return text;
}

static int missing(
	const struct kp_spec *kernel, const struct fatbins *fatbins, struct kp_diag *diag)
{
	const struct kp_arch *wanted = kernel->capability.min_arch.known
					       ? &kernel->capability.min_arch
					       : &kernel->capability.max_arch;
	char range[RANGE], content[CONTENT];

	return kp_diag_set(diag, "gpu_arch_missing", kernel->name,
		"the kernel %s claims compute capability %s, but the library's code for "
		"GPUs "
		"is %s: build it for sm_%d%d, or mend min_arch and max_arch",
		kernel->name, range_text(&kernel->capability, range),
		fatbins->count ? fatbins_text(fatbins, content, sizeof(content)) : "none",
		(int)wanted->major, (int)wanted->minor);
}

static void warn_gap(const struct kp_spec *kernel, const struct fatbins *fatbins,
	struct kp_diags *warnings)
{
	const struct kp_arch *min = &kernel->capability.min_arch;
	char arch[32], content[CONTENT];
	struct kp_diag diag;

	if (!min->known || is_met(fatbins, min, min))
		return;
	kp_diag_set(&diag, "gpu_arch_gap", kernel->name,
		"the kernel %s claims compute capability %s, on which none of its code "
		"runs: "
		"%s",
		kernel->name, kp_arch_print(min, arch, sizeof(arch)),
		fatbins_text(fatbins, content, sizeof(content)));
	kp_diags_add(warnings, &diag);
}

static void warn_damaged(const struct fatbins *fatbins, struct kp_diags *warnings)
{
	struct kp_diag diag;

	kp_diag_set(&diag, "gpu_code_damaged", "gpu",
		"%zu of its %zu fat binaries do not add up: the driver may refuse them",
		fatbins->damaged, fatbins->containers);
	kp_diags_add(warnings, &diag);
}

int claim_check_gpu(const struct kp_note *note, const struct fatbins *fatbins,
	struct kp_diags *warnings, struct kp_diag *diag)
{
	/* Of one that was not read to its end nothing can be said to be missing. */
	if (fatbins->containers == 0 || fatbins->is_cut)
		return 0;
	for (size_t i = 0; i < note->n_kernels; i++) {
		const struct kp_spec *kernel = &note->kernels[i];
		const struct kp_capability *claim = &kernel->capability;
		if (!is_judged(kernel) ||
			(!claim->min_arch.known && !claim->max_arch.known))
			continue;
		if (!is_met(fatbins, &claim->min_arch, &claim->max_arch))
			return missing(kernel, fatbins, diag);
		warn_gap(kernel, fatbins, warnings);
	}
	if (fatbins->damaged > 0)
		warn_damaged(fatbins, warnings);
	return 0;
}

/* ---- CPUs -------------------------------------------------------------------------- */

/* Features that the level below lacks: whoever asks for one means such a CPU. */
static const struct {
	unsigned level;
	const char *feature;
} marks[] = {
	{2, "sse4_2"},
	{2, "ssse3"},
	{3, "avx2"},
	{3, "fma"},
	{3, "bmi2"},
	{4, "avx512f"},
	{4, "avx512vl"},
};

static unsigned claimed_level(const struct kp_capability *claim)
{
	unsigned level = 1;

	if (claim->min_arch.known && claim->min_arch.major > 1)
		level = (unsigned)claim->min_arch.major;
	for (size_t i = 0; i < KP_COUNT(marks); i++)
		if (marks[i].level > level && has(&claim->features, marks[i].feature))
			level = marks[i].level;
	return level;
}

int claim_check_cpu(const struct kp_note *note, unsigned needed, struct kp_diag *diag)
{
	for (size_t i = 0; i < note->n_kernels; i++) {
		const struct kp_spec *kernel = &note->kernels[i];
		unsigned level = claimed_level(&kernel->capability);
		if (kernel->capability.device == KP_GPU || level >= needed)
			continue;
		return kp_diag_set(diag, "cpu_isa_missing", kernel->name,
			"the kernel %s claims any CPU of x86-64-v%u, but the library "
			"cannot "
			"be loaded on less than x86-64-v%u, as its GNU property says: "
			"claim "
			"min_arch %u.0, or build it for less",
			kernel->name, level, needed, needed);
	}
	return 0;
}
