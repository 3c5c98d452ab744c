/* SPDX-License-Identifier: MIT */
/* The kinds of jobs and the way into one. */
#include "daemon/worker/job.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/worker/process.h"
#include "daemon/worker/report.h"

static const struct job_kind *const kinds[] = {
	&job_identify,
	&job_probe,
	&job_bench,
	&job_devices,
	&job_verify,
};

static const struct job_kind *find_kind(const char *name)
{
	for (size_t i = 0; name && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i]->name, name) == 0)
			return kinds[i];
	return NULL;
}

/* Written by the daemon: what is wrong with it is kplug's fault, not a plugin's. */
static json_t *read_job(void)
{
	FILE *file = fdopen(dup(PROCESS_JOB), "r");
	if (!file)
		return NULL;
	rewind(file);
	json_t *job = json_loadf(file, JSON_REJECT_DUPLICATES, NULL);
	fclose(file);
	return job;
}

/* The descriptors keep their places over the exec. */
static void exec_fresh(size_t n)
{
	char count[16];
	snprintf(count, sizeof(count), "%zu", n);
	for (int fd = PROCESS_REPORT; fd < PROCESS_FDS + (int)n; fd++)
		(void)fcntl(fd, F_SETFD, 0);
	execl("/proc/self/exe", "plugin-worker", "--job", count, (char *)NULL);
}

static int refuse(const struct report *report, const char *why)
{
	struct kp_diag diag;
	kp_diag_set(&diag, "bad_job", NULL, "the worker cannot do this job: %s", why);
	report_failed(report, "failed", &diag);
	report_end(report);
	return EXIT_SUCCESS;
}

/* The mark is the worker's own: whoever reads the job later does not find it there. */
static void take_mark(json_t *job, struct report *report)
{
	const char *mark = json_string_value(json_object_get(job, "mark"));
	snprintf(report->mark, sizeof(report->mark), "%s", mark ? mark : "");
	(void)json_object_del(job, "mark");
}

static int run(struct report *report, size_t n, bool fresh)
{
	int fds[PROCESS_FDS_MOST];
	json_t *job = read_job();
	const char *name = json_string_value(json_object_get(job, "kind"));
	const struct job_kind *kind = find_kind(name);
	int status;
	take_mark(job, report);
	if (!job)
		return refuse(report, "its text is not JSON");
	if (kind && kind->execs && !fresh)
		exec_fresh(n);
	(void)close(PROCESS_JOB);
	report->fd = process_hide(PROCESS_REPORT);
	for (size_t i = 0; i < n && i < PROCESS_FDS_MOST; i++)
		fds[i] = PROCESS_FDS + (int)i;
	if (!kind)
		status = refuse(report, name ? name : "it has no kind");
	else if (kind->execs && !fresh)
		status = refuse(report, strerror(errno));
	else {
		/* Results of a benchmark are as large as they are. */
		if (!kind->execs)
			process_limit_files();
		status = kind->run(report, job, fds, n);
	}
	json_decref(job);
	return status;
}

_Noreturn void job_run(size_t n, bool fresh)
{
	struct report report = {.fd = PROCESS_REPORT};
	if (fresh)
		for (int fd = PROCESS_REPORT; fd < PROCESS_FDS + (int)n; fd++)
			(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	/* Never exit(): after the end mark no code of a plugin runs. */
	_exit(run(&report, n, fresh));
}
