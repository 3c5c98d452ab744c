/* SPDX-License-Identifier: MIT */
/* Runs commands in turn, so many rounds, and prints the nanoseconds of each round. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char usage[] = "usage: clock ROUNDS -- COMMAND... [-- COMMAND...]...\n";

enum { COMMANDS_MOST = 8 };

static int64_t now_ns(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* From before it is started until it has ended. -1: it failed. */
static int64_t time_of(char **command, posix_spawn_file_actions_t *actions)
{
	int status;
	pid_t pid;
	int64_t start = now_ns();
	int error = posix_spawnp(&pid, command[0], actions, NULL, command, environ);

	if (error) {
		(void)fprintf(stderr, "clock: %s: %s\n", command[0], strerror(error));
		return -1;
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	int64_t end = now_ns();
	if (status == 0)
		return end - start;
	(void)fprintf(stderr, "clock: %s: wait status %d\n", command[0], status);
	return -1;
}

/* Cuts the arguments at each "--"; the number of commands. */
static size_t split(char **arguments, char ***commands)
{
	size_t n = 0;

	for (char **at = arguments; *at; at++) {
		if (strcmp(*at, "--") != 0)
			continue;
		*at = NULL;
		if (n == COMMANDS_MOST || !at[1] || strcmp(at[1], "--") == 0)
			return 0;
		commands[n++] = at + 1;
	}
	return n;
}

int main(int argc, char **argv)
{
	char **commands[COMMANDS_MOST];
	long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
	size_t n = argc > 2 && strcmp(argv[2], "--") == 0 ? split(argv + 2, commands) : 0;
	posix_spawn_file_actions_t silent;

	if (rounds < 1 || n == 0)
		return fputs(usage, stderr), 2;
	posix_spawn_file_actions_init(&silent);
	posix_spawn_file_actions_addopen(
		&silent, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	for (long round = 0; round < rounds; round++)
		for (size_t i = 0; i < n; i++) {
			int64_t ns = time_of(commands[i], &silent);
			if (ns < 0)
				return 1;
			printf("%lld%c", (long long)ns, i + 1 < n ? ' ' : '\n');
		}
	return fflush(stdout) == 0 ? 0 : 1;
}
