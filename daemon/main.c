/* SPDX-License-Identifier: MIT */
/* plugind: reads its options, then lets the daemon live. */
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/daemon.h"
#include "daemon/log.h"
#include "daemon/options.h"
#include "daemon/scan/inputs.h"
#include "daemon/service/passed.h"
#include "lib/base/build.h"
#include "lib/base/json.h"

enum {
	EXIT_CONFIG = 2, /* see options_help */
	THREADS_LEAST = 4,
	LARGE = 32 << 10, /* bytes */
};

static void say(enum log_level level, const struct kp_diag *diag)
{
	char text[1200];
	struct log log;

	log_init(&log, level, STDERR_FILENO);
	log_line(&log, level, "%s", kp_diag_text(diag, text, sizeof(text)));
}

static void complain(const struct kp_diag *diag)
{
	say(LOG_ERROR, diag);
}

static void complain_all(struct kp_diags *diags)
{
	for (size_t i = 0; i < diags->count; i++)
		complain(&diags->items[i]);
	kp_diags_finish(diags);
}

/* --check-config: every problem on a line; nothing is started. */
static int check(const struct options *options)
{
	struct kp_families families;
	struct kp_platform platform;
	struct kp_diags warnings = {0}, remarks = {0};
	struct kp_diag diag;

	int result = inputs_read(options, &families, &platform, &warnings, &diag);
	inputs_look_at_signing(options, &warnings);
	bool is_right = result == 0 && warnings.count == 0;
	inputs_look_for_dirs(options, &remarks);
	complain_all(&warnings);
	complain_all(&remarks);
	if (result < 0) {
		complain(&diag);
	} else {
		kp_families_finish(&families);
		kp_platform_finish(&platform);
	}
	if (is_right)
		(void)puts("ok");
	return is_right ? EXIT_SUCCESS : EXIT_CONFIG;
}

/* Where the service manager has made the socket, that is the one. */
static int take_socket(
	struct options *options, struct passed *passed, struct kp_diag *diag)
{
	if (passed_take(passed, diag) < 0)
		return -1;
	if (passed->fd < 0)
		return 0;
	options->passed = passed;
	if (!options->has_usual_socket && strcmp(options->socket, passed->path) != 0) {
		kp_diag_set(diag, "other_socket", options->socket,
			"the socket of the options, %s, is not made: the service manager "
			"has passed %s",
			options->socket, passed->path);
		say(LOG_WARNING, diag);
	}
	return 0;
}

static int serve(const struct options *told)
{
	struct options options = *told; /* with the socket, while it lives */
	struct daemon *daemon = calloc(1, sizeof(*daemon));
	struct passed passed;
	struct kp_diag diag;
	int status;

	if (!daemon) {
		(void)kp_diag_no_memory(&diag);
		complain(&diag);
		return EXIT_FAILURE;
	}
	int result = take_socket(&options, &passed, &diag);
	if (result == 0)
		result = daemon_start(daemon, &options, &diag);
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
		(void)printf("plugind %s\n", kp_build_version);
		return EXIT_SUCCESS;
	case OPTIONS_CHECK:
		return check(options);
	case OPTIONS_RUN:
		break;
	}
	return serve(options);
}

/*
 * libuv looks at this once, before its first thread. With fewer, files that are
 * hashed hold up the writing of decisions: lanes (daemon/pipeline/lane.h) count on four.
 */
static void have_threads(void)
{
	static const char variable[] = "UV_THREADPOOL_SIZE";
	const char *value = getenv(variable);

	if (value && strtol(value, NULL, 10) < THREADS_LEAST)
		(void)setenv(variable, "4", 1);
}

/*
 * A daemon is to stay small: threads of the pool need no heaps of their own, and what is
 * large has pages of its own, which go back when it is freed (without this the library
 * learns to keep them), and leaves no hole among what stays.
 */
static void keep_small(void)
{
	(void)mallopt(M_ARENA_MAX, 1);
	(void)mallopt(M_MMAP_THRESHOLD, LARGE);
	(void)mallopt(M_TRIM_THRESHOLD, LARGE);
}

int main(int argc, char **argv)
{
	struct options options;
	struct kp_diag diag;

	kp_json_watch_heap();
	keep_small();
	have_threads();
	if (options_read(argc, argv, &options, &diag) < 0) {
		complain(&diag);
		return EXIT_CONFIG;
	}
	int status = act(&options);
	options_finish(&options);
	return status;
}
