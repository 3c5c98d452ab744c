/* SPDX-License-Identifier: MIT */
/* The kinds of jobs and the way into one. */
#include "daemon/worker/job.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/worker/process.h"
#include "daemon/worker/report.h"
#include "daemon/worker/sandbox.h"
#include "lib/base/json.h"

static const struct job_kind *const kinds[] = {
	&job_identify,
	&job_probe,
	&job_bench,
	&job_devices,
	&job_verify,
	&job_signature,
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
static void exec_fresh(size_t n, const struct sandbox *sandbox)
{
	char count[16], filter[16];
	(void)snprintf(count, sizeof(count), "%zu", n);
	(void)snprintf(filter, sizeof(filter), "%d",
		sandbox->offered.filter ? filter_save(&sandbox->spared) : -1);
	for (int fd = PROCESS_REPORT; fd < PROCESS_FDS + (int)n; fd++)
		(void)fcntl(fd, F_SETFD, 0);
	execl("/proc/self/exe", "plugin-worker", "--job", count, filter, (char *)NULL);
}

static int refuse(const struct report *report, const char *why)
{
	struct kp_diag diag;
	if (kp_json_has_starved())
		kp_diag_no_memory(&diag);
	else
		kp_diag_set(
			&diag, "bad_job", NULL, "the worker cannot do this job: %s", why);
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

/* ---- the sandbox ----------------------------------------------------------------- */

static bool has_gpu_kernel(const json_t *note)
{
	const json_t *kernels = json_object_get(note, "kernels");
	size_t i;
	json_t *kernel;

	json_array_foreach (kernels, i, kernel) {
		const char *device =
			kp_json_text(json_object_get(kernel, "capability"), "device");
		if (device && strcmp(device, "cpu") != 0)
			return true;
	}
	return false;
}

/* Only what it needs more than a probe on the CPU. */
static struct limits_wish wish_of(const struct job_kind *kind, const json_t *job)
{
	json_int_t ms = json_integer_value(json_object_get(job, "deadline_ms"));

	return (struct limits_wish){
		.measures = kind->execs,
		.gpu = kind->gpu || json_is_object(json_object_get(job, "device")) ||
		       has_gpu_kernel(json_object_get(job, "note")),
		.timeout_ms = ms > 0 && ms < INT_MAX ? (unsigned)ms : 0,
	};
}

static int confine(const struct job_kind *kind, const json_t *job,
	const struct sandbox *sandbox, struct kp_diag *diag)
{
	const struct limits_wish wish = wish_of(kind, job);
	int gate = fcntl(PROCESS_GATE, F_GETFD) < 0 ? -1 : PROCESS_GATE;

	return sandbox_enter(sandbox, &wish, gate, diag);
}

/* It cannot be said of a plugin what was not tried: it is tried again. */
static int refuse_confined(const struct report *report, const struct kp_diag *diag)
{
	report_failed(report, "failed", diag);
	report_end(report);
	return EXIT_SUCCESS;
}

static int run(struct report *report, size_t n, const struct sandbox *sandbox, bool fresh)
{
	struct kp_diag diag;
	int fds[PROCESS_FDS_MOST];
	json_t *job = read_job();
	const char *name = json_string_value(json_object_get(job, "kind"));
	const struct job_kind *kind = find_kind(name);
	int status;
	take_mark(job, report);
	if (!job)
		return refuse(report, "its text is not JSON");
	if (kind && kind->execs && !fresh)
		exec_fresh(n, sandbox);
	(void)close(PROCESS_JOB);
	report->fd = process_hide(PROCESS_REPORT);
	for (size_t i = 0; i < n && i < PROCESS_FDS_MOST; i++)
		fds[i] = PROCESS_FDS + (int)i;
	if (!kind)
		status = refuse(report, name ? name : "it has no kind");
	else if (kind->execs && !fresh)
		status = refuse(report, strerror(errno));
	else if (confine(kind, job, sandbox, &diag) < 0)
		status = refuse_confined(report, &diag);
	else
		status = kind->run(report, job, fds, n);
	json_decref(job);
	return status;
}

_Noreturn void job_run(size_t n, const struct sandbox *sandbox, bool fresh)
{
	struct report report = {.fd = PROCESS_REPORT};
	if (fresh)
		for (int fd = PROCESS_REPORT; fd < PROCESS_FDS + (int)n; fd++)
			(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	/* Never exit(): after the end mark no code of a plugin runs. */
	_exit(run(&report, n, sandbox, fresh));
}
