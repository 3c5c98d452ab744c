/* SPDX-License-Identifier: MIT */
/* The command line, the help, and what holds of all settings together. */
#include "daemon/options.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/config.h"
#include "daemon/defaults.h"
#include "daemon/setting.h"
#include "installed.h"

static int read_command_line(
	int argc, char **argv, struct options *options, struct kp_diag *diag)
{
	struct option longs[SETTINGS_MOST + 1] = {{0}};
	int which;

	for (size_t i = 0; i < settings_count; i++)
		longs[i] = (struct option){settings[i].name,
			settings[i].argument ? required_argument : no_argument, NULL,
			(int)i + 256};
	opterr = 0;
	optind = 0;
	while ((which = getopt_long(argc, argv, "+:h", longs, NULL)) >= 0) {
		if (which == 'h')
			options->action = OPTIONS_HELP;
		else if (which == ':')
			return setting_usage(
				diag, argv[optind - 1], "an argument is missing");
		else if (which < 256)
			return setting_usage(
				diag, argv[optind - 1], "no such option, see --help");
		else if (setting_set(options, &settings[which - 256],
				 settings[which - 256].name, NULL, optarg, diag) < 0)
			return -1;
	}
	if (optind < argc)
		return setting_usage(diag, argv[optind], "not an option, see --help");
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

/* All users would run what any of them has written. */
static int check_files(const struct options *options, struct kp_diag *diag)
{
	if (!options->system || !options->any_files)
		return 0;
	return setting_usage(diag, "any-files",
		"only a private daemon can take anybody's files, not one of all users");
}

int options_read(int argc, char **argv, struct options *options, struct kp_diag *diag)
{
	*options = (struct options){.action = OPTIONS_RUN};
	if (read_command_line(argc, argv, options, diag) < 0)
		goto fail;
	if (options->action == OPTIONS_HELP || options->action == OPTIONS_VERSION)
		return 0;
	if (config_read(options, diag) < 0 || defaults_fill(options, diag) < 0 ||
		check_socket(options, diag) < 0 || check_files(options, diag) < 0)
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
	for (size_t i = 0; i < settings_count; i++)
		if (settings[i].kind == SETTING_PATH)
			free(*(char **)setting_member(options, &settings[i]));
	kp_signing_finish(&options->signing);
	*options = (struct options){.action = OPTIONS_RUN};
}

void options_help(FILE *out)
{
	(void)fputs("usage: plugind [OPTION]...\n"
		    "Manages compute-kernel plugins; pluginctl talks to it.\n\n",
		out);
	for (size_t i = 0; i < settings_count; i++) {
		char left[SETTING_NAME + 16];
		(void)snprintf(left, sizeof(left), "--%s %s", settings[i].name,
			settings[i].argument ? settings[i].argument : "");
		(void)fprintf(out, "  %-22s %s\n", left, settings[i].help);
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
