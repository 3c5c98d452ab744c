/* SPDX-License-Identifier: MIT */
/* Reads the file's JSON, key by key of the table of settings. */
#include "daemon/config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/setting.h"
#include "lib/base/file.h"
#include "lib/base/json.h"
#include "lib/base/owned.h"
#include "lib/base/place.h"
#include "lib/base/trust.h"

enum { CONFIG_BYTES = 1 << 20 };

/* "manifest-dir" as a key of the file. */
static const char *key_of(const struct setting *setting, char *key, size_t size)
{
	(void)snprintf(key, size, "%s", setting->name);
	for (char *at = key; *at; at++)
		if (*at == '-')
			*at = '_';
	return key;
}

static unsigned types_of(const struct setting *setting)
{
	return setting->kind == SETTING_PATHS || setting->kind == SETTING_SIGNING
		       ? KP_JSON_ARRAY
	       : setting->kind == SETTING_SWITCH ? KP_JSON_BOOLEAN
	       : setting_is_number(setting)	 ? KP_JSON_INTEGER
						 : KP_JSON_STRING;
}

static int check_keys(const json_t *root, struct kp_diag *diag)
{
	static const struct kp_json_key none;
	struct kp_json_key keys[SETTINGS_MOST] = {none};
	char names[SETTINGS_MOST][SETTING_NAME];
	size_t n = 0;

	for (size_t i = 0; i < settings_count; i++) {
		if (settings[i].not_in_file)
			continue;
		key_of(&settings[i], names[n], SETTING_NAME);
		keys[n] = (struct kp_json_key){names[n], types_of(&settings[i]), false};
		n++;
	}
	return kp_json_check(root, "", keys, n, NULL, diag);
}

/* The object of a diagnostic is the item, so that its place can be found. */
static int apply_paths(struct options *options, const struct setting *setting,
	const char *key, const char *base, const json_t *array, struct kp_diag *diag)
{
	for (size_t i = 0; i < json_array_size(array); i++) {
		const json_t *item = json_array_get(array, i);
		char path[64];
		(void)snprintf(path, sizeof(path), "%s[%zu]", key, i);
		if (!json_is_string(item))
			return kp_json_wrong_type(diag, path, item, KP_JSON_STRING);
		if (setting_set(options, setting, path, base, json_string_value(item),
			    diag) < 0)
			return -1;
	}
	return 0;
}

static int apply_value(struct options *options, const struct setting *setting,
	const char *key, const char *base, const json_t *value, struct kp_diag *diag)
{
	char number[32];

	if (setting->kind == SETTING_SWITCH) {
		*(bool *)setting_member(options, setting) = json_is_true(value);
		return 0;
	}
	if (setting->kind == SETTING_PATHS || setting->kind == SETTING_SIGNING)
		return apply_paths(options, setting, key, base, value, diag);
	(void)snprintf(
		number, sizeof(number), "%lld", (long long)json_integer_value(value));
	return setting_set(options, setting, key, base,
		setting_is_number(setting) ? number : json_string_value(value), diag);
}

static int apply_file(struct options *options, const json_t *root, const char *base,
	struct kp_diag *diag)
{
	if (check_keys(root, diag) < 0)
		return -1;
	for (size_t i = 0; i < settings_count; i++) {
		char key[SETTING_NAME];
		const json_t *value =
			json_object_get(root, key_of(&settings[i], key, sizeof(key)));
		if (!value || settings[i].not_in_file ||
			setting_is_set(options, &settings[i]))
			continue;
		if (apply_value(options, &settings[i], key, base, value, diag) < 0)
			return -1;
	}
	return 0;
}

/* It says which programs run: as ssh does with its own, only files of ours count. */
static int open_file(const char *path, const struct kp_trust *trust, struct kp_diag *diag)
{
	struct stat st;
	int fd = kp_file_open(AT_FDCWD, path, &st, diag);

	if (fd >= 0 && kp_trust_file(trust, fd, &st, path, diag) < 0)
		kp_file_close(&fd);
	return fd;
}

/* Of a daemon of all users, as far as is known by now, all on the way to it as well. */
static int check_way(
	const struct options *options, const char *path, struct kp_diag *diag)
{
	struct kp_trust trust;

	if (!options->system)
		return 0;
	kp_trust_ask(&trust, true);
	return kp_trust_path(&trust, path, diag);
}

static int read_file(struct options *options, const char *path, struct kp_diag *diag)
{
	struct kp_trust trust;
	kp_trust_ask(&trust, options->system);
	owned_fd fd = open_file(path, &trust, diag);
	char *text = NULL;
	size_t size = 0;
	json_t *root = NULL;
	char *base = strdup(path);
	int result = -1;

	if (!base) {
		kp_diag_no_memory(diag);
	} else if (fd >= 0 &&
		   kp_file_read_open(fd, path, CONFIG_BYTES, &text, &size, diag) == 0 &&
		   kp_json_parse(text, size, path, &root, diag) == 0) {
		*strrchr(base, '/') = '\0';
		result = apply_file(options, root, base, diag);
		if (result < 0)
			kp_json_place(diag, text, size, path);
		else
			result = check_way(options, path, diag);
	}
	json_decref(root);
	free(text);
	free(base);
	return result;
}

int config_read(struct options *options, struct kp_diag *diag)
{
	if (options->config)
		return read_file(options, options->config, diag);
	options->config = kp_place_config_file(options->system);
	if (!options->config)
		return 0;
	if (access(options->config, F_OK) == 0)
		return read_file(options, options->config, diag);
	free(options->config);
	options->config = NULL;
	return 0;
}
