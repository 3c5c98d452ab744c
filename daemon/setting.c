/* SPDX-License-Identifier: MIT */
/* The table of settings, and how each kind of value is read. */
#include "daemon/setting.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LISTED_MOST = 64 };
enum { MS_MOST = 600000, COUNT_MOST = 16, S_MOST = 31536000, MIB_MOST = 1 << 20 };

#define AT(member) offsetof(struct options, member)

const struct setting settings[] = {
	{"config", SETTING_PATH, AT(config), 0, true, "FILE",
		"read this file; the command line beats it"},
	{"manifest-dir", SETTING_PATHS, AT(manifest_dirs), 0, false, "DIR",
		"a layer of manifests, highest first (repeat it)"},
	{"plugin-dir", SETTING_PATH, AT(plugin_dir), 0, false, "DIR",
		"where libraries without a path are"},
	{"families-dir", SETTING_PATH, AT(families_dir), 0, false, "DIR",
		"contracts of operations"},
	{"state-dir", SETTING_PATH, AT(state_dir), 0, false, "DIR",
		"decisions, store and table; one daemon each"},
	{"cache-dir", SETTING_PATH, AT(cache_dir), 0, false, "DIR", "results of probes"},
	{"socket", SETTING_PATH, AT(socket), 0, false, "PATH", "listen here"},
	{"worker", SETTING_PATH, AT(worker), 0, false, "PATH",
		"the plugin-worker to run"},
	{"platform", SETTING_PATH, AT(platform), 0, false, "FILE",
		"devices from a JSON file instead of this machine's"},
	{"devices-root", SETTING_PATH, AT(devices_root), 0, false, "DIR",
		"look for devices in DIR/sys and DIR/proc"},
	{"nvml", SETTING_PATH, AT(nvml), 0, false, "FILE",
		"NVIDIA's management library, not the usual one"},
	{"driver-timeout-ms", SETTING_MS, AT(driver_timeout_ms), 0, false, "N",
		"how long a GPU's driver may take to tell of it (30000)"},
	{"rescan-s", SETTING_S, AT(rescan_s), 0, false, "N",
		"look at all files again so often, for what no event tells (30)"},
	{"strikes", SETTING_COUNT, AT(strikes), 0, false, "N",
		"quarantine a kernel that crashed applications so often (3)"},
	{"strike-window-s", SETTING_S, AT(strike_window_s), 0, false, "N",
		"within so many seconds (86400)"},
	{"no-quarantine", SETTING_SWITCH, AT(no_quarantine), 0, false, NULL,
		"keep incidents, and turn no kernel off for them"},
	{"history", SETTING_COUNT, AT(history), 0, false, "N",
		"keep so many generations of each plugin in the store (3)"},
	{"history-mib", SETTING_MIB, AT(history_mib), 0, false, "N",
		"as long as all that do not run take so many MiB at most (1024)"},
	{"signatures", SETTING_SIGNING, AT(signing), 0, false, "[DIR=]POLICY",
		"of libraries whose manifests are there: off, warn, require (repeat it)"},
	{"trusted-keys", SETTING_PATH, AT(signing.trusted), 0, false, "DIR",
		"public keys of minisign whose signatures count"},
	{"any-files", SETTING_SWITCH, AT(any_files), 0, false, NULL,
		"of a private daemon: whoever owns or may write a library, take it"},
	{"log-level", SETTING_LEVEL, AT(log_level), 0, false, "LEVEL",
		"error, warning, info (default) or debug"},
	{"system", SETTING_SWITCH, AT(system), 0, false, NULL,
		"serve all users; roles by uid and the group kplug"},
	{"transient", SETTING_SWITCH, AT(transient), 0, true, NULL,
		"end when the last client has gone, or none has come"},
	{"check-config", SETTING_ACTION, 0, OPTIONS_CHECK, true, NULL,
		"say what is wrong with the configuration, start nothing"},
	{"help", SETTING_ACTION, 0, OPTIONS_HELP, true, NULL, "this text"},
	{"version", SETTING_ACTION, 0, OPTIONS_VERSION, true, NULL, "the version"},
};
const size_t settings_count = sizeof(settings) / sizeof(settings[0]);
static_assert(sizeof(settings) / sizeof(settings[0]) <= SETTINGS_MOST, "SETTINGS_MOST");

void *setting_member(struct options *options, const struct setting *setting)
{
	return (char *)options + setting->offset;
}

int setting_usage(struct kp_diag *diag, const char *object, const char *message)
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

static int set_path(struct options *options, const struct setting *setting,
	const char *name, const char *base, const char *value, struct kp_diag *diag)
{
	char **at = setting_member(options, setting);
	char *path = NULL;

	if (!value[0])
		return setting_usage(diag, name, "the path is empty");
	if (absolute(base, value, &path, diag) < 0)
		return -1;
	free(*at);
	*at = path;
	return 0;
}

static int add_dir(struct options *options, const char *name, const char *base,
	const char *value, struct kp_diag *diag)
{
	if (!value[0])
		return setting_usage(diag, name, "the path is empty");
	if (options->n_manifest_dirs >= LISTED_MOST)
		return setting_usage(diag, name, "more than 64 directories");
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

static int set_level(struct options *options, const char *name, const char *value,
	struct kp_diag *diag)
{
	if (log_level_parse(value, &options->log_level))
		return 0;
	return kp_diag_set(diag, "bad_log_level", name,
		"%s: \"%s\" is none of error, warning, info, debug", name, value);
}

static int add_signing(struct options *options, const char *name, const char *value,
	struct kp_diag *diag)
{
	int result = kp_signing_add(&options->signing, value);

	if (result == 0)
		return 0;
	return setting_usage(diag, name,
		result == -1 ? "off, warn or require expected, or one of them behind an "
			       "absolute directory and ="
			     : "there are more than 64, or memory is exhausted");
}

/* Numbers, by what they count; all of them from 1 on. */
static const struct {
	const char *of;
	unsigned most;
} bounds[] = {
	[SETTING_MS] = {" of milliseconds", MS_MOST},
	[SETTING_COUNT] = {"", COUNT_MOST},
	[SETTING_S] = {" of seconds", S_MOST},
	[SETTING_MIB] = {" of MiB", MIB_MOST},
};

bool setting_is_number(const struct setting *setting)
{
	return setting->kind == SETTING_MS || setting->kind == SETTING_COUNT ||
	       setting->kind == SETTING_S || setting->kind == SETTING_MIB;
}

static int set_number(unsigned *at, const struct setting *setting, const char *name,
	const char *value, struct kp_diag *diag)
{
	unsigned most = bounds[setting->kind].most;
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
		bounds[setting->kind].of, most);
	return setting_usage(diag, name, text);
}

bool setting_is_set(struct options *options, const struct setting *setting)
{
	switch (setting->kind) {
	case SETTING_PATH:
	case SETTING_PATHS:
		return *(void **)setting_member(options, setting) != NULL;
	case SETTING_SIGNING:
		return options->signing.count > 0;
	case SETTING_LEVEL:
		return options->log_level != 0;
	case SETTING_MS:
	case SETTING_COUNT:
	case SETTING_S:
	case SETTING_MIB:
		return *(unsigned *)setting_member(options, setting) != 0;
	case SETTING_SWITCH:
		return *(bool *)setting_member(options, setting);
	case SETTING_ACTION:
		break;
	}
	return true;
}

int setting_set(struct options *options, const struct setting *setting, const char *name,
	const char *base, const char *value, struct kp_diag *diag)
{
	switch (setting->kind) {
	case SETTING_PATH:
		return set_path(options, setting, name, base, value, diag);
	case SETTING_PATHS:
		return add_dir(options, name, base, value, diag);
	case SETTING_SIGNING:
		return add_signing(options, name, value, diag);
	case SETTING_LEVEL:
		return set_level(options, name, value, diag);
	case SETTING_MS:
	case SETTING_COUNT:
	case SETTING_S:
	case SETTING_MIB:
		return set_number(
			setting_member(options, setting), setting, name, value, diag);
	case SETTING_SWITCH:
		*(bool *)setting_member(options, setting) = true;
		return 0;
	case SETTING_ACTION:
		options->action = (enum options_action)setting->action;
		return 0;
	}
	return 0;
}
