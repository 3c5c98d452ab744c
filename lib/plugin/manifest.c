/* SPDX-License-Identifier: MIT */
/* Reads the text of one manifest and says where its library is. */
#include "lib/plugin/manifest.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/base/json.h"
#include "lib/base/text.h"
#include "lib/plugin/spec.h"

static const struct kp_json_key manifest_keys[] = {
	{"library", KP_JSON_STRING, true},
	{"config", KP_JSON_OBJECT, false},
	{"sha256", KP_JSON_STRING, false},
	{"timeout_ms", KP_JSON_INTEGER, false},
	{"priority_offset", KP_JSON_INTEGER, false},
	{"enabled", KP_JSON_BOOLEAN, false},
	{"$schema", KP_JSON_STRING, false},
};

static bool climbs(const char *path)
{
	while (*path) {
		size_t length = strcspn(path, "/");
		if (length == 2 && path[0] == '.' && path[1] == '.')
			return true;
		path += length;
		path += strspn(path, "/");
	}
	return false;
}

static int check_library(const char *library, struct kp_diag *diag)
{
	size_t length = strlen(library);

	if (length == 0 || length >= PATH_MAX || library[length - 1] == '/')
		return kp_diag_set(diag, "bad_library", "library",
			"library: \"%.100s\" is not the path of a file", library);
	if (library[0] != '/' && climbs(library))
		return kp_diag_set(diag, "bad_library", "library",
			"library: %.200s leaves the plugin directory; write an absolute "
			"path",
			library);
	return 0;
}

static int read_library(
	const json_t *root, struct kp_manifest *manifest, struct kp_diag *diag)
{
	const char *library = kp_json_text(root, "library");

	if (check_library(library, diag) < 0)
		return -1;
	manifest->library = strdup(library);
	return manifest->library ? 0 : kp_diag_no_memory(diag);
}

static int read_config(
	const json_t *root, struct kp_manifest *manifest, struct kp_diag *diag)
{
	json_t *config = json_object_get(root, "config");

	if (!config)
		return 0;
	size_t size = json_dumpb(config, NULL, 0, JSON_COMPACT);
	if (size > KP_MANIFEST_CONFIG_BYTES)
		return kp_diag_set(diag, "config_too_large", "config",
			"config: %zu bytes, a plugin's configuration has at most %d",
			size, KP_MANIFEST_CONFIG_BYTES);
	manifest->config = json_incref(config);
	return 0;
}

static int read_sha256(
	const json_t *root, struct kp_manifest *manifest, struct kp_diag *diag)
{
	static const char hex[] = "0123456789abcdefABCDEF";
	const char *text = kp_json_text(root, "sha256");

	if (!text)
		return 0;
	if (strlen(text) != 64 || strspn(text, hex) != 64)
		return kp_diag_set(diag, "bad_digest", "sha256",
			"sha256: 64 hexadecimal digits expected, not \"%.100s\"", text);
	for (size_t i = 0; i < 64; i++)
		manifest->sha256[i] =
			(char)(text[i] >= 'A' && text[i] <= 'F' ? text[i] - 'A' + 'a'
								: text[i]);
	return 0;
}

static int read_number(const json_t *root, const char *key, const char *code, int least,
	int most, int *number, struct kp_diag *diag)
{
	const json_t *value = json_object_get(root, key);
	json_int_t given = json_integer_value(value);

	if (!value)
		return 0;
	if (given < least || given > most)
		return kp_diag_set(diag, code, key,
			"%s: an integer from %d to %d expected, not "
			"%" JSON_INTEGER_FORMAT,
			key, least, most, given);
	*number = (int)given;
	return 0;
}

static int read_root(
	const json_t *root, struct kp_manifest *manifest, struct kp_diag *diag)
{
	int timeout = KP_MANIFEST_TIMEOUT_MS;

	if (kp_json_check(root, "", manifest_keys,
		    sizeof(manifest_keys) / sizeof(manifest_keys[0]), NULL, diag) < 0 ||
		read_library(root, manifest, diag) < 0 ||
		read_config(root, manifest, diag) < 0 ||
		read_sha256(root, manifest, diag) < 0 ||
		read_number(root, "timeout_ms", "bad_timeout", 1,
			KP_MANIFEST_TIMEOUT_MOST_MS, &timeout, diag) < 0 ||
		read_number(root, "priority_offset", "bad_priority_offset",
			1 - KP_PRIORITY_END, KP_PRIORITY_END - 1,
			&manifest->priority_offset, diag) < 0)
		return -1;
	manifest->timeout_ms = (unsigned)timeout;
	manifest->enabled = !json_is_false(json_object_get(root, "enabled"));
	return 0;
}

int kp_manifest_begin(const char *text, size_t size, const char *path,
	struct kp_manifest *manifest, struct kp_diag *diag)
{
	size_t length;
	const char *name = kp_text_stem(path, ".json", &length);

	*manifest = (struct kp_manifest){
		.timeout_ms = KP_MANIFEST_TIMEOUT_MS, .enabled = true};
	kp_hash_print(text, size, manifest->digest);
	manifest->name = strndup(name, length);
	manifest->path = strdup(path);
	if (manifest->name && manifest->path)
		return 0;
	kp_manifest_finish(manifest);
	return kp_diag_no_memory(diag);
}

int kp_manifest_parse(const char *text, size_t size, const char *path,
	struct kp_manifest *manifest, struct kp_diag *diag)
{
	struct kp_manifest read;
	json_t *root;

	if (size > KP_MANIFEST_BYTES) {
		kp_diag_set(diag, "file_too_large", path,
			"%zu bytes, a manifest has at most %d", size, KP_MANIFEST_BYTES);
		return kp_diag_at(diag, path, 0, 0);
	}
	if (kp_json_parse(text, size, path, &root, diag) < 0)
		return -1;
	int result = kp_manifest_begin(text, size, path, &read, diag);
	if (result == 0 && (result = read_root(root, &read, diag)) < 0) {
		kp_manifest_finish(&read);
		kp_json_place(diag, text, size, path);
	}
	json_decref(root);
	if (result == 0)
		*manifest = read;
	return result;
}

int kp_manifest_library(const struct kp_manifest *manifest, const char *plugin_dir,
	char **path, struct kp_diag *diag)
{
	char *whole;

	if (check_library(manifest->library, diag) < 0)
		return -1;
	if (manifest->stored)
		whole = strdup(manifest->stored->path);
	else if (manifest->library[0] == '/')
		whole = strdup(manifest->library);
	else if (asprintf(&whole, "%s/%s", plugin_dir, manifest->library) < 0)
		whole = NULL;
	if (!whole)
		return kp_diag_no_memory(diag);
	*path = whole;
	return 0;
}

static struct kp_manifest_stored *make_stored(
	const char *path, const char *closure, const char *digest)
{
	size_t size = strlen(path) + 1;
	struct kp_manifest_stored *stored = malloc(sizeof(*stored) + size);

	if (!stored)
		return NULL;
	(void)snprintf(stored->closure, sizeof(stored->closure), "%s", closure);
	(void)snprintf(stored->digest, sizeof(stored->digest), "%s", digest);
	memcpy(stored->path, path, size);
	return stored;
}

int kp_manifest_store(struct kp_manifest *manifest, const char *path, const char *closure,
	const char *digest)
{
	struct kp_manifest_stored *stored =
		closure ? make_stored(path, closure, digest) : NULL;

	if (closure && !stored)
		return -1;
	free(manifest->stored);
	manifest->stored = stored;
	return 0;
}

bool kp_manifest_same_stored(const struct kp_manifest *a, const struct kp_manifest *b)
{
	if (!a->stored || !b->stored)
		return !a->stored && !b->stored;
	return strcmp(a->stored->path, b->stored->path) == 0 &&
	       strcmp(a->stored->closure, b->stored->closure) == 0;
}

/* A copy of what may be NULL; `failed` says when memory was exhausted. */
static char *copy_text(const char *text, bool *failed)
{
	char *copy = text ? strdup(text) : NULL;
	*failed |= text && !copy;
	return copy;
}

int kp_manifest_copy(const struct kp_manifest *from, struct kp_manifest *to)
{
	struct kp_manifest copy = *from;
	bool failed = false;

	copy.name = copy_text(from->name, &failed);
	copy.path = copy_text(from->path, &failed);
	copy.library = copy_text(from->library, &failed);
	copy.config = json_incref(from->config);
	copy.stored = NULL;
	copy.error = NULL;
	if (from->stored)
		failed |= kp_manifest_store(&copy, from->stored->path,
				  from->stored->closure, from->stored->digest) < 0;
	if (from->error) {
		copy.error = malloc(sizeof(*copy.error));
		failed |= !copy.error;
		if (copy.error)
			*copy.error = *from->error;
	}
	if (failed) {
		kp_manifest_finish(&copy);
		return -1;
	}
	*to = copy;
	return 0;
}

void kp_manifest_finish(struct kp_manifest *manifest)
{
	if (!manifest)
		return;
	free(manifest->name);
	free(manifest->path);
	free(manifest->library);
	json_decref(manifest->config);
	free(manifest->stored);
	free(manifest->error);
	*manifest = (struct kp_manifest){0};
}
