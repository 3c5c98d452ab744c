/* SPDX-License-Identifier: MIT */
/* Times a service from its exec to the reply to one call, then ends it. */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char usage[] =
	"usage: start SOCKET CALL TEXT -- COMMAND...\n"
	"Prints the nanoseconds until the reply to CALL is here; it must hold TEXT.\n";

enum { REPLY_MOST = 8 << 20, AGAIN_NS = 50000 };

static int64_t now_ns(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static bool has_ended(pid_t pid)
{
	siginfo_t info = {0};
	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       info.si_pid == pid;
}

/* Nothing tells when a socket begins to listen: asks again until it does. */
static int dial(const char *path, pid_t pid)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const struct timespec pause = {.tv_nsec = AGAIN_NS};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	while (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		if (has_ended(pid))
			return -1;
		(void)nanosleep(&pause, NULL);
	}
	return fd;
}

/* Calls and receives up to the NUL at the reply's end; false when nothing comes. */
static bool ask(int fd, const char *call, char *reply)
{
	size_t used = 0;

	if (send(fd, call, strlen(call) + 1, MSG_NOSIGNAL) < 0)
		return false;
	while (used < REPLY_MOST) {
		ssize_t n = recv(fd, reply + used, REPLY_MOST - used, 0);
		if (n <= 0)
			return false;
		used += (size_t)n;
		if (reply[used - 1] == '\0')
			return true;
	}
	return false;
}

int main(int argc, char **argv)
{
	char *reply = malloc(REPLY_MOST);
	int status;
	pid_t pid;

	if (argc < 6 || strcmp(argv[4], "--") != 0 || !reply)
		return fputs(usage, stderr), 2;
	int64_t start = now_ns();
	if (posix_spawn(&pid, argv[5], NULL, NULL, argv + 5, environ))
		return fprintf(stderr, "start: cannot run %s\n", argv[5]), 1;
	int fd = dial(argv[1], pid);
	bool answered = fd >= 0 && ask(fd, argv[2], reply);
	int64_t end = now_ns();
	(void)kill(pid, SIGTERM);
	(void)waitpid(pid, &status, 0);
	if (!answered)
		return fprintf(stderr, "start: %s did not answer\n", argv[5]), 1;
	if (!strstr(reply, argv[3]))
		return fprintf(stderr, "start: not %s: %.400s\n", argv[3], reply), 1;
	printf("%lld\n", (long long)(end - start));
	free(reply);
	return 0;
}
