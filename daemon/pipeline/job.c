/* SPDX-License-Identifier: MIT */
/* Drives the supervisor of a job from the loop. */
#include "daemon/pipeline/job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/file.h"
#include "lib/base/json.h"
#include "lib/base/owned.h"

enum { START_MS = 10000 /* for the launcher to take a job */ };

static void close_files(struct pool_job *job)
{
	while (job->request.n_fds > 0)
		kp_file_close(&job->request.fds[--job->request.n_fds]);
}

static void job_free(struct pool_job *job)
{
	kp_supervisor_free(job->supervisor);
	kp_file_close(&job->report);
	kp_file_close(&job->output);
	close_files(job);
	json_decref(job->request.job);
	free(job);
}

static int copy_fds(struct pool_job *job, const struct pool_request *request)
{
	job->request.n_fds = 0;
	for (size_t i = 0; i < request->n_fds && i < POOL_FDS_MOST; i++) {
		int fd = fcntl(request->fds[i], F_DUPFD_CLOEXEC, 0);
		if (fd < 0)
			return -1;
		job->request.fds[job->request.n_fds++] = fd;
	}
	return 0;
}

struct pool_job *job_new(
	struct pool *pool, int64_t id, const struct pool_request *request)
{
	struct pool_job *job = calloc(1, sizeof(*job));
	if (!job)
		return NULL;
	job->pool = pool;
	job->id = id;
	job->report = job->output = -1;
	job->request = *request;
	job->terms.identifies = request->identifies;
	job->terms.kernels = request->kernels;
	json_incref(job->request.job);
	if (copy_fds(job, request) < 0) {
		job_free(job);
		return NULL;
	}
	return job;
}

static void on_handle_closed(uv_handle_t *handle)
{
	struct pool_job *job = handle->data;
	if (--job->handles > 0)
		return;
	struct pool *pool = job->pool;
	void (*gone)(struct pool *) = job->gone;
	job_free(job);
	gone(pool);
}

static void close_poll(uv_poll_t *poll)
{
	/* data is set once it is initialized. */
	if (poll->data)
		uv_close((uv_handle_t *)poll, on_handle_closed);
}

/* The one way out. It is gone for its owner from here on. */
static void end(struct pool_job *job, const struct kp_worker_result *result)
{
	/* Its owner may remove them now: to close the last descriptor of a file that has
	 * gone takes the time of the disk, and this is the loop. */
	close_files(job);
	job->ended(job, result);
	job->request.on_end(job->request.context, result);
	if (job->handles == 0) {
		job_free(job);
		return;
	}
	close_poll(&job->report_poll);
	close_poll(&job->output_poll);
	uv_close((uv_handle_t *)&job->timer, on_handle_closed);
}

/* Without a supervisor: nothing of it ever ran. */
static void end_unrun(struct pool_job *job, const struct kp_diag *why)
{
	struct kp_worker_result result = {.end = KP_WORKER_LOST, .exit = -1};
	if (job->cancelled) {
		result.end = KP_WORKER_CANCELLED;
		kp_diag_set(&result.diag, "cancelled", NULL, "cancelled before it ran");
	} else {
		kp_diag_set(&result.diag, "worker_lost", why ? why->object : NULL,
			"no worker could be run: %s",
			why ? why->message : "the launcher died");
	}
	end(job, &result);
}

static int64_t now_of(const struct pool_job *job)
{
	return (int64_t)uv_now(job->loop);
}

static void on_timer(uv_timer_t *timer);

static void arm(struct pool_job *job)
{
	int64_t wait = kp_supervisor_deadline(job->supervisor) - now_of(job);
	uv_timer_start(&job->timer, on_timer, (uint64_t)(wait > 0 ? wait : 0), 0);
	if (kp_supervisor_report_fd(job->supervisor) < 0)
		uv_poll_stop(&job->report_poll);
	if (kp_supervisor_output_fd(job->supervisor) < 0)
		uv_poll_stop(&job->output_poll);
}

/* After every event: does what the supervisor says. */
static void advance(struct pool_job *job)
{
	switch (kp_supervisor_step(job->supervisor, now_of(job))) {
	case KP_SUPERVISE_KILL:
		launcher_end_job(job->launcher, job->id);
		arm(job);
		break;
	case KP_SUPERVISE_WAIT:
		arm(job);
		break;
	case KP_SUPERVISE_DONE:
		end(job, kp_supervisor_result(job->supervisor));
		break;
	}
}

static void on_timer(uv_timer_t *timer)
{
	struct pool_job *job = timer->data;
	if (job->supervisor)
		advance(job);
	else
		/* It has not taken the job in all this time: it hangs. */
		launcher_kill(job->launcher);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	struct pool_job *job = poll->data;
	(void)status;
	(void)events;
	kp_supervisor_read(job->supervisor);
	/* Both are read, whichever it is. */
	if (job->request.on_output)
		job->request.on_output(
			job->request.context, kp_supervisor_printed(job->supervisor));
	advance(job);
}

static int watch(struct pool_job *job, uv_poll_t *poll, int fd)
{
	int error = uv_poll_init(job->loop, poll, fd);
	if (error)
		return error;
	poll->data = job;
	job->handles++;
	return uv_poll_start(poll, UV_READABLE, on_readable);
}

/* Its time counts from now on. */
void job_take_start(struct pool_job *job)
{
	int report = job->report;
	int output = job->output;
	struct kp_diag diag;
	if (job->supervisor)
		return;
	job->supervisor = kp_supervisor_new(report, output, &job->terms, now_of(job),
		now_of(job) + job->request.timeout_ms, job->request.on_line,
		job->request.context);
	if (!job->supervisor) {
		launcher_end_job(job->launcher, job->id);
		kp_diag_no_memory(&diag);
		end_unrun(job, &diag);
		return;
	}
	job->report = job->output = -1;
	if (watch(job, &job->report_poll, report) ||
		watch(job, &job->output_poll, output)) {
		launcher_end_job(job->launcher, job->id);
		kp_supervisor_lost(job->supervisor);
	}
	if (job->cancelled)
		kp_supervisor_cancel(job->supervisor);
	advance(job);
}

void job_take_end(struct pool_job *job, int status, bool lingered)
{
	if (!job->supervisor)
		return;
	kp_supervisor_ended(job->supervisor, status, lingered);
	advance(job);
}

void job_lose(struct pool_job *job, const struct kp_diag *why)
{
	if (!job->supervisor) {
		end_unrun(job, why);
		return;
	}
	kp_supervisor_lost(job->supervisor);
	advance(job);
}

void job_bereave(struct pool_job *job, bool launcher)
{
	if (!job->supervisor) {
		end_unrun(job, NULL);
		return;
	}
	kp_supervisor_bereaved(job->supervisor, launcher);
	advance(job);
}

void job_refuse(struct pool_job *job, const char *text, bool deadly)
{
	if (!job->supervisor)
		return;
	kp_supervisor_refused(job->supervisor, text, deadly);
	advance(job);
}

void job_cancel(struct pool_job *job)
{
	job->cancelled = true;
	if (!job->supervisor)
		return;
	/* From the timer, since this may be called from on_line. */
	kp_supervisor_cancel(job->supervisor);
	uv_timer_start(&job->timer, on_timer, 0, 0);
}

/* A pipe whose read end does not block. */
static int make_pipe(int *read_end, int *write_end)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	*read_end = ends[0];
	*write_end = ends[1];
	return fcntl(ends[0], F_SETFL, O_NONBLOCK);
}

/* The caller's job, and what only its worker is told. */
static char *job_text(const struct pool_job *job)
{
	json_t *copy = json_copy(job->request.job);
	char *text = NULL;
	if (json_object_set_new(copy, "mark", json_string(job->terms.mark)) == 0 &&
		json_object_set_new(copy, "deadline_ms",
			json_integer((json_int_t)job->request.timeout_ms)) == 0)
		text = kp_json_dumps(copy, JSON_COMPACT);
	json_decref(copy);
	return text;
}

static int ask(struct pool_job *job, struct kp_diag *diag)
{
	owned_fd report = -1;
	owned_fd output = -1;
	if (make_pipe(&job->report, &report) < 0 || make_pipe(&job->output, &output) < 0)
		return kp_diag_set(diag, "launcher_failed", NULL,
			"cannot make a pipe: %s", strerror(errno));
	if (kp_report_mark(&job->terms) < 0)
		return kp_diag_set(diag, "launcher_failed", NULL,
			"cannot make a mark: %s", strerror(errno));
	char *text = job_text(job);
	if (!text)
		return kp_diag_no_memory(diag);
	struct launcher_job asked = {
		.id = job->id,
		.text = text,
		.size = strlen(text),
		.report = report,
		.output = output,
		.fds = job->request.fds,
		.n_fds = job->request.n_fds,
	};
	int result = launcher_run(job->launcher, &asked, diag);
	free(text);
	return result;
}

void job_start(struct pool_job *job, uv_loop_t *loop, struct launcher *launcher)
{
	struct kp_diag diag;
	job->started = true;
	job->began_ms = uv_now(loop);
	job->loop = loop;
	job->launcher = launcher;
	uv_timer_init(loop, &job->timer);
	job->timer.data = job;
	job->handles = 1;
	if (ask(job, &diag) < 0)
		end_unrun(job, &diag);
	else
		uv_timer_start(&job->timer, on_timer, START_MS, 0);
}
