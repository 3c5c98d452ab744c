/* SPDX-License-Identifier: MIT */
/* plugind's configuration file: what is taken leaves nothing open. */
#include "tests/fuzz/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/options.h"

static void look(const struct options *options)
{
	target_claim(options->n_manifest_dirs > 0);
	for (size_t i = 0; i < options->n_manifest_dirs; i++)
		target_claim(options->manifest_dirs[i][0] == '/');
	target_claim(options->state_dir[0] == '/' && options->cache_dir[0] == '/');
	target_claim(options->worker[0] == '/' && options->families_dir[0] == '/');
	target_claim(strlen(options->socket) <= SOCKET_PATH_MOST);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	const char *directory = target_file("plugind.json", bytes, size);
	char path[512], program[] = "plugind", config[] = "--config";
	char *arguments[] = {program, config, path, NULL};
	struct options options;
	struct kp_diag diag;

	(void)snprintf(path, sizeof(path), "%s/plugind.json", directory);
	if (options_read(3, arguments, &options, &diag) < 0) {
		target_is_refused(&diag);
		return 0;
	}
	look(&options);
	options_finish(&options);
	return 0;
}
