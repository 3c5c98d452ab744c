/* SPDX-License-Identifier: MIT */
/* plugin-worker: everything that touches a plugin's bytes or runs its code. */
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/worker/job.h"
#include "daemon/worker/offline.h"
#include "daemon/worker/process.h"
#include "daemon/worker/sandbox.h"
#include "daemon/worker/serve.h"
#include "lib/base/build.h"
#include "lib/base/json.h"

static const char usage[] =
	"usage: plugin-worker --identify FILE [KEYS]   print what a plugin's library is, "
	"as JSON\n"
	"       plugin-worker --inspect FILE [KEYS]    the same, but for what families "
	"say of\n"
	"                               its note; KEYS: a directory for FILE.minisig\n"
	"       plugin-worker --launcher        serve plugind on descriptor 3\n"
	"       plugin-worker --job N FILTER    do the job on descriptor 4, with N more, "
	"under\n"
	"                               the filter on the descriptor FILTER, or -1\n"
	"       plugin-worker --hold            hold what it inherits until standard "
	"input ends\n"
	"       plugin-worker --version\n";

static int refuse(void)
{
	fputs(usage, stderr);
	return 2;
}

/* A small number; false: it is none, or more than `most`. */
static bool read_number(const char *text, unsigned long most, unsigned long *number)
{
	char *end;

	*number = strtoul(text, &end, 10);
	return !*end && end != text && *number <= most;
}

static int run_job(const char *text, const char *filter)
{
	struct sandbox sandbox;
	struct kp_diag diag;
	bool has_none = strcmp(filter, "-1") == 0; /* where the kernel offers no filter */
	unsigned long n, fd = 0;

	if (!read_number(text, PROCESS_FDS_MOST, &n) ||
		(!has_none && !read_number(filter, INT_MAX, &fd)))
		return refuse();
	setvbuf(stdout, NULL, _IONBF, 0);
	if (sandbox_resume(&sandbox, has_none ? -1 : (int)fd, &diag) < 0) {
		(void)fprintf(stderr, "plugin-worker: %s\n", diag.message);
		return EXIT_FAILURE;
	}
	job_run(n, &sandbox, true);
}

/*
 * Connections of plugind's in which others have left descriptors: of a process that ends
 * the kernel closes them without a wait.
 */
_Noreturn static void hold(void)
{
	char byte;

	while (read(STDIN_FILENO, &byte, 1) > 0)
		continue;
	_exit(EXIT_SUCCESS);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	kp_json_watch_heap();
	if (argc == 2 && strcmp(mode, "--launcher") == 0)
		return serve();
	if (argc == 4 && strcmp(mode, "--job") == 0)
		return run_job(argv[2], argv[3]);
	if ((argc == 3 || argc == 4) && strcmp(mode, "--identify") == 0)
		return offline_identify(argv[2], argc == 4 ? argv[3] : NULL, true);
	if ((argc == 3 || argc == 4) && strcmp(mode, "--inspect") == 0)
		return offline_identify(argv[2], argc == 4 ? argv[3] : NULL, false);
	if (argc == 2 && strcmp(mode, "--hold") == 0)
		hold();
	if (argc == 2 && strcmp(mode, "--version") == 0)
		return printf("plugin-worker %s\n", kp_build_version) < 0;
	if (argc == 2 && strcmp(mode, "--help") == 0)
		return fputs(usage, stdout) < 0;
	return refuse();
}
