/* SPDX-License-Identifier: MIT */
/* Options from the usual places. */
#include "daemon/defaults.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/log.h"
#include "daemon/options.h"
#include "installed.h"
#include "lib/base/owned.h"
#include "lib/base/place.h"

enum {
	RESCAN_S = 30,
	DRIVER_MS = 30000, /* eight GPUs that sleep take ten seconds to wake up */
	STRIKES = 3,
	DAY_S = 86400,
	HISTORY = 3,
	HISTORY_MIB = 1024,
};

static int fill_dirs(struct options *options, struct kp_diag *diag)
{
	options->has_usual_dirs = !options->manifest_dirs;
	if (options->manifest_dirs)
		return 0;
	options->manifest_dirs = kp_place_manifest_dirs(options->system);
	if (!options->manifest_dirs)
		return kp_diag_no_memory(diag);
	while (options->manifest_dirs[options->n_manifest_dirs])
		options->n_manifest_dirs++;
	return 0;
}

/* Takes `usual`; NULL: there is no home directory to put it in, or no memory. */
static int fill_path(
	char **at, const char *option, char *usual, bool *is_usual, struct kp_diag *diag)
{
	if (is_usual)
		*is_usual = !*at;
	if (*at)
		free(usual);
	else
		*at = usual;
	if (*at)
		return 0;
	return kp_diag_set(diag, "usage", option,
		"there is no home directory (or no memory) for a usual %s: give --%s",
		option, option);
}

int defaults_fill(struct options *options, struct kp_diag *diag)
{
	const struct {
		char **at;
		const char *option;
		char *usual;
		bool *is_usual;
	} defaults[] = {
		{&options->plugin_dir, "plugin-dir", kp_place_find("plugins"),
			&options->has_usual_plugin_dir},
		{&options->families_dir, "families-dir", kp_place_find("families"), NULL},
		{&options->worker, "worker", kp_place_find("plugin-worker"), NULL},
		{&options->state_dir, "state-dir", kp_place_state_dir(options->system),
			NULL},
		{&options->cache_dir, "cache-dir", kp_place_cache_dir(options->system),
			NULL},
		{&options->socket, "socket", kp_place_socket(options->system),
			&options->has_usual_socket},
		{&options->signing.trusted, "trusted-keys",
			strdup(KP_SYSCONFDIR "/kplug/trusted-keys.d"), NULL},
	};
	int result = 0;

	for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++)
		if (fill_path(defaults[i].at, defaults[i].option, defaults[i].usual,
			    defaults[i].is_usual, diag) < 0)
			result = -1;
	if (!options->log_level)
		options->log_level = LOG_INFO;
	if (!options->driver_timeout_ms)
		options->driver_timeout_ms = DRIVER_MS;
	if (!options->rescan_s)
		options->rescan_s = RESCAN_S;
	if (!options->strikes)
		options->strikes = STRIKES;
	if (!options->strike_window_s)
		options->strike_window_s = DAY_S;
	if (!options->history)
		options->history = HISTORY;
	if (!options->history_mib)
		options->history_mib = HISTORY_MIB;
	/* Its places are below no home directory. */
	if (result < 0 && options->system)
		return kp_diag_no_memory(diag);
	return result < 0 ? result : fill_dirs(options, diag);
}

void defaults_tell(const struct options *options, struct log *log)
{
	owned_text machines = kp_place_socket(true);

	if (options->system || options->transient)
		return;
	if (kp_place_is_fleeting(options->state_dir))
		log_line(log, LOG_WARNING,
			"decisions are kept in %s, until the next boot at most: give "
			"--state-dir",
			options->state_dir);
	if (machines && options->has_usual_socket && access(machines, F_OK) == 0)
		log_line(log, LOG_WARNING,
			"the plugind of the machine, at %s, is asked first: who is to "
			"ask this one sets KPLUG_SOCKET=%s",
			machines, options->socket);
}
