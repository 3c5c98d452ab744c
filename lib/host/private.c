/* SPDX-License-Identifier: MIT */
/*
 * A plugind for applications where there is none: one a user, at the user's socket,
 * nobody's child, gone with its last client.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/owned.h"
#include "lib/base/place.h"
#include "lib/host/attach_state.h"

enum {
	START_MS = 15000,
	AGAIN_MS = 1000, /* one that has ended at once is started again after it */
	STEP_MS = 5,
};

static int cannot(const char *what, const char *object, int error, struct kp_diag *diag)
{
	return kp_diag_set(diag, "no_daemon", object,
		"no plugind listens, and a private one cannot be started: %s %s: %s",
		what, object, strerror(error));
}

/* ---- which program ------------------------------------------------------------- */

/* Beside this library, or where `make install` puts it, seen from there. */
static char *beside_library(void)
{
	static const char *const places[] = {
		"plugind", "../sbin/plugind", "../../sbin/plugind"};
	Dl_info info;
	static const char here;

	if (dladdr(&here, &info) == 0 || !info.dli_fname || !strchr(info.dli_fname, '/'))
		return NULL;
	int length = (int)(strrchr(info.dli_fname, '/') - info.dli_fname);
	for (size_t i = 0; i < KP_COUNT(places); i++) {
		char *path = NULL;
		if (asprintf(&path, "%.*s/%s", length, info.dli_fname, places[i]) < 0)
			return NULL;
		if (access(path, X_OK) == 0)
			return path;
		free(path);
	}
	return NULL;
}

static char *find_program(void)
{
	char *path = kp_place_find("plugind");

	if (path && access(path, X_OK) == 0)
		return path;
	char *other = beside_library();
	if (!other)
		return path;
	free(path);
	return other;
}

/* ---- starting it --------------------------------------------------------------- */

static int prepare(
	posix_spawnattr_t *attributes, posix_spawn_file_actions_t *files, const char *log)
{
	sigset_t all, none;

	(void)sigfillset(&all);
	(void)sigemptyset(&none);
	/* Nothing of the application's stays open in it, nor the terminal. */
	if (posix_spawn_file_actions_addopen(files, 0, "/dev/null", O_RDONLY, 0) != 0 ||
		posix_spawn_file_actions_addopen(files, 1, "/dev/null", O_WRONLY, 0) !=
			0 ||
		posix_spawn_file_actions_addopen(
			files, 2, log, O_WRONLY | O_CREAT | O_TRUNC, 0600) != 0 ||
		posix_spawn_file_actions_addclosefrom_np(files, 3) != 0)
		return -1;
	(void)posix_spawnattr_setsigdefault(attributes, &all);
	(void)posix_spawnattr_setsigmask(attributes, &none);
	return posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSID |
							    POSIX_SPAWN_SETSIGDEF |
							    POSIX_SPAWN_SETSIGMASK) == 0
		       ? 0
		       : -1;
}

/*
 * By way of a shell that ends at once: plugind is then a child of init's, and no zombie
 * of an application that waits for nobody.
 */
static int spawn(const char *program, const char *log, pid_t *shell)
{
	char *const arguments[] = {(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c",
		(char *)(uintptr_t) "\"$0\" --transient & exit 0",
		(char *)(uintptr_t)program, NULL};
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	int error = ENOMEM;

	if (posix_spawn_file_actions_init(&files) != 0)
		return ENOMEM;
	if (posix_spawnattr_init(&attributes) == 0) {
		if (prepare(&attributes, &files, log) == 0)
			error = posix_spawn(shell, "/bin/sh", &files, &attributes,
				arguments, environ);
		(void)posix_spawnattr_destroy(&attributes);
	}
	(void)posix_spawn_file_actions_destroy(&files);
	return error;
}

/* False: nobody wants it any more. */
static bool pause_a_step(int stop)
{
	struct pollfd wake = {.fd = stop, .events = POLLIN};
	return poll(&wake, 1, STEP_MS) <= 0;
}

static int interrupted(struct kp_diag *diag)
{
	return kp_diag_set(diag, "interrupted", "plugind",
		"the wait for a private plugind was ended");
}

/* NULL: nobody listens. */
static struct kp_client *knock(const char *socket)
{
	struct kp_client *client;

	return kp_client_open(socket, START_MS, &client, NULL) < 0 ? NULL : client;
}

static struct kp_client *await(const char *socket, int64_t end, int stop)
{
	struct kp_client *client;

	while (!(client = knock(socket)) && kp_clock_ms() < end)
		if (!pause_a_step(stop))
			return NULL;
	return client;
}

static int spawn_once(const char *program, const char *log, struct kp_diag *diag)
{
	pid_t shell;
	int error = spawn(program, log, &shell);

	if (error)
		return cannot("running", program, error, diag);
	/* An application that ignores SIGCHLD has no status to give. */
	while (waitpid(shell, NULL, 0) < 0 && errno == EINTR)
		;
	return 0;
}

static int start(const char *socket, int64_t deadline, int stop, struct kp_client **guest,
	struct kp_diag *diag)
{
	owned_text program = find_program();
	owned_text log = NULL;

	if (!program || asprintf(&log, "%s.log", socket) < 0)
		return kp_diag_no_memory(diag);
	if (access(program, X_OK) < 0)
		return cannot("the program", program, errno, diag);
	/*
	 * One that was killed a moment ago may still hold its locks, and the next ends
	 * then; one that is slow holds them against a third, which ends alike.
	 */
	do {
		if (spawn_once(program, log, diag) < 0)
			return -1;
		*guest = await(socket, kp_clock_ms() + AGAIN_MS, stop);
		if (*guest)
			return 0;
		if (!pause_a_step(stop))
			return interrupted(diag);
	} while (kp_clock_ms() < deadline);
	return kp_diag_set(diag, "no_daemon", socket,
		"%s was started, but does not listen at %s; see %s", program, socket,
		log);
}

/* ---- one at a time ------------------------------------------------------------- */

/* Waits for whoever starts one just now. The descriptor, or -1 with errno. */
static int take_turn(const char *path, int64_t deadline, int stop)
{
	owned_fd fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	while (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EINTR && errno != EWOULDBLOCK)
			return -1;
		if (kp_clock_ms() >= deadline || !pause_a_step(stop)) {
			errno = ETIMEDOUT;
			return -1;
		}
	}
	int taken = fd;
	fd = -1;
	return taken;
}

static int make_directory(const char *socket, struct kp_diag *diag)
{
	struct kp_diag why;
	char *directory = strndup(socket, (size_t)(strrchr(socket, '/') - socket));

	if (!directory)
		return kp_diag_no_memory(diag);
	int result = kp_file_make_dirs(directory, 0700, &why);
	free(directory);
	return result == 0 ? 0
			   : kp_diag_set(diag, "no_daemon", socket,
				     "no plugind listens, and a private one has no place "
				     "for its socket: %s; set XDG_RUNTIME_DIR",
				     why.message);
}

int kp_private_start(int stop, struct kp_client **guest, struct kp_diag *diag)
{
	int64_t deadline = kp_clock_ms() + START_MS;
	owned_text socket = kp_place_socket(false);
	owned_text turn = NULL;

	/* What starts a program by its caller's environment is nothing for setuid. */
	if (getauxval(AT_SECURE))
		return kp_diag_set(diag, "no_daemon", "plugind",
			"no plugind listens, and a program with more rights than its "
			"user starts none");
	if (!socket || asprintf(&turn, "%s.start", socket) < 0)
		return kp_diag_no_memory(diag);
	if (make_directory(socket, diag) < 0)
		return -1;
	owned_fd fd = take_turn(turn, deadline, stop);
	if (fd < 0)
		return cannot("locking", turn, errno, diag);
	*guest = knock(socket);
	return *guest ? 0 : start(socket, deadline, stop, guest, diag);
}
