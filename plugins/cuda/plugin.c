/* SPDX-License-Identifier: MIT */
/* The cuda plugin: its kernels and its configuration. */
#include <stdlib.h>

#include "config.h"
#include "failure.h"
#include "kernels.h"

KPLUG_PLUGIN_NOTE("plugin.json");

static int start(const struct kp_host *host, const char *config_json, void **state,
	struct kp_error *error)
{
	struct config *config = calloc(1, sizeof(*config));
	int status;

	(void)host;
	if (!config)
		return failure(error, KP_NO_MEMORY, 0, "no memory for the configuration");
	status = config_parse(config_json ? config_json : "{}", config, error);
	if (status != KP_OK) {
		free(config);
		return status;
	}
	*state = config;
	return KP_OK;
}

static void stop(void *state)
{
	free(state);
}

/* In a macro, since an entry is the same four fields for every kernel. */
#define ENTRY(kernel)                                                                    \
	{                                                                                \
		KP_SIZED(struct kp_entry), KP_ENTRY_KERNEL, 0, #kernel, &(kernel)        \
	}

static const struct kp_entry all[] = {
	ENTRY(activation_silu_mul),
	ENTRY(attention_decode),
	ENTRY(elementwise_square),
	ENTRY(gemm_mm_cublaslt),
	ENTRY(gemm_mm_mma),
	ENTRY(gemm_mm_tiled),
	ENTRY(norm_rms),
	ENTRY(norm_softmax),
};

static const struct kp_entry *const entries[] = {
	&all[0], &all[1], &all[2], &all[3], &all[4], &all[5], &all[6], &all[7]};

KPLUG_PLUGIN_EXPORT const struct kp_plugin kplug_plugin = {
	KP_SIZED(struct kp_plugin),
	.abi_major = KP_ABI_MAJOR,
	.abi_minor = KP_ABI_MINOR,
	.abi_needed = 0,
	.n_entries = sizeof(entries) / sizeof(entries[0]),
	.entries = entries,
	.start = start,
	.stop = stop,
};
