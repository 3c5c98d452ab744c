/* SPDX-License-Identifier: MIT */
/* A manifest: one that is taken has what the daemon relies on. */
#include "tests/fuzz/target.h"

#include <stdlib.h>
#include <string.h>

#include "lib/plugin/manifest.h"

static void resolve(const struct kp_manifest *manifest)
{
	struct kp_diag diag;
	char *path = NULL;

	if (manifest->masked)
		return;
	target_claim(manifest->library != NULL && manifest->library[0] != '\0');
	if (kp_manifest_library(manifest, "/plugins", &path, &diag) < 0)
		target_is_refused(&diag);
	else
		target_claim(path[0] == '/');
	free(path);
}

static void look(const struct kp_manifest *manifest)
{
	struct kp_manifest copy;

	target_claim(strcmp(manifest->name, "some") == 0);
	target_claim(manifest->timeout_ms <= KP_MANIFEST_TIMEOUT_MOST_MS);
	target_claim(!manifest->config || json_is_object(manifest->config));
	resolve(manifest);
	target_claim(kp_manifest_copy(manifest, &copy) == 0);
	target_claim(strcmp(copy.digest, manifest->digest) == 0);
	kp_manifest_finish(&copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char *text = target_copy(bytes, size);
	struct kp_manifest manifest;
	struct kp_diag diag;

	if (kp_manifest_parse(text, size, "/layer/some.json", &manifest, &diag) < 0) {
		target_is_refused(&diag);
	} else {
		look(&manifest);
		kp_manifest_finish(&manifest);
	}
	free(text);
	return 0;
}
