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

#include <nettle/sha2.h>

#include "daemon/worker/report.h"
#include "lib/file.h"
#include "lib/json.h"
#include "lib/supervisor.h"
#include "lib/verdict.h"

enum { TIMEOUT_MS = 30000 };

#define owned_fd __attribute__((cleanup(kp_file_close))) int

static int64_t now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void judge(struct kp_verdict *verdict, enum kp_state state, const char *code,
	const char *message)
{
	verdict->state = state;
	snprintf(verdict->code, sizeof(verdict->code), "%s", code);
	free(verdict->message);
	verdict->message = strdup(message);
}

/* The verdict keeps the list, which owns the codes of its warnings. */
static void add_warnings(struct kp_verdict *verdict, json_t *list)
{
	size_t i;
	json_t *item;
	if (!verdict->codes)
		verdict->codes = json_array();
	json_array_append(verdict->codes, list);
	json_array_foreach (list, i, item) {
		const char *message = kp_json_text(item, "message");
		const char *code = kp_json_text(item, "code");
		struct kp_diag diag;
		if (!message || !code)
			continue;
		kp_diag_set(&diag, code, NULL, "%s", message);
		kp_diags_add(&verdict->warnings, &diag);
	}
}

static void on_line(void *context, json_t *line)
{
	struct kp_verdict *verdict = context;
	json_t *failed = json_object_get(line, "failed");
	json_t *value;
	if ((value = json_object_get(line, "elf")) && !verdict->elf)
		verdict->elf = json_incref(value);
	if ((value = json_object_get(line, "note")) && !verdict->note)
		verdict->note = json_incref(value);
	if ((value = json_object_get(line, "needs")) && verdict->elf)
		json_object_set(verdict->elf, "libraries", value);
	if ((value = json_object_get(line, "warnings")))
		add_warnings(verdict, value);
	const char *code = kp_json_text(failed, "code");
	const char *message = kp_json_text(failed, "message");
	if (code && message)
		judge(verdict, KP_STATE_REJECTED, code, message);
}

static json_t *text_or_null(const char *text)
{
	return *text ? json_string(text) : json_null();
}

/* The Evidence of the interface. */
static void keep_evidence(
	struct kp_verdict *verdict, const struct kp_worker_result *result)
{
	char signal_name[32] = "";
	if (result->signal > 0)
		snprintf(signal_name, sizeof(signal_name), "SIG%s",
			sigabbrev_np(result->signal) ? sigabbrev_np(result->signal)
						     : "?");
	verdict->evidence = json_pack("{s:s, s:o, s:o, s:o, s:o, s:I}", "stage",
		result->stage, "exit",
		result->exit < 0 ? json_null() : json_integer(result->exit), "signal",
		text_or_null(signal_name), "loader", text_or_null(result->loader),
		"output", text_or_null(result->output), "at", (json_int_t)time(NULL));
}

static void conclude(struct kp_verdict *verdict, const struct kp_worker_result *result)
{
	verdict->probe_ms = result->elapsed_ms;
	if (result->end == KP_WORKER_DONE)
		return;
	judge(verdict, KP_STATE_FAILED, result->diag.code, result->diag.message);
	keep_evidence(verdict, result);
}

/* Waits for whatever comes first and tells the supervisor. */
static void wait_some(struct kp_supervisor *supervisor, pid_t child, int pidfd)
{
	int status;
	int64_t wait = kp_supervisor_deadline(supervisor) - now_ms();
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
		switch (kp_supervisor_step(supervisor, now_ms())) {
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

/* libelf reads what anybody may have made: not in the process that answers. */
_Noreturn static void be_child(int fd, const char *file, int report_fd, int output)
{
	struct report report = {.fd = report_fd};
	json_t *job = json_pack("{s:s, s:s}", "kind", job_identify.name, "file", file);
	if (!job || dup2(output, STDOUT_FILENO) < 0 || dup2(output, STDERR_FILENO) < 0)
		_exit(EXIT_FAILURE);
	_exit(job_identify.run(&report, job, &fd, 1));
}

static int supervise(int fd, const char *file, struct kp_verdict *verdict)
{
	int report[2];
	int output[2];
	if (pipe2(report, O_CLOEXEC) < 0 || pipe2(output, O_CLOEXEC) < 0)
		return -1;
	pid_t child = fork();
	if (child == 0)
		be_child(fd, file, report[1], output[1]);
	(void)close(report[1]);
	(void)close(output[1]);
	(void)fcntl(report[0], F_SETFL, O_NONBLOCK);
	(void)fcntl(output[0], F_SETFL, O_NONBLOCK);
	owned_fd pidfd = child < 0 ? -1 : pidfd_open(child, 0);
	if (pidfd < 0)
		return -1;
	int64_t now = now_ms();
	struct kp_supervisor *supervisor = kp_supervisor_new(
		report[0], output[0], now, now + TIMEOUT_MS, on_line, verdict);
	if (!supervisor)
		return -1;
	watch_over(supervisor, child, pidfd);
	conclude(verdict, kp_supervisor_result(supervisor));
	kp_supervisor_free(supervisor);
	return 0;
}

static int digest(int fd, struct kp_verdict *verdict)
{
	static const char digits[] = "0123456789abcdef";
	uint8_t bytes[64 << 10];
	uint8_t sum[SHA256_DIGEST_SIZE];
	struct sha256_ctx context;
	ssize_t n;
	sha256_init(&context);
	while ((n = pread(fd, bytes, sizeof(bytes), verdict->bytes)) > 0) {
		sha256_update(&context, (size_t)n, bytes);
		verdict->bytes += n;
	}
	sha256_digest(&context, sizeof(sum), sum);
	for (size_t i = 0; i < sizeof(sum); i++) {
		verdict->digest[i * 2] = digits[sum[i] >> 4];
		verdict->digest[i * 2 + 1] = digits[sum[i] & 15];
	}
	verdict->digest[sizeof(sum) * 2] = '\0';
	return n < 0 ? -1 : 0;
}

static int look_at(const char *file, struct kp_verdict *verdict)
{
	struct kp_diag diag;
	owned_fd fd = kp_file_open(AT_FDCWD, file, NULL, &diag);
	if (fd < 0) {
		bool missing = strcmp(diag.code, "missing_file") == 0;
		judge(verdict, missing ? KP_STATE_MISSING : KP_STATE_REJECTED, diag.code,
			diag.message);
		return 0;
	}
	if (digest(fd, verdict) < 0) {
		judge(verdict, KP_STATE_REJECTED, "io_error", strerror(errno));
		return 0;
	}
	return supervise(fd, file, verdict);
}

int offline_identify(const char *file)
{
	struct kp_verdict verdict = {.state = KP_STATE_ACTIVE};
	int result = look_at(file, &verdict);
	json_t *value = result < 0 ? NULL : kp_verdict_json(&verdict);
	if (!value)
		fprintf(stderr, "plugin-worker: cannot identify %s: %s\n", file,
			strerror(errno));
	else if (json_dumpf(value, stdout, JSON_COMPACT) == 0)
		putchar('\n');
	json_decref(value);
	kp_verdict_finish(&verdict);
	return value && fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
