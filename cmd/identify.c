/* SPDX-License-Identifier: MIT */
/* Running plugin-worker and reading its verdict within bounds of time and size. */
#include "cmd/identify.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cmd/field.h"
#include "cmd/session.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/owned.h"
#include "lib/base/place.h"
#include "lib/plugin/verdict.h"
#include "lib/protocol/message.h"
#include "lib/registry/registry.h"

/* A verdict holds the note, which may have KP_JSON_BYTES, and what was seen beside. */
enum { PIECE = 64 << 10, ANSWER_BYTES = 4 * KP_JSON_BYTES };

struct looking {
	const char *mode, *file;
	const char *keys; /* or NULL */
};

/* Output that is being read. */
struct text {
	char *bytes;
	size_t used, room;
};

/* Its diagnostics on stderr are for those who run it by hand. */
static int spawn_worker(
	const char *worker, const struct looking *looking, int out, pid_t *pid)
{
	char *const argv[] = {(char *)(uintptr_t)worker, (char *)(uintptr_t)looking->mode,
		(char *)(uintptr_t)looking->file, (char *)(uintptr_t)looking->keys, NULL};
	posix_spawn_file_actions_t actions;
	int error = posix_spawn_file_actions_init(&actions);
	if (error)
		return error;
	error = posix_spawn_file_actions_addopen(
		&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (!error)
		error = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	if (!error)
		error = posix_spawn_file_actions_addopen(
			&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	if (!error)
		error = posix_spawn(pid, worker, &actions, NULL, argv, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	return error;
}

static bool make_room(struct text *text)
{
	if (text->room - text->used > PIECE)
		return true;
	size_t room = text->room ? text->room * 2 : (size_t)PIECE * 2;
	char *bytes = realloc(text->bytes, room);
	if (!bytes)
		return false;
	text->bytes = bytes;
	text->room = room;
	return true;
}

static int read_to_end(int fd, const char *file, int64_t deadline, struct text *text,
	struct kp_diag *diag)
{
	struct pollfd wanted = {.fd = fd, .events = POLLIN};
	for (;;) {
		int64_t left = deadline - kp_clock_ms();
		int wait = deadline == INT64_MAX ? -1 : left < 0 ? 0 : (int)left;
		int ready = poll(&wanted, 1, wait);
		if (ready == 0)
			return kp_diag_set(diag, "timed_out", file,
				"plugin-worker did not finish with %s in time", file);
		if (ready < 0 && errno == EINTR)
			continue;
		if (!make_room(text))
			return kp_diag_no_memory(diag);
		ssize_t n = read(fd, text->bytes + text->used, PIECE);
		if (n == 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return kp_diag_set(diag, "io_error", file, "plugin-worker: %s",
				strerror(errno));
		text->used += n > 0 ? (size_t)n : 0;
		if (text->used > ANSWER_BYTES)
			return kp_diag_set(diag, "json_too_large", file,
				"plugin-worker says more than %d bytes of %s",
				ANSWER_BYTES, file);
	}
}

/* The verdict is whole if it is JSON; a status says why it is not. */
static int understand(const char *file, const struct text *text, int status,
	struct kp_verdict *verdict, struct kp_diag *diag)
{
	owned_json *value = NULL;
	if (text->used == 0)
		return kp_diag_set(diag, "worker_failed", file,
			WIFSIGNALED(status)
				? "plugin-worker was ended by signal %d"
				: "plugin-worker said nothing and exited with %d",
			WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	if (kp_answer_parse(text->bytes, text->used, &value, diag) < 0)
		return -1;
	return kp_verdict_from_json(value, verdict, diag);
}

static int reap(pid_t pid)
{
	int status = 0;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

static int ask_worker(const struct looking *looking, int timeout_ms,
	struct kp_verdict *verdict, struct kp_diag *diag)
{
	const char *file = looking->file;
	int pipes[2];
	pid_t pid;
	struct text text = {0};
	owned_text worker = kp_place_find("plugin-worker");
	if (!worker)
		return kp_diag_no_memory(diag);
	if (pipe2(pipes, O_CLOEXEC) < 0)
		return kp_diag_set(diag, "io_error", file, "cannot make a pipe: %s",
			strerror(errno));
	owned_fd in = pipes[0];
	owned_fd out = pipes[1];
	int error = spawn_worker(worker, looking, out, &pid);
	if (error)
		return kp_diag_set(diag, "no_worker", worker, "cannot run %s: %s", worker,
			strerror(error));
	kp_file_close(&out);
	int64_t deadline = timeout_ms < 0 ? INT64_MAX : kp_clock_ms() + timeout_ms;
	int result = read_to_end(in, file, deadline, &text, diag);
	if (result < 0)
		(void)kill(pid, SIGKILL);
	int status = reap(pid);
	if (result == 0)
		result = understand(file, &text, status, verdict, diag);
	free(text.bytes);
	return result;
}

int identify_file(const char *file, const char *keys, int timeout_ms, json_t **info,
	struct kp_diag *diag)
{
	const struct looking looking = {"--identify", file, keys};
	struct kp_verdict verdict;
	if (ask_worker(&looking, timeout_ms, &verdict, diag) < 0)
		return -1;
	json_t *plugin = kp_verdict_info_json(&verdict, file);
	kp_verdict_finish(&verdict);
	json_t *whole = json_pack("{s:o}", "plugin", plugin);
	if (!whole)
		return kp_diag_no_memory(diag);
	*info = whole;
	return 0;
}

int identify_library(const char *file, const char *keys, int timeout_ms,
	struct kp_verdict *verdict, struct kp_diag *diag)
{
	const struct looking looking = {"--inspect", file, keys};

	return ask_worker(&looking, timeout_ms, verdict, diag);
}
