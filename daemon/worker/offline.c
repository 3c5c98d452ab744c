/* SPDX-License-Identifier: MIT */
/* Runs the identify job under a supervisor, and makes a verdict of its report. */
#include "daemon/worker/offline.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "daemon/store/digest.h"
#include "daemon/worker/report.h"
#include "daemon/worker/sandbox.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/json.h"
#include "lib/base/owned.h"
#include "lib/base/place.h"
#include "lib/plugin/finding.h"
#include "lib/plugin/note_check.h"

enum { TIMEOUT_MS = 30000 };

static void on_line(void *context, json_t *line)
{
	kp_finding_identify(context, line);
}

/* Its dependencies belong to what it is. */
static void conclude(struct kp_finding *finding, const struct kp_worker_result *result)
{
	struct kp_verdict *verdict = finding->verdict;
	enum kp_finding_end end = kp_finding_identified(finding, result, time(NULL));

	if (end == KP_FINDING_LOST)
		kp_verdict_fail(verdict, KP_STATE_FAILED, "no_memory",
			"memory was exhausted in the worker that looked at it");
	else if (end == KP_FINDING_GOOD && !verdict->note)
		kp_verdict_fail(verdict, KP_STATE_FAILED, "garbled_report",
			"the worker reported neither note nor fault");
	else if (verdict->state == KP_STATE_ACTIVE)
		(void)kp_finding_refuse(finding, time(NULL));
	if (verdict->elf && finding->needs)
		(void)json_object_set(verdict->elf, "libraries", finding->needs);
}

/* Waits for whatever comes first and tells the supervisor. */
static void wait_some(struct kp_supervisor *supervisor, pid_t child, int pidfd)
{
	int status;
	int64_t wait = kp_supervisor_deadline(supervisor) - kp_clock_ms();
	struct pollfd ready[] = {
		{.fd = kp_supervisor_report_fd(supervisor), .events = POLLIN},
		{.fd = kp_supervisor_output_fd(supervisor), .events = POLLIN},
		{.fd = pidfd, .events = POLLIN},
	};
	(void)poll(ready, 3, (int)(wait > 0 ? wait : 0));
	if (ready[0].revents || ready[1].revents)
		kp_supervisor_read(supervisor);
	if (ready[2].revents && waitpid(child, &status, WNOHANG) == child)
		kp_supervisor_ended(supervisor, status, false);
}

static void watch_over(struct kp_supervisor *supervisor, pid_t child, int pidfd)
{
	for (;;) {
		switch (kp_supervisor_step(supervisor, kp_clock_ms())) {
		case KP_SUPERVISE_KILL:
			(void)kill(child, SIGKILL);
			break;
		case KP_SUPERVISE_WAIT:
			wait_some(supervisor, child, pidfd);
			break;
		case KP_SUPERVISE_DONE:
			return;
		}
	}
}

/* Nobody answers for it: what is refused is refused in silence. */
static int confine(const struct report *report)
{
	const struct limits_wish wish = {.timeout_ms = TIMEOUT_MS};
	struct sandbox sandbox;
	struct kp_diag diag;

	if (sandbox_prepare(&sandbox, &diag) == 0 &&
		sandbox_enter(&sandbox, &wish, -1, &diag) == 0)
		return 0;
	report_failed(report, "failed", &diag);
	report_end(report);
	return -1;
}

/* What anybody may have made is not read in the process that answers. */
_Noreturn static void be_child(const struct offline_job *job, int report_fd, int output)
{
	struct report report = {.fd = report_fd};

	if (dup2(output, STDOUT_FILENO) < 0 || dup2(output, STDERR_FILENO) < 0)
		_exit(EXIT_FAILURE);
	if (confine(&report) == 0)
		_exit(job->kind->run(&report, job->job, &job->fd, 1));
	_exit(EXIT_SUCCESS);
}

int offline_supervise(const struct offline_job *job,
	void (*on_job_line)(void *context, json_t *line), void *context,
	struct kp_worker_result *result)
{
	int report[2];
	int output[2];
	if (pipe2(report, O_CLOEXEC) < 0 || pipe2(output, O_CLOEXEC) < 0)
		return -1;
	pid_t child = fork();
	if (child == 0)
		be_child(job, report[1], output[1]);
	(void)close(report[1]);
	(void)close(output[1]);
	(void)fcntl(report[0], F_SETFL, O_NONBLOCK);
	(void)fcntl(output[0], F_SETFL, O_NONBLOCK);
	owned_fd pidfd = child < 0 ? -1 : pidfd_open(child, 0);
	if (pidfd < 0)
		return -1;
	int64_t now = kp_clock_ms();
	const struct kp_report_terms terms = {.identifies = job->kind == &job_identify};
	struct kp_supervisor *supervisor = kp_supervisor_new(report[0], output[0], &terms,
		now, now + TIMEOUT_MS, on_job_line, context);
	if (!supervisor)
		return -1;
	watch_over(supervisor, child, pidfd);
	*result = *kp_supervisor_result(supervisor);
	kp_supervisor_free(supervisor);
	return 0;
}

static int supervise(int fd, const char *file, struct kp_finding *finding)
{
	owned_json *job =
		json_pack("{s:s, s:s}", "kind", job_identify.name, "file", file);
	struct kp_worker_result result;

	if (!job || offline_supervise(&(struct offline_job){&job_identify, job, fd},
			    on_line, finding, &result) < 0)
		return -1;
	conclude(finding, &result);
	return 0;
}

static void add_warnings(struct kp_verdict *verdict, const struct kp_diags *warnings)
{
	for (size_t i = 0; i < warnings->count; i++)
		kp_verdict_warn(verdict, warnings->items[i].code,
			warnings->items[i].object, warnings->items[i].message);
}

static int read_families(struct kp_families *families, struct kp_diags *problems)
{
	char *dir = kp_place_find("families");
	int failed = dir ? kp_families_read(dir, families, problems) : -1;

	free(dir);
	return failed;
}

/*
 * The checks that the registry makes before it takes a plugin, by the families that
 * lie beside this program: what passes here is not refused there.
 */
static int check_note(struct kp_verdict *verdict)
{
	struct kp_families families = {0};
	struct kp_diags warnings = {0}, own = {0};
	struct kp_note note;
	struct kp_diag diag;
	int failed = read_families(&families, &warnings);

	/* Its own warnings are told by whoever reads the note. */
	if (!failed && kp_note_from_json(verdict->note, &note, &own, &diag) == 0) {
		if (kp_note_check(&note, &families, 0, &warnings, &diag) < 0)
			kp_verdict_fail(
				verdict, KP_STATE_REJECTED, diag.code, diag.message);
		kp_note_finish(&note);
	}
	add_warnings(verdict, &warnings);
	kp_diags_finish(&warnings);
	kp_diags_finish(&own);
	kp_families_finish(&families);
	return failed;
}

static int digest(
	int fd, const char *file, struct kp_verdict *verdict, struct kp_diag *diag)
{
	uint64_t size;

	if (digest_copy(fd, -1, (uint64_t)DIGEST_FILE_MIB << 20, file, verdict->digest,
		    &size, diag) < 0)
		return -1;
	verdict->bytes = (int64_t)size;
	return 0;
}

/* Of a file that was not read. */
static enum kp_state state_for(const char *code)
{
	if (strcmp(code, "missing_file") == 0)
		return KP_STATE_MISSING;
	return strcmp(code, "no_memory") == 0 ? KP_STATE_FAILED : KP_STATE_REJECTED;
}

static int look_at(
	const char *file, const char *keys, bool families, struct kp_verdict *verdict)
{
	struct kp_finding finding = {.verdict = verdict};
	struct kp_diag diag;
	owned_fd fd = kp_file_open(AT_FDCWD, file, NULL, &diag);

	if (fd < 0 || digest(fd, file, verdict, &diag) < 0) {
		kp_verdict_fail(verdict, state_for(diag.code), diag.code, diag.message);
		return 0;
	}
	int failed = supervise(fd, file, &finding);
	kp_finding_finish(&finding);
	if (!failed && keys)
		failed = offline_signature(fd, file, keys, !families, verdict);
	if (!failed && families && verdict->state == KP_STATE_ACTIVE)
		failed = check_note(verdict);
	return failed;
}

int offline_identify(const char *file, const char *keys, bool families)
{
	struct kp_verdict verdict = {.state = KP_STATE_ACTIVE};
	int result = look_at(file, keys, families, &verdict);
	owned_json *value = result < 0 ? NULL : kp_verdict_json(&verdict);
	owned_text text = value ? kp_json_dumps(value, JSON_COMPACT) : NULL;

	kp_verdict_finish(&verdict);
	/* What was built while memory was short may lack a part. */
	if (!text || kp_json_has_starved()) {
		(void)fprintf(stderr, "plugin-worker: cannot identify %s: %s\n", file,
			strerror(kp_json_has_starved() ? ENOMEM : errno));
		return EXIT_FAILURE;
	}
	(void)puts(text);
	return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
