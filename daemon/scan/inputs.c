/* SPDX-License-Identifier: MIT */
/* Reading of families and platform, with words for what is wrong. */
#include "daemon/scan/inputs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/file.h"
#include "lib/base/json.h"
#include "lib/base/owned.h"

enum { PLATFORM_BYTES = 1 << 20 };

static int check_worker(const char *path, struct kp_diag *diag)
{
	struct stat st;

	if (stat(path, &st) < 0 || access(path, X_OK) < 0)
		return kp_diag_set(diag, "bad_worker", path,
			"cannot run the worker %s: %s", path, strerror(errno));
	if (S_ISREG(st.st_mode))
		return 0;
	return kp_diag_set(
		diag, "bad_worker", path, "the worker %s is not a regular file", path);
}

static int read_families(const char *dir, struct kp_families *families,
	struct kp_diags *warnings, struct kp_diag *diag)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return kp_diag_set(diag, "bad_families_dir", dir,
			"cannot read the directory of families %s: %s", dir,
			strerror(errno));
	(void)close(fd);
	if (kp_families_read(dir, families, warnings) < 0)
		return kp_diag_no_memory(diag);
	return 0;
}

const char *inputs_root(const struct options *options)
{
	return options->devices_root ? options->devices_root : "";
}

static int read_platform(
	const struct options *options, struct kp_platform *platform, struct kp_diag *diag)
{
	const char *path = options->platform;
	char *text = NULL;
	size_t size = 0;
	json_t *value = NULL;
	int result = -1;

	if (!path)
		return kp_platform_detect(inputs_root(options), platform, diag);
	if (kp_file_read(AT_FDCWD, path, PLATFORM_BYTES, &text, &size, diag) == 0 &&
		kp_json_parse(text, size, path, &value, diag) == 0) {
		result = kp_platform_from_json(value, platform, diag);
		if (result < 0)
			kp_json_place(diag, text, size, path);
	}
	json_decref(value);
	free(text);
	return result;
}

int inputs_read(const struct options *options, struct kp_families *families,
	struct kp_platform *platform, struct kp_diags *warnings, struct kp_diag *diag)
{
	*families = (struct kp_families){0};
	*platform = (struct kp_platform){0};
	if (check_worker(options->worker, diag) < 0 ||
		read_families(options->families_dir, families, warnings, diag) < 0)
		return -1;
	if (read_platform(options, platform, diag) == 0)
		return 0;
	kp_families_finish(families);
	*families = (struct kp_families){0};
	return -1;
}

/* A GPU that has just been woken up has a UUID, and is the same; who has it counts. */
static int put_device(json_t *object, const struct kp_device_facts *device)
{
	static const char *const found[] = {"uuid", "name", "memory_bytes"};

	for (size_t i = 0; i < KP_COUNT(found); i++)
		(void)json_object_del(object, found[i]);
	return json_object_set_new(object, "bound", json_string(device->bound));
}

char *inputs_platform_key(const struct kp_platform *platform)
{
	json_t *value = kp_platform_json(platform);
	json_t *devices = json_object_get(value, "devices");
	int failed = value ? 0 : -1;

	for (size_t i = 0; !failed && i < platform->n_devices; i++)
		failed = put_device(json_array_get(devices, i), &platform->devices[i]);
	char *text = failed ? NULL : kp_json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS);
	json_decref(value);
	return text;
}

static void look_for_dir(const char *what, const char *path, struct kp_diags *remarks)
{
	struct kp_diag diag;
	struct stat st;
	int error = stat(path, &st) < 0 ? errno : S_ISDIR(st.st_mode) ? 0 : ENOTDIR;

	if (!error)
		return;
	kp_diag_set(&diag, "missing_directory", path,
		"the directory of %s %s: %s; nothing is found there", what, path,
		strerror(error));
	kp_diags_add(remarks, &diag);
}

static bool is_asked(const struct kp_signing *signing)
{
	for (size_t i = 0; i < signing->count; i++)
		if (signing->rules[i].policy != KP_SIGNING_OFF)
			return true;
	return false;
}

/* Slashes at the end of a rule's directory are gone already. */
static bool has_layer(const struct options *options, const char *dir)
{
	size_t length = strlen(dir);

	for (size_t i = 0; i < options->n_manifest_dirs; i++) {
		const char *layer = options->manifest_dirs[i];
		if (strncmp(layer, dir, length) == 0 &&
			strspn(layer + length, "/") == strlen(layer + length))
			return true;
	}
	return false;
}

/* A policy that a wrong letter takes from its directory would be missed by nobody. */
void inputs_look_at_signing(const struct options *options, struct kp_diags *warnings)
{
	const struct kp_signing *signing = &options->signing;
	struct kp_diag diag;

	for (size_t i = 0; i < signing->count; i++) {
		const struct kp_signing_rule *rule = &signing->rules[i];
		if (!rule->dir || has_layer(options, rule->dir))
			continue;
		kp_diag_set(&diag, "policy_of_no_layer", rule->dir,
			"signatures: %s=%s holds for no plugin: %s is none of the "
			"directories of manifests; write it as in manifest_dir",
			rule->dir, kp_signing_policy_name(rule->policy), rule->dir);
		kp_diags_add(warnings, &diag);
	}
}

void inputs_look_for_dirs(const struct options *options, struct kp_diags *remarks)
{
	for (size_t i = 0; i < options->n_manifest_dirs && !options->has_usual_dirs; i++)
		look_for_dir("manifests", options->manifest_dirs[i], remarks);
	if (!options->has_usual_plugin_dir)
		look_for_dir("plugins", options->plugin_dir, remarks);
	if (is_asked(&options->signing))
		look_for_dir("trusted keys", options->signing.trusted, remarks);
}
