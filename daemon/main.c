/* SPDX-License-Identifier: MIT */
/* plugind: reads its options, then lets the daemon live. */
#include <stdio.h>
#include <stdlib.h>

#include "daemon/daemon.h"
#include "daemon/inputs.h"
#include "daemon/options.h"

/* See options_help. */
enum { EXIT_CONFIG = 2 };

static void complain(const struct kp_diag *diag)
{
	char text[1200];
	(void)fprintf(stderr, "plugind: %s\n", kp_diag_text(diag, text, sizeof(text)));
}

/* --check-config: every problem on a line; nothing is started. */
static int check(const struct options *options)
{
	struct kp_families families;
	struct kp_platform platform;
	struct kp_diags warnings = {0};
	struct kp_diag diag;

	int result = inputs_read(options, &families, &platform, &warnings, &diag);
	for (size_t i = 0; i < warnings.count; i++)
		complain(&warnings.items[i]);
	if (result < 0) {
		complain(&diag);
	} else {
		kp_families_finish(&families);
		kp_platform_finish(&platform);
	}
	bool is_right = result == 0 && warnings.count == 0;
	kp_diags_finish(&warnings);
	if (is_right)
		(void)puts("ok");
	return is_right ? EXIT_SUCCESS : EXIT_CONFIG;
}

static int serve(const struct options *options)
{
	struct daemon *daemon = calloc(1, sizeof(*daemon));
	struct kp_diag diag;
	int status;

	if (!daemon) {
		(void)kp_diag_no_memory(&diag);
		complain(&diag);
		return EXIT_FAILURE;
	}
	int result = daemon_start(daemon, options, &diag);
	if (result < 0) {
		complain(&diag);
		status = result == DAEMON_MISCONFIGURED ? EXIT_CONFIG : EXIT_FAILURE;
	} else {
		status = daemon_run(daemon);
	}
	free(daemon);
	return status;
}

static int act(const struct options *options)
{
	switch (options->action) {
	case OPTIONS_HELP:
		options_help(stdout);
		return EXIT_SUCCESS;
	case OPTIONS_VERSION:
		(void)puts("plugind " KP_VERSION);
		return EXIT_SUCCESS;
	case OPTIONS_CHECK:
		return check(options);
	case OPTIONS_RUN:
		break;
	}
	return serve(options);
}

int main(int argc, char **argv)
{
	struct options options;
	struct kp_diag diag;

	if (options_read(argc, argv, &options, &diag) < 0) {
		complain(&diag);
		return EXIT_CONFIG;
	}
	int status = act(&options);
	options_finish(&options);
	return status;
}
