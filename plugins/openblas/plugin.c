/* SPDX-License-Identifier: MIT */
/* The openblas plugin: its kernel and its configuration. */
#include <stdlib.h>

#include "config.h"
#include "failure.h"
#include "gemm_mm.h"

KPLUG_PLUGIN_NOTE("plugin.json");

static int start(const struct kp_host *host, const char *config_json, void **state,
	struct kp_error *error)
{
	struct config *config = calloc(1, sizeof(*config));
	int status;

	(void)host;
	if (!config)
		return failure(error, KP_NO_MEMORY, "no memory for the configuration");
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

static const struct kp_entry mm = {
	KP_SIZED(struct kp_entry), KP_ENTRY_KERNEL, 0, "gemm_mm", &gemm_mm};
static const struct kp_entry *const entries[] = {&mm};

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
