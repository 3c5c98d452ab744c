/* SPDX-License-Identifier: MIT */
/* A client finds its daemon, gets its replies, and never waits longer than it may. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/protocol/client.h"
#include "tests/support/suite.h"

/* A child that accepts one client, reads its call, and writes `bytes`. */
struct server {
	pid_t pid;
	char dir[64];
	char path[96];
};

struct answer {
	const char *bytes;
	size_t size;
	bool at_once; /* without reading the call */
	bool dribble; /* byte by byte */
	bool stay;    /* keep the connection open after */
	int times;    /* calls to read */
};

static void make_dir(struct server *server)
{
	const char *tmp = getenv("TMPDIR");
	(void)snprintf(server->dir, sizeof(server->dir), "%.40s/clientXXXXXX",
		tmp ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(server->dir));
	(void)snprintf(server->path, sizeof(server->path), "%s/socket", server->dir);
}

static int listen_at(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	ck_assert_uint_lt(strlen(path), sizeof(address.sun_path));
	memcpy(address.sun_path, path, strlen(path) + 1);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(listen(fd, 4), 0);
	return fd;
}

static bool read_call(int fd)
{
	char c;
	do
		if (read(fd, &c, 1) != 1)
			return false;
	while (c);
	return true;
}

static void answer_client(int fd, const struct answer *answer)
{
	for (int i = 0; i < (answer->times ? answer->times : 1); i++) {
		if (!answer->at_once && !read_call(fd))
			_exit(0);
		size_t piece = answer->dribble ? 1 : answer->size;
		for (size_t at = 0; at < answer->size; at += piece)
			if (write(fd, answer->bytes + at, piece) < 0)
				_exit(0);
	}
	char c;
	while (answer->stay && read(fd, &c, 1) == 1)
		;
	_exit(0);
}

static void serve(struct server *server, const struct answer *answer)
{
	make_dir(server);
	int listening = listen_at(server->path);
	server->pid = fork();
	ck_assert_int_ge(server->pid, 0);
	if (server->pid == 0) {
		(void)signal(SIGPIPE, SIG_IGN);
		int fd = accept(listening, NULL, NULL);
		answer_client(fd, answer);
	}
	(void)close(listening);
}

static void end(struct server *server)
{
	if (server->pid > 0) {
		(void)kill(server->pid, SIGKILL);
		(void)waitpid(server->pid, NULL, 0);
	}
	(void)unlink(server->path);
	(void)rmdir(server->dir);
}

#define ANSWER(text) .bytes = (text), .size = sizeof(text)

static struct kp_client *open_client(const struct server *server, int timeout_ms)
{
	struct kp_client *client = NULL;
	struct kp_diag diag;
	ck_assert_int_eq(kp_client_open(server->path, timeout_ms, &client, &diag), 0);
	ck_assert_str_eq(kp_client_path(client), server->path);
	return client;
}

static void call_fails(const struct answer *answer, int timeout_ms, const char *code)
{
	struct server server = {0};
	serve(&server, answer);
	struct kp_client *client = open_client(&server, timeout_ms);
	struct kp_reply_message reply;
	struct kp_diag diag;
	ck_assert_int_eq(kp_client_call(client, "List", NULL, &reply, &diag), -1);
	ck_assert_msg(!strcmp(diag.code, code), "%s: %s", diag.code, diag.message);
	ck_assert_ptr_nonnull(strstr(diag.message, server.path));
	/* The stream is of no use any more. */
	ck_assert_int_eq(kp_client_call(client, "List", NULL, &reply, &diag), -1);
	ck_assert_str_eq(diag.code, "disconnected");
	ck_assert_int_eq(kp_client_next(client, &reply, &diag), -1);
	ck_assert_str_eq(diag.code, "disconnected");
	kp_client_close(client);
	end(&server);
}

START_TEST(a_call_gets_its_reply)
{
	struct server server = {0};
	struct answer answer = {
		ANSWER("{\"parameters\":{\"x\":1}}"), .dribble = _i % 2, .times = 2};
	serve(&server, &answer);
	struct kp_client *client = open_client(&server, 60000);
	for (int i = 0; i < 2; i++) {
		struct kp_reply_message reply;
		struct kp_diag diag;
		ck_assert_int_eq(kp_client_call(client, "List", NULL, &reply, &diag), 0);
		ck_assert_ptr_null(reply.error);
		ck_assert_int_eq(
			json_integer_value(json_object_get(reply.parameters, "x")), 1);
		kp_reply_message_finish(&reply);
	}
	kp_client_close(client);
	end(&server);
}
END_TEST

START_TEST(an_error_is_a_reply)
{
	struct server server = {0};
	struct answer answer = {
		ANSWER("{\"error\":\"a.B\",\"parameters\":{\"code\":\"c\"}}")};
	serve(&server, &answer);
	struct kp_client *client = open_client(&server, -1);
	struct kp_reply_message reply;
	struct kp_diag diag;
	ck_assert_int_eq(kp_client_call(client, "x.Y", NULL, &reply, &diag), 0);
	ck_assert_str_eq(reply.error, "a.B");
	kp_reply_message_finish(&reply);
	kp_client_close(client);
	end(&server);
}
END_TEST

START_TEST(with_more_each_reply_is_handed_out)
{
	static const char replies[] = "{\"parameters\":{\"n\":0},\"continues\":true}\0"
				      "{\"parameters\":{\"n\":1},\"continues\":true}\0"
				      "{\"parameters\":{\"n\":2}}";
	struct server server = {0};
	struct answer answer = {ANSWER(replies), .dribble = _i % 2};
	serve(&server, &answer);
	struct kp_client *client = open_client(&server, 60000);
	struct kp_reply_message reply;
	struct kp_diag diag;
	ck_assert_int_eq(kp_client_call_more(client, "Bench", NULL, &reply, &diag), 0);
	for (int n = 0; n < 3; n++) {
		ck_assert_int_eq(
			json_integer_value(json_object_get(reply.parameters, "n")), n);
		ck_assert_int_eq(reply.continues, n < 2);
		bool more = reply.continues;
		kp_reply_message_finish(&reply);
		if (more)
			ck_assert_int_eq(kp_client_next(client, &reply, &diag), 0);
	}
	kp_client_close(client);
	end(&server);
}
END_TEST

START_TEST(a_reply_sent_before_the_daemon_hung_up_is_read)
{
	struct server server = {0};
	struct answer answer = {
		ANSWER("{\"error\":\"org.kplug.Manager.Busy\"}"), .at_once = true};
	serve(&server, &answer);
	struct kp_client *client = open_client(&server, 60000);
	(void)waitpid(server.pid, NULL, 0);
	server.pid = 0;
	json_t *large = json_pack("{s:o}", "x", json_array());
	for (int i = 0; i < 100000; i++)
		json_array_append_new(json_object_get(large, "x"), json_integer(i));
	struct kp_reply_message reply;
	struct kp_diag diag;
	ck_assert_int_eq(kp_client_call(client, "List", large, &reply, &diag), 0);
	ck_assert_str_eq(reply.error, "org.kplug.Manager.Busy");
	kp_reply_message_finish(&reply);
	json_decref(large);
	kp_client_close(client);
	end(&server);
}
END_TEST

START_TEST(a_daemon_that_hangs_up_is_disconnected)
{
	static const struct answer answers[] = {
		{.bytes = "", .size = 0},
		{.bytes = "{\"parameters\":", .size = 14},
		{.bytes = "{\"parameters\":{}}", .size = 17},
	};
	call_fails(&answers[_i], 60000, "disconnected");
}
END_TEST

START_TEST(garbage_is_a_bad_reply)
{
	static const struct answer answers[] = {
		{ANSWER("HTTP/1.1 400 Bad Request\r\n\r\n")},
		{ANSWER("")},
		{ANSWER("[1]")},
		{ANSWER("{\"parameters\":{\"x\":\"\xff\"}}")},
		{ANSWER("{\"parameters\":{},\"continues\":true}")},
	};
	call_fails(&answers[_i], 60000, "bad_reply");
}
END_TEST

START_TEST(a_reply_without_end_is_a_bad_reply)
{
	struct answer answer = {.size = KP_REPLY_BYTES + 4096};
	char *bytes = calloc(1, answer.size);
	ck_assert_ptr_nonnull(bytes);
	memset(bytes, 'x', answer.size);
	answer.bytes = bytes;
	call_fails(&answer, 60000, "bad_reply");
	free(bytes);
}
END_TEST

START_TEST(a_silent_daemon_times_out)
{
	static const struct answer answers[] = {
		{.bytes = "", .size = 0, .stay = true},
		{.bytes = "{\"parameters\"", .size = 13, .stay = true},
		{.bytes = "", .size = 0, .stay = true},
	};
	static const int timeouts[] = {50, 50, 0};
	call_fails(&answers[_i], timeouts[_i], "timed_out");
}
END_TEST

START_TEST(a_daemon_that_does_not_accept_times_out)
{
	struct server server = {0};
	make_dir(&server);
	int listening = listen_at(server.path);
	struct kp_client *clients[16];
	struct kp_diag diag;
	size_t n = 0;
	while (n < 16 && kp_client_open(server.path, 50, &clients[n], &diag) == 0)
		n++;
	ck_assert_uint_lt(n, 16);
	ck_assert_str_eq(diag.code, "timed_out");
	ck_assert_str_eq(diag.object, server.path);
	while (n > 0)
		kp_client_close(clients[--n]);
	(void)close(listening);
	end(&server);
}
END_TEST

static void open_fails(const char *path, const char *code, const char *word)
{
	struct kp_client *client = NULL;
	struct kp_diag diag;
	ck_assert_int_eq(kp_client_open(path, 1000, &client, &diag), -1);
	ck_assert_msg(!strcmp(diag.code, code), "%s: %s", diag.code, diag.message);
	ck_assert_msg(strstr(diag.message, word), "%s not in: %s", word, diag.message);
	ck_assert_ptr_null(client);
}

START_TEST(t66_a_path_that_is_too_long_is_refused_with_length_and_limit)
{
	static const size_t lengths[] = {108, 109, 300};
	char path[301];
	memset(path, 'p', sizeof(path));
	path[0] = '/';
	path[lengths[_i]] = '\0';
	char length[16];
	(void)snprintf(length, sizeof(length), "%zu bytes", lengths[_i]);
	open_fails(path, "path_too_long", length);
	open_fails(path, "path_too_long", "at most 107");
}
END_TEST

START_TEST(t66_a_path_of_107_bytes_is_tried)
{
	char path[108];
	memset(path, 'p', sizeof(path));
	path[0] = '/';
	path[107] = '\0';
	open_fails(path, "no_daemon", path);
}
END_TEST

START_TEST(a_place_where_nobody_listens_is_no_daemon)
{
	struct server server = {0};
	make_dir(&server);
	open_fails(server.path, "no_daemon", "No such file");
	(void)close(listen_at(server.path));
	open_fails(server.path, "no_daemon", "refused");
	char below[128];
	(void)snprintf(below, sizeof(below), "%s/x", server.path);
	open_fails(below, "no_daemon", "Not a directory");
	end(&server);
}
END_TEST

START_TEST(kplug_socket_names_the_place_and_an_argument_goes_before_it)
{
	struct server server = {0};
	struct answer answer = {ANSWER("{}")};
	serve(&server, &answer);
	ck_assert_int_eq(setenv("KPLUG_SOCKET", server.path, 1), 0);
	open_fails("/nowhere/else", "no_daemon", "/nowhere/else");
	struct kp_client *client;
	ck_assert_int_eq(kp_client_open(NULL, -1, &client, NULL), 0);
	ck_assert_str_eq(kp_client_path(client), server.path);
	kp_client_close(client);
	end(&server);
}
END_TEST

START_TEST(without_a_name_the_users_socket_follows_the_systems)
{
	struct server server = {0};
	make_dir(&server);
	ck_assert_int_eq(setenv("XDG_RUNTIME_DIR", server.dir, 1), 0);
	ck_assert_int_eq(setenv("KPLUG_SOCKET", "", 1), 0);
	if (access("/run/kplug/plugind.sock", F_OK) == 0)
		return; /* a daemon of this machine answers first */
	open_fails(NULL, "no_daemon", "/run/kplug/plugind.sock");
	open_fails(NULL, "no_daemon", server.dir);
	char dir[80];
	(void)snprintf(dir, sizeof(dir), "%s/kplug", server.dir);
	ck_assert_int_eq(mkdir(dir, 0700), 0);
	(void)snprintf(server.path, sizeof(server.path), "%s/plugind.sock", dir);
	int listening = listen_at(server.path);
	struct kp_client *client;
	ck_assert_int_eq(kp_client_open(NULL, -1, &client, NULL), 0);
	ck_assert_str_eq(kp_client_path(client), server.path);
	kp_client_close(client);
	(void)close(listening);
	(void)unlink(server.path);
	(void)rmdir(dir);
	end(&server);
}
END_TEST

START_TEST(a_socket_without_permission_is_not_permitted)
{
	struct server server = {0};
	make_dir(&server);
	int listening = listen_at(server.path);
	ck_assert_int_eq(chmod(server.dir, 0), 0);
	pid_t pid = fork();
	if (pid == 0) {
		/* Root would be let in. */
		if (geteuid() == 0 && setuid(65534) < 0)
			_exit(2);
		struct kp_client *client;
		struct kp_diag diag;
		int result = kp_client_open(server.path, 1000, &client, &diag);
		_exit(result < 0 && strcmp(diag.code, "not_permitted") == 0 ? 0 : 1);
	}
	int status;
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(chmod(server.dir, 0700), 0);
	(void)close(listening);
	end(&server);
}
END_TEST

START_TEST(closing_nothing_is_harmless)
{
	kp_client_close(NULL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("client");
	TCase *all = tcase_create("client");
	tcase_set_timeout(all, 60);
	tcase_add_loop_test(all, a_call_gets_its_reply, 0, 2);
	tcase_add_test(all, an_error_is_a_reply);
	tcase_add_loop_test(all, with_more_each_reply_is_handed_out, 0, 2);
	tcase_add_test(all, a_reply_sent_before_the_daemon_hung_up_is_read);
	tcase_add_loop_test(all, a_daemon_that_hangs_up_is_disconnected, 0, 3);
	tcase_add_loop_test(all, garbage_is_a_bad_reply, 0, 5);
	tcase_add_test(all, a_reply_without_end_is_a_bad_reply);
	tcase_add_loop_test(all, a_silent_daemon_times_out, 0, 3);
	tcase_add_test(all, a_daemon_that_does_not_accept_times_out);
	tcase_add_loop_test(
		all, t66_a_path_that_is_too_long_is_refused_with_length_and_limit, 0, 3);
	tcase_add_test(all, t66_a_path_of_107_bytes_is_tried);
	tcase_add_test(all, a_place_where_nobody_listens_is_no_daemon);
	tcase_add_test(all, kplug_socket_names_the_place_and_an_argument_goes_before_it);
	tcase_add_test(all, without_a_name_the_users_socket_follows_the_systems);
	tcase_add_test(all, a_socket_without_permission_is_not_permitted);
	tcase_add_test(all, closing_nothing_is_harmless);
	suite_add_tcase(suite, all);
	return suite_run(suite);
}
