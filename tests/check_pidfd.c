/* SPDX-License-Identifier: MIT */
/* The death of a peer, told apart from the end of its connection. */
#include <poll.h>
#include <stdbool.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/socket/pidfd.h"
#include "tests/support/suite.h"

enum { PATIENCE_MS = 60000 };

static int listener;
static struct sockaddr_un address;

static void setup(void)
{
	socklen_t size = sizeof(sa_family_t); /* the kernel chooses an abstract name */

	address = (struct sockaddr_un){.sun_family = AF_UNIX};
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, size), 0);
	ck_assert_int_eq(listen(listener, 4), 0);
}

static void teardown(void)
{
	(void)close(listener);
}

/* A child that connects, ends the connection when it is told, and then lives on. */
static pid_t start_child(int *server, int *tell)
{
	socklen_t size = sizeof(address);
	int pipes[2];
	char byte;

	ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&address, &size), 0);
	ck_assert_int_eq(pipe(pipes), 0);
	pid_t child = fork();
	if (child == 0) {
		int fd = socket(AF_UNIX, SOCK_STREAM, 0);
		if (connect(fd, (struct sockaddr *)&address, size) < 0)
			_exit(1);
		(void)!read(pipes[0], &byte, 1);
		(void)close(fd);
		for (;;)
			pause();
	}
	(void)close(pipes[0]);
	*tell = pipes[1];
	*server = accept(listener, NULL, NULL);
	ck_assert_int_ge(*server, 0);
	return child;
}

static bool is_dead(int pidfd, int wait_ms)
{
	struct pollfd alive = {.fd = pidfd, .events = POLLIN};
	return poll(&alive, 1, wait_ms) > 0;
}

START_TEST(it_is_of_the_process_that_connected)
{
	int server, tell;
	pid_t pid = 0;
	pid_t child = start_child(&server, &tell);
	int pidfd = pidfd_of_peer(server, &pid);

	ck_assert_int_ge(pidfd, 0);
	ck_assert_int_eq(pid, child);
	ck_assert(!is_dead(pidfd, 0));
	(void)kill(child, SIGKILL);
	ck_assert(is_dead(pidfd, PATIENCE_MS));
	(void)waitpid(child, NULL, 0);
	(void)close(pidfd);
	(void)close(server);
	(void)close(tell);
}
END_TEST

START_TEST(the_end_of_the_connection_is_no_death)
{
	int server, tell;
	pid_t pid;
	char byte;
	pid_t child = start_child(&server, &tell);
	int pidfd = pidfd_of_peer(server, &pid);

	ck_assert_int_eq(write(tell, "", 1), 1);
	ck_assert_int_eq(read(server, &byte, 1), 0);
	ck_assert(!is_dead(pidfd, 0));
	(void)kill(child, SIGKILL);
	ck_assert(is_dead(pidfd, PATIENCE_MS));
	(void)waitpid(child, NULL, 0);
	(void)close(pidfd);
	(void)close(server);
	(void)close(tell);
}
END_TEST

START_TEST(one_that_has_died_before_is_not_taken_for_another)
{
	int server, tell;
	pid_t pid;
	pid_t child = start_child(&server, &tell);

	(void)kill(child, SIGKILL);
	(void)waitpid(child, NULL, 0);
	int pidfd = pidfd_of_peer(server, &pid);
	ck_assert(pidfd < 0 || is_dead(pidfd, 0));
	if (pidfd >= 0)
		(void)close(pidfd);
	(void)close(server);
	(void)close(tell);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pidfd");
	TCase *tcase = tcase_create("pidfd");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, it_is_of_the_process_that_connected);
	tcase_add_test(tcase, the_end_of_the_connection_is_no_death);
	tcase_add_test(tcase, one_that_has_died_before_is_not_taken_for_another);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
