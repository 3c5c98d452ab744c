/* SPDX-License-Identifier: MIT */
/* The x86 plugin: which kernels it has. Knows nothing of what they compute. */
#include "kernels.h"

KPLUG_PLUGIN_NOTE("plugin.json");

static const struct kp_entry mm = {
	KP_SIZED(struct kp_entry), KP_ENTRY_KERNEL, 0, "gemm_mm", &gemm_mm};
static const struct kp_entry mm_avx512 = {
	KP_SIZED(struct kp_entry), KP_ENTRY_KERNEL, 0, "gemm_mm_avx512", &gemm_mm_avx512};
static const struct kp_entry rms = {
	KP_SIZED(struct kp_entry), KP_ENTRY_KERNEL, 0, "norm_rms", &norm_rms};

static const struct kp_entry *const entries[] = {&mm, &mm_avx512, &rms};

KPLUG_PLUGIN_EXPORT const struct kp_plugin kplug_plugin = {
	KP_SIZED(struct kp_plugin),
	.abi_major = KP_ABI_MAJOR,
	.abi_minor = KP_ABI_MINOR,
	.abi_needed = 0,
	.n_entries = sizeof(entries) / sizeof(entries[0]),
	.entries = entries,
};
