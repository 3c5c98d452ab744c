/* SPDX-License-Identifier: MIT */
/* Options and a configuration file; verifies nothing. */
#include "cmd/signed.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/file.h"
#include "lib/base/json.h"
#include "lib/base/owned.h"
#include "lib/base/place.h"

enum { CONFIG_BYTES = 1 << 20 };

/* ---- the configuration ----------------------------------------------------------- */

/* Below the configuration's directory where it is relative; malloc'ed. */
static char *below(const char *config, const char *path)
{
	const char *slash = strrchr(config, '/');
	char *whole;

	if (path[0] == '/' || !slash)
		return strdup(path);
	return asprintf(&whole, "%.*s/%s", (int)(slash - config), config, path) < 0
		       ? NULL
		       : whole;
}

static json_t *read_config(const char *path)
{
	owned_text text = NULL;
	size_t size;
	json_t *root = NULL;

	if (kp_file_read(AT_FDCWD, path, CONFIG_BYTES, &text, &size, NULL) < 0 ||
		kp_json_parse(text, size, path, &root, NULL) < 0)
		return NULL;
	return root;
}

/* What is no policy stops plugind, and is told by `doctor`. */
static int take_config(const char *path, struct signed_wish *wish)
{
	owned_json *root = read_config(path);
	const char *keys = kp_json_text(root, "trusted_keys");
	size_t i;
	json_t *item;

	json_array_foreach (json_object_get(root, "signatures"), i, item)
		if (json_is_string(item))
			(void)!kp_signing_add(&wish->signing, json_string_value(item));
	wish->keys = below(path, keys ? keys : "trusted-keys.d");
	return wish->keys ? 0 : -1;
}

/* ---- options --------------------------------------------------------------------- */

/* As whoever walks to it needs it; malloc'ed. */
static char *absolute(const char *path)
{
	owned_text here = path[0] == '/' ? NULL : getcwd(NULL, 0);
	char *whole;

	if (!here)
		return strdup(path);
	return asprintf(&whole, "%s/%s", here, path) < 0 ? NULL : whole;
}

static int add_policy(const char *policy, struct signed_wish *wish, struct kp_diag *diag)
{
	int result = kp_signing_add(&wish->signing, policy);

	if (result == 0)
		return 0;
	return kp_diag_set(diag, "usage", "signatures", "--signatures %.200s: %s", policy,
		result == -1 ? "off, warn or require expected, or one of them behind an "
			       "absolute directory and ="
			     : "there are more than 64, or memory is exhausted");
}

static int take_options(
	const struct arguments *arguments, struct signed_wish *wish, struct kp_diag *diag)
{
	const char *keys = arguments_value(arguments, "trusted-keys");
	const char *policy;
	size_t at = 0;

	if (arguments_has(arguments, "signatures"))
		kp_signing_finish(&wish->signing);
	while ((policy = arguments_next(arguments, "signatures", &at)))
		if (add_policy(policy, wish, diag) < 0)
			return -1;
	if (!keys)
		return 0;
	free(wish->keys);
	wish->keys = absolute(keys);
	return wish->keys ? 0 : kp_diag_no_memory(diag);
}

int signed_read(
	const struct arguments *arguments, struct signed_wish *wish, struct kp_diag *diag)
{
	owned_text config = kp_place_config_file(true);

	*wish = (struct signed_wish){0};
	if (!config || take_config(config, wish) < 0)
		return kp_diag_no_memory(diag);
	return arguments ? take_options(arguments, wish, diag) : 0;
}

void signed_finish(struct signed_wish *wish)
{
	kp_signing_finish(&wish->signing);
	free(wish->keys);
	wish->keys = NULL;
}
