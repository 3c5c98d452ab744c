/* SPDX-License-Identifier: MIT */
/* One table of options for the command line, the file and the help. */
#include "daemon/options.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/defaults.h"
#include "installed.h"
#include "lib/base/file.h"
#include "lib/base/json.h"
#include "lib/base/place.h"

enum { CONFIG_BYTES = 1 << 20, LISTED_MOST = 64, NAME_BYTES = 32 };
enum { MS_MOST = 600000, COUNT_MOST = 16, S_MOST = 31536000, MIB_MOST = 1 << 20 };

enum kind {
	KIND_PATH,
	KIND_PATHS,
	KIND_LEVEL,
	KIND_MS,
	KIND_COUNT,
	KIND_S,
	KIND_MIB,
	KIND_SWITCH,
	KIND_ACTION
};

struct row {
	const char *name; /* of the command line; the file has _ for - */
	enum kind kind;
	size_t offset; /* in struct options */
	int action;    /* KIND_ACTION: not in the file */
	bool not_in_file;
	const char *argument;
	const char *help;
};

#define AT(member) offsetof(struct options, member)

static const struct row rows[] = {
	{"config", KIND_PATH, AT(config), 0, true, "FILE",
		"read this file; the command line beats it"},
	{"manifest-dir", KIND_PATHS, AT(manifest_dirs), 0, false, "DIR",
		"a layer of manifests, highest first (repeat it)"},
	{"plugin-dir", KIND_PATH, AT(plugin_dir), 0, false, "DIR",
		"where libraries without a path are"},
	{"families-dir", KIND_PATH, AT(families_dir), 0, false, "DIR",
		"contracts of operations"},
	{"state-dir", KIND_PATH, AT(state_dir), 0, false, "DIR",
		"decisions, store and table; one daemon each"},
	{"cache-dir", KIND_PATH, AT(cache_dir), 0, false, "DIR", "results of probes"},
	{"socket", KIND_PATH, AT(socket), 0, false, "PATH", "listen here"},
	{"worker", KIND_PATH, AT(worker), 0, false, "PATH", "the plugin-worker to run"},
	{"platform", KIND_PATH, AT(platform), 0, false, "FILE",
		"devices from a JSON file instead of this machine's"},
	{"devices-root", KIND_PATH, AT(devices_root), 0, false, "DIR",
		"look for devices in DIR/sys and DIR/proc"},
	{"nvml", KIND_PATH, AT(nvml), 0, false, "FILE",
		"NVIDIA's management library, not the usual one"},
	{"driver-timeout-ms", KIND_MS, AT(driver_timeout_ms), 0, false, "N",
		"how long a GPU's driver may take to tell of it (30000)"},
	{"strikes", KIND_COUNT, AT(strikes), 0, false, "N",
		"quarantine a kernel that crashed applications so often (3)"},
	{"strike-window-s", KIND_S, AT(strike_window_s), 0, false, "N",
		"within so many seconds (86400)"},
	{"no-quarantine", KIND_SWITCH, AT(no_quarantine), 0, false, NULL,
		"keep incidents, and turn no kernel off for them"},
	{"history", KIND_COUNT, AT(history), 0, false, "N",
		"keep so many generations of each plugin in the store (3)"},
	{"history-mib", KIND_MIB, AT(history_mib), 0, false, "N",
		"as long as all that do not run take so many MiB at most (1024)"},
	{"log-level", KIND_LEVEL, AT(log_level), 0, false, "LEVEL",
		"error, warning, info (default) or debug"},
	{"system", KIND_SWITCH, AT(system), 0, false, NULL,
		"serve all users; roles by uid and the group kplug"},
	{"transient", KIND_SWITCH, AT(transient), 0, true, NULL,
		"end when the last client has gone, or none has come"},
	{"check-config", KIND_ACTION, 0, OPTIONS_CHECK, true, NULL,
		"say what is wrong with the configuration, start nothing"},
	{"help", KIND_ACTION, 0, OPTIONS_HELP, true, NULL, "this text"},
	{"version", KIND_ACTION, 0, OPTIONS_VERSION, true, NULL, "the version"},
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static void *member(struct options *options, const struct row *row)
{
	return (char *)options + row->offset;
}

static int usage(struct kp_diag *diag, const char *object, const char *message)
{
	return kp_diag_set(diag, "usage", object, "%s: %s", object, message);
}

/* `path` below `base` (NULL: the working directory), malloc'ed. */
static int absolute(const char *base, const char *path, char **out, struct kp_diag *diag)
{
	char *here = NULL;
	char *joined = NULL;

	if (path[0] == '/') {
		joined = strdup(path);
	} else {
		here = base ? strdup(base) : getcwd(NULL, 0);
		if (here && asprintf(&joined, "%s/%s", here, path) < 0)
			joined = NULL;
	}
	free(here);
	if (!joined)
		return kp_diag_no_memory(diag);
	*out = joined;
	return 0;
}

static int set_path(struct options *options, const struct row *row, const char *base,
	const char *value, struct kp_diag *diag)
{
	char **at = member(options, row);
	char *path = NULL;

	if (!value[0])
		return usage(diag, row->name, "the path is empty");
	if (absolute(base, value, &path, diag) < 0)
		return -1;
	free(*at);
	*at = path;
	return 0;
}

static int add_dir(struct options *options, const char *base, const char *value,
	struct kp_diag *diag)
{
	if (!value[0])
		return usage(diag, "manifest-dir", "the path is empty");
	if (options->n_manifest_dirs >= LISTED_MOST)
		return usage(diag, "manifest-dir", "more than 64 directories");
	char **dirs = reallocarray(
		options->manifest_dirs, options->n_manifest_dirs + 2, sizeof(*dirs));
	if (!dirs)
		return kp_diag_no_memory(diag);
	options->manifest_dirs = dirs;
	if (absolute(base, value, &dirs[options->n_manifest_dirs], diag) < 0)
		return -1;
	dirs[++options->n_manifest_dirs] = NULL;
	return 0;
}

static int set_level(struct options *options, const char *value, struct kp_diag *diag)
{
	if (log_level_parse(value, &options->log_level))
		return 0;
	return kp_diag_set(diag, "bad_log_level", "log-level",
		"log-level: \"%s\" is none of error, warning, info, debug", value);
}

/* Numbers, by what they count; all of them from 1 on. */
static const struct {
	const char *of;
	unsigned most;
} bounds[] = {
	[KIND_MS] = {" of milliseconds", MS_MOST},
	[KIND_COUNT] = {"", COUNT_MOST},
	[KIND_S] = {" of seconds", S_MOST},
	[KIND_MIB] = {" of MiB", MIB_MOST},
};

static bool is_number(const struct row *row)
{
	return row->kind == KIND_MS || row->kind == KIND_COUNT || row->kind == KIND_S ||
	       row->kind == KIND_MIB;
}

static int set_number(unsigned *at, const struct row *row, const char *name,
	const char *value, struct kp_diag *diag)
{
	unsigned most = bounds[row->kind].most;
	char text[96];
	char *end;

	errno = 0;
	unsigned long number = strtoul(value, &end, 10);
	if (value[0] >= '0' && value[0] <= '9' && !*end && !errno && number >= 1 &&
		number <= most) {
		*at = (unsigned)number;
		return 0;
	}
	(void)snprintf(text, sizeof(text), "a number%s from 1 to %u expected",
		bounds[row->kind].of, most);
	return usage(diag, name, text);
}

static int set(struct options *options, const struct row *row, const char *base,
	const char *value, struct kp_diag *diag)
{
	switch (row->kind) {
	case KIND_PATH:
		return set_path(options, row, base, value, diag);
	case KIND_PATHS:
		return add_dir(options, base, value, diag);
	case KIND_LEVEL:
		return set_level(options, value, diag);
	case KIND_MS:
	case KIND_COUNT:
	case KIND_S:
	case KIND_MIB:
		return set_number(member(options, row), row, row->name, value, diag);
	case KIND_SWITCH:
		*(bool *)member(options, row) = true;
		return 0;
	case KIND_ACTION:
		options->action = (enum options_action)row->action;
		return 0;
	}
	return 0;
}

static int read_command_line(
	int argc, char **argv, struct options *options, struct kp_diag *diag)
{
	struct option longs[ROWS + 1] = {{0}};
	int which;

	for (size_t i = 0; i < ROWS; i++)
		longs[i] = (struct option){rows[i].name,
			rows[i].argument ? required_argument : no_argument, NULL,
			(int)i + 256};
	opterr = 0;
	optind = 0;
	while ((which = getopt_long(argc, argv, "+:h", longs, NULL)) >= 0) {
		if (which == 'h')
			options->action = OPTIONS_HELP;
		else if (which == ':')
			return usage(diag, argv[optind - 1], "an argument is missing");
		else if (which < 256)
			return usage(
				diag, argv[optind - 1], "no such option, see --help");
		else if (set(options, &rows[which - 256], NULL, optarg, diag) < 0)
			return -1;
	}
	if (optind < argc)
		return usage(diag, argv[optind], "not an option, see --help");
	return 0;
}

/* "manifest-dir" as a key of the file. */
static const char *key_of(const struct row *row, char *key, size_t size)
{
	(void)snprintf(key, size, "%s", row->name);
	for (char *at = key; *at; at++)
		if (*at == '-')
			*at = '_';
	return key;
}

static unsigned types_of(const struct row *row)
{
	return row->kind == KIND_PATHS	  ? KP_JSON_ARRAY
	       : row->kind == KIND_SWITCH ? KP_JSON_BOOLEAN
	       : is_number(row)		  ? KP_JSON_INTEGER
					  : KP_JSON_STRING;
}

static int check_keys(const json_t *root, struct kp_diag *diag)
{
	static const struct kp_json_key none;
	struct kp_json_key keys[ROWS] = {none};
	char names[ROWS][NAME_BYTES];
	size_t n = 0;

	for (size_t i = 0; i < ROWS; i++) {
		if (rows[i].not_in_file)
			continue;
		key_of(&rows[i], names[n], NAME_BYTES);
		keys[n] = (struct kp_json_key){names[n], types_of(&rows[i]), false};
		n++;
	}
	return kp_json_check(root, "", keys, n, NULL, diag);
}

/* The object of a diagnostic is the key, so that its place can be found. */
static int apply_value(struct options *options, const struct row *row, const char *key,
	const char *base, const json_t *value, struct kp_diag *diag)
{
	if (row->kind == KIND_SWITCH) {
		*(bool *)member(options, row) = json_is_true(value);
		return 0;
	}
	if (is_number(row)) {
		char text[32];
		(void)snprintf(
			text, sizeof(text), "%lld", (long long)json_integer_value(value));
		return set_number(member(options, row), row, key, text, diag);
	}
	if (row->kind == KIND_PATHS) {
		for (size_t i = 0; i < json_array_size(value); i++) {
			const json_t *item = json_array_get(value, i);
			char path[64];
			(void)snprintf(path, sizeof(path), "%s[%zu]", key, i);
			if (!json_is_string(item))
				return kp_json_wrong_type(
					diag, path, item, KP_JSON_STRING);
			if (add_dir(options, base, json_string_value(item), diag) < 0)
				return kp_diag_set(diag, "usage", path, "%s: %s", path,
					"not a usable path");
		}
		return 0;
	}
	struct kp_diag own;
	if (set(options, row, base, json_string_value(value), &own) == 0)
		return 0;
	return kp_diag_set(diag, own.code, key, "%s", own.message);
}

/* What the command line has already said stays. */
static bool is_set(struct options *options, const struct row *row)
{
	switch (row->kind) {
	case KIND_PATH:
	case KIND_PATHS:
		return *(void **)member(options, row) != NULL;
	case KIND_LEVEL:
		return options->log_level != 0;
	case KIND_MS:
	case KIND_COUNT:
	case KIND_S:
	case KIND_MIB:
		return *(unsigned *)member(options, row) != 0;
	case KIND_SWITCH:
		return *(bool *)member(options, row);
	case KIND_ACTION:
		break;
	}
	return true;
}

static int apply_file(struct options *options, const json_t *root, const char *base,
	struct kp_diag *diag)
{
	if (check_keys(root, diag) < 0)
		return -1;
	for (size_t i = 0; i < ROWS; i++) {
		char key[NAME_BYTES];
		const json_t *value =
			json_object_get(root, key_of(&rows[i], key, sizeof(key)));
		if (!value || rows[i].not_in_file || is_set(options, &rows[i]))
			continue;
		if (apply_value(options, &rows[i], key, base, value, diag) < 0)
			return -1;
	}
	return 0;
}

static int read_file(struct options *options, const char *path, struct kp_diag *diag)
{
	char *text = NULL;
	size_t size = 0;
	json_t *root = NULL;
	char *base = strdup(path);
	int result = -1;

	if (!base) {
		kp_diag_no_memory(diag);
	} else if (kp_file_read(AT_FDCWD, path, CONFIG_BYTES, &text, &size, diag) == 0 &&
		   kp_json_parse(text, size, path, &root, diag) == 0) {
		*strrchr(base, '/') = '\0';
		result = apply_file(options, root, base, diag);
		if (result < 0)
			kp_json_place(diag, text, size, path);
	}
	json_decref(root);
	free(text);
	free(base);
	return result;
}

static int read_config(struct options *options, struct kp_diag *diag)
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

static int check_socket(const struct options *options, struct kp_diag *diag)
{
	size_t length = strlen(options->socket);
	if (length <= SOCKET_PATH_MOST)
		return 0;
	return kp_diag_set(diag, "path_too_long", options->socket,
		"the socket's path has %zu bytes, a socket can have at most %d: %s",
		length, SOCKET_PATH_MOST, options->socket);
}

int options_read(int argc, char **argv, struct options *options, struct kp_diag *diag)
{
	*options = (struct options){.action = OPTIONS_RUN};
	if (read_command_line(argc, argv, options, diag) < 0)
		goto fail;
	if (options->action == OPTIONS_HELP || options->action == OPTIONS_VERSION)
		return 0;
	if (read_config(options, diag) < 0 || defaults_fill(options, diag) < 0 ||
		check_socket(options, diag) < 0)
		goto fail;
	return 0;
fail:
	options_finish(options);
	return -1;
}

void options_finish(struct options *options)
{
	for (size_t i = 0; i < options->n_manifest_dirs; i++)
		free(options->manifest_dirs[i]);
	free(options->manifest_dirs);
	for (size_t i = 0; i < ROWS; i++)
		if (rows[i].kind == KIND_PATH)
			free(*(char **)member(options, &rows[i]));
	*options = (struct options){.action = OPTIONS_RUN};
}

void options_help(FILE *out)
{
	(void)fputs("usage: plugind [OPTION]...\n"
		    "Manages compute-kernel plugins; pluginctl talks to it.\n\n",
		out);
	for (size_t i = 0; i < ROWS; i++) {
		char left[NAME_BYTES + 16];
		(void)snprintf(left, sizeof(left), "--%s %s", rows[i].name,
			rows[i].argument ? rows[i].argument : "");
		(void)fprintf(out, "  %-22s %s\n", left, rows[i].help);
	}
	(void)fputs(
		"\nLayers of manifests, highest first, where none is given: with "
		"--system\n" KP_SYSCONFDIR
		"/kplug/plugins.d, /run/kplug/plugins.d and those beside the\n"
		"plugins; else $XDG_CONFIG_HOME/kplug/plugins.d and\n"
		"$XDG_RUNTIME_DIR/kplug/plugins.d over these.\n"
		"\nThe file holds the same with _ for -; manifest_dir is an array; a\n"
		"relative path counts from the file's directory. Without --config it is\n"
		"$XDG_CONFIG_HOME/kplug/plugind.json, with --system " KP_SYSCONFDIR
		"/kplug/plugind.json.\n"
		"\nSIGHUP: look for changes now. SIGTERM, SIGINT: end.\n"
		"Exit status: 0 ended as asked; 1 could not run (another daemon holds "
		"the\n"
		"socket or the state, or the system refuses); 2 wrong option or file.\n"
		"See plugind(8) and plugind.json(5).\n",
		out);
}
