/* SPDX-License-Identifier: MIT */
/* The x86 plugin: which kernels it has. Knows nothing of what they compute. */
#include "kernels.h"

KPLUG_PLUGIN_NOTE("plugin.json");

/* In a macro, since an entry is the same four fields for every kernel. */
#define ENTRY(kernel)                                                                    \
	{                                                                                \
		KP_SIZED(struct kp_entry), KP_ENTRY_KERNEL, 0, #kernel, &(kernel)        \
	}

static const struct kp_entry all[] = {
	ENTRY(activation_silu_mul),
	ENTRY(activation_silu_mul_avx512),
	ENTRY(attention_decode),
	ENTRY(elementwise_square),
	ENTRY(gemm_mm),
	ENTRY(gemm_mm_avx512),
	ENTRY(norm_rms),
	ENTRY(norm_rms_avx512),
	ENTRY(norm_softmax),
	ENTRY(norm_softmax_avx512),
};

static const struct kp_entry *const entries[] = {&all[0], &all[1], &all[2], &all[3],
	&all[4], &all[5], &all[6], &all[7], &all[8], &all[9]};

KPLUG_PLUGIN_EXPORT const struct kp_plugin kplug_plugin = {
	KP_SIZED(struct kp_plugin),
	.abi_major = KP_ABI_MAJOR,
	.abi_minor = KP_ABI_MINOR,
	.abi_needed = 0,
	.n_entries = sizeof(entries) / sizeof(entries[0]),
	.entries = entries,
};
