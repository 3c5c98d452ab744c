/* SPDX-License-Identifier: MIT */
/* What the registry knows of a kernel that is to be run. */
#include "daemon/bench/bench_source.h"

#include <stdlib.h>
#include <string.h>

static char *copy_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? strdup(text) : NULL;
}

void bench_source_finish(struct bench_source *source)
{
	free(source->id);
	free(source->stored);
	free(source->digest);
	free(source->version);
	free(source->closure);
	free(source->solution);
	json_decref(source->config);
	*source = (struct bench_source){0};
}

static char *plugin_of(const char *id)
{
	return strndup(id, strcspn(id, "/"));
}

/* What the plugin says of the kernel: NULL where that is not known. */
static const json_t *find_kernel(const json_t *info, const char *id)
{
	size_t i;
	json_t *kernel;

	json_array_foreach (json_object_get(info, "kernels"), i, kernel) {
		const char *name = json_string_value(json_object_get(kernel, "id"));
		if (name && strcmp(name, id) == 0)
			return kernel;
	}
	return NULL;
}

int bench_source_find(struct bench_source *source, const struct kp_registry *registry,
	const char *id, struct kp_diag *diag)
{
	char *plugin = plugin_of(id);
	json_t *info = plugin ? kp_registry_info_json(registry, plugin) : NULL;
	const struct kp_manifest *manifest =
		plugin ? kp_registry_manifest(registry, plugin) : NULL;
	const json_t *config = json_object_get(info, "config");
	const json_t *kernel = find_kernel(info, id);
	const json_t *priority = json_object_get(kernel, "priority");

	*source = (struct bench_source){
		.id = strdup(id),
		.stored = copy_text(info, "stored"),
		.digest = copy_text(info, "sha256"),
		.version = copy_text(info, "version"),
		.closure = copy_text(info, "closure"),
		.solution = copy_text(kernel, "solution"),
		.priority = json_is_integer(priority) ? (int)json_integer_value(priority)
						      : -1,
		.config = json_is_object(config) ? json_incref((json_t *)config) : NULL,
		.timeout_ms = manifest ? manifest->timeout_ms : KP_MANIFEST_TIMEOUT_MS,
	};
	free(plugin);
	json_decref(info);
	return source->id ? 0 : kp_diag_no_memory(diag);
}
