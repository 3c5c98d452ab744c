/* SPDX-License-Identifier: MIT */
/* Starting a private plugind, and leaving nothing of it behind. */
#include "cmd/offline.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/field.h"
#include "cmd/session.h"
#include "lib/base/clock.h"
#include "lib/base/place.h"
#include "lib/registry/decisions.h"

enum {
	START_MS = 30000, /* until it listens */
	STEP_MS = 5,
	LOG_BYTES = 4096,     /* of its last words */
	ARGUMENTS_MOST = 160, /* 64 directories and the others, with their names */
};

/* Is not passed on: its decisions are copied. */
static const char state_option[] = "state-dir";

static const struct question waiting = {"Status", {{"warnings", KP_JSON_ARRAY, true}}};

/* ---- the directory ------------------------------------------------------------ */

static int make_directory(struct session *session, struct offline *offline)
{
	const char *base = getenv("TMPDIR");
	size_t room = sizeof(offline->directory) - sizeof("/kplug-offline.XXXXXX");
	if (!base || base[0] != '/' || strlen(base) > room)
		base = "/tmp";
	(void)snprintf(offline->directory, sizeof(offline->directory),
		"%s/kplug-offline.XXXXXX", base);
	if (mkdtemp(offline->directory)) {
		(void)snprintf(offline->socket, sizeof(offline->socket), "%s/socket",
			offline->directory);
		return KP_EXIT_OK;
	}
	int error = errno;
	offline->directory[0] = '\0';
	return output_refuse(&session->output, "write_failed", base,
		"cannot make a directory for the private plugind in %s: %s", base,
		strerror(error));
}

/* Takes the descriptor. Links are removed, never followed. */
static void empty_directory(int fd)
{
	struct dirent *entry;
	DIR *stream = fdopendir(fd);
	if (!stream) {
		(void)close(fd);
		return;
	}
	while ((entry = readdir(stream))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		int below = openat(fd, entry->d_name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (below >= 0) {
			/* Entries of the store are read-only. */
			(void)fchmod(below, 0700);
			empty_directory(below);
		}
		(void)unlinkat(fd, entry->d_name, below >= 0 ? AT_REMOVEDIR : 0);
	}
	(void)closedir(stream);
}

static void remove_directory(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0)
		empty_directory(fd);
	(void)rmdir(path);
}

/* ---- decisions ---------------------------------------------------------------- */

/* The file that a plugind of this machine would keep them in. malloc'ed or NULL. */
static char *decisions_file(const char *state_dir, bool system)
{
	owned_text usual = state_dir ? NULL : kp_place_state_dir(system);
	const char *dir = state_dir ? state_dir : usual;
	char *path = NULL;
	if (dir && asprintf(&path, "%s/decisions.json", dir) < 0)
		path = NULL;
	return path;
}

static int copy_to(const struct offline *offline, const char *text, size_t size,
	struct kp_diag *diag)
{
	char path[sizeof(offline->directory) + 8];
	(void)snprintf(path, sizeof(path), "%s/state", offline->directory);
	if (mkdir(path, 0700) < 0)
		return kp_diag_set(diag, "write_failed", path, "cannot make %s: %s", path,
			strerror(errno));
	owned_fd dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return kp_file_replace(dir, "decisions.json", text, size, 0600, false, diag);
}

/* Were there any? Those that may not be read are said, and the next place is asked. */
static bool take_decisions(
	struct session *session, const struct offline *offline, const char *path)
{
	struct kp_diag diag;
	owned_text text = NULL;
	size_t size = 0;
	int result = kp_file_read(AT_FDCWD, path, KP_JSON_BYTES, &text, &size, &diag);
	if (result < 0 && strcmp(diag.code, "missing_file") == 0)
		return false;
	if (result == 0)
		result = copy_to(offline, text, size, &diag);
	if (result == 0)
		return true;
	output_warn(&session->output,
		"decisions are not applied (what is disabled or pinned on this machine "
		"is not here): %s",
		diag.message);
	return false;
}

static void bring_decisions(struct session *session, const struct offline *offline)
{
	const char *named = arguments_value(&session->arguments, state_option);
	bool found = false;
	for (int system = 1; system >= 0 && !found; system--) {
		owned_text path = decisions_file(named, system);
		found = (path && take_decisions(session, offline, path)) || named;
	}
}

/* ---- processes ----------------------------------------------------------------- */

struct words {
	bool incomplete;
	size_t count;
	char *list[ARGUMENTS_MOST];
};

static void add_word(struct words *words, const char *format, const char *value)
{
	char *word = NULL;
	if (words->count + 1 == ARGUMENTS_MOST)
		return; /* plugind refuses that many directories, and says so */
	if (asprintf(&word, format, value) >= 0)
		words->list[words->count++] = word;
	else
		words->incomplete = true;
}

static void words_finish(struct words *words)
{
	for (size_t i = 0; i < words->count; i++)
		free(words->list[i]);
}

/* Whether all are there: nothing runs with a part of what it was asked. */
static bool make_words(const struct session *session, const struct offline *offline,
	const char *program, struct words *words)
{
	add_word(words, "%s", program);
	add_word(words, "%s", "--transient");
	add_word(words, "--socket=%s", offline->socket);
	add_word(words, "--state-dir=%s/state", offline->directory);
	add_word(words, "--cache-dir=%s/cache", offline->directory);
	if (offline->any_files)
		add_word(words, "%s", "--any-files");
	for (const struct option *option = offline_options; option->name; option++) {
		const char *value;
		char format[32];
		size_t at = 0;
		if (strcmp(option->name, state_option) == 0)
			continue;
		(void)snprintf(format, sizeof(format), "--%s=%%s", option->name);
		while ((value = arguments_next(&session->arguments, option->name, &at)))
			add_word(words, format, value);
	}
	return !words->incomplete && words->count > 0;
}

/*
 * A child that has none of our descriptors but its end of the pipe: whoever waits for
 * the end of our output does not wait for it.
 */
static _Noreturn void keep(
	const struct offline *offline, struct words *words, int pipe_end)
{
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	/* Signals of the terminal are for pluginctl, whose end is the end of it all. */
	(void)setpgid(0, 0);
	for (int fd = 0; fd < 3; fd++)
		(void)dup2(null, fd);
	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawn_file_actions_adddup2(&actions, offline->log, STDERR_FILENO);
	if (posix_spawn(&pid, words->list[0], &actions, NULL, words->list, environ) == 0)
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	remove_directory(offline->directory);
	(void)close(pipe_end);
	_exit(0);
}

static int start_keeper(struct session *session, struct offline *offline)
{
	__attribute__((cleanup(words_finish))) struct words words = {0};
	int ends[2];
	owned_text program = kp_place_find("plugind");
	if (!program)
		return output_no_memory(&session->output);
	if (access(program, X_OK) < 0)
		return output_refuse(&session->output, "no_worker", program,
			"--offline needs plugind, and cannot run %s: %s", program,
			strerror(errno));
	if (!make_words(session, offline, program, &words))
		return output_no_memory(&session->output);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return output_refuse(&session->output, "io_error", program,
			"cannot make a pipe: %s", strerror(errno));
	offline->alive = ends[0];
	offline->keeper = fork();
	if (offline->keeper == 0)
		keep(offline, &words, ends[1]);
	(void)close(ends[1]);
	if (offline->keeper > 0)
		return KP_EXIT_OK;
	offline->keeper = 0;
	return output_refuse(&session->output, "io_error", program, "cannot fork: %s",
		strerror(errno));
}

/* It says why it ends on the last line that is not a note of its course. */
static int tell_end(struct session *session, const struct offline *offline)
{
	char text[LOG_BYTES + 1];
	off_t size = lseek(offline->log, 0, SEEK_END);
	off_t from = size > LOG_BYTES ? size - LOG_BYTES : 0;
	ssize_t n = pread(offline->log, text, LOG_BYTES, from);
	text[n > 0 ? n : 0] = '\0';
	while (n > 0 && text[n - 1] == '\n')
		text[--n] = '\0';
	const char *line = strrchr(text, '\n');
	line = line ? line + 1 : text;
	return output_refuse(&session->output, "worker_failed", "plugind",
		"the private plugind did not start: %s",
		*line ? line : "it said nothing");
}

static bool has_ended(const struct offline *offline)
{
	struct pollfd wanted = {.fd = offline->alive, .events = POLLIN};
	return poll(&wanted, 1, STEP_MS) > 0;
}

/* It listens before it has read its state, of which it may end. */
static bool is_there(
	struct session *session, const struct offline *offline, struct kp_diag *diag)
{
	struct kp_reply_message message;

	if (kp_client_open(offline->socket, session->timeout_ms, &session->client, diag) <
		0)
		return false;
	if (kp_client_call(session->client, "Status", NULL, &message, diag) == 0) {
		kp_reply_message_finish(&message);
		return true;
	}
	kp_client_close(session->client);
	session->client = NULL;
	return false;
}

static int await(struct session *session, const struct offline *offline)
{
	int64_t end =
		kp_clock_ms() + (session->timeout_given ? session->timeout_ms : START_MS);
	struct kp_diag diag;
	while (!is_there(session, offline, &diag)) {
		if (has_ended(offline))
			return tell_end(session, offline);
		if (kp_clock_ms() >= end)
			return output_fail_diag(&session->output, &diag);
	}
	return KP_EXIT_OK;
}

/* Probes take the time that they take, unless somebody has given a limit. */
static int settle(struct session *session)
{
	owned_json *reply = NULL;
	size_t i;
	json_t *warning;
	int limit = session->timeout_ms;
	if (!session->timeout_given)
		kp_client_set_timeout(session->client, -1);
	int status =
		session_ask(session, &waiting, json_pack("{s:b}", "wait", 1), &reply);
	if (status != KP_EXIT_OK)
		return status;
	kp_client_set_timeout(session->client, limit);
	json_array_foreach (json_object_get(reply, "warnings"), i, warning)
		if (!session->offline.any_files ||
			!field_is(warning, "code", "any_files"))
			output_warn(&session->output, "%s",
				field_text(warning, "message", "?"));
	return KP_EXIT_OK;
}

int offline_start(struct session *session)
{
	struct offline *offline = &session->offline;
	int status = make_directory(session, offline);
	if (status != KP_EXIT_OK)
		return status;
	char log[sizeof(offline->directory) + 8];
	(void)snprintf(log, sizeof(log), "%s/log", offline->directory);
	offline->log = open(log, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	bring_decisions(session, offline);
	status = start_keeper(session, offline);
	if (status == KP_EXIT_OK)
		status = await(session, offline);
	return status == KP_EXIT_OK ? settle(session) : status;
}

void offline_finish(struct offline *offline)
{
	if (!offline->directory[0])
		return;
	if (offline->keeper > 0)
		while (waitpid(offline->keeper, NULL, 0) < 0 && errno == EINTR)
			;
	else
		remove_directory(offline->directory);
	kp_file_close(&offline->log);
	kp_file_close(&offline->alive);
}
