/* SPDX-License-Identifier: MIT */
/* Starting, asking and ending plugind. */
#include "tests/support/plugind.h"

#include <check.h>
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/protocol/client.h"

extern char **environ;

enum { ARGUMENTS = 24, STEP_NS = 2000000 };

static const char *build(void)
{
	const char *named = getenv("KPLUG_BUILD");
	return named ? named : "build";
}

/* "DIRECTORY/name", in a place of its own for each. */
static char *path_in(const char *directory, const char *name)
{
	char *path = NULL;
	ck_assert_int_ge(asprintf(&path, "%s/%s", directory, name), 0);
	return path;
}

void plugind_await(bool (*is_so)(void *context), void *context, const char *what)
{
	int64_t end = kp_clock_ms() + PLUGIND_PATIENCE_MS;
	const struct timespec step = {.tv_nsec = STEP_NS};

	while (!is_so(context)) {
		if (kp_clock_ms() > end)
			ck_abort_msg("waited in vain for %s", what);
		(void)nanosleep(&step, NULL);
	}
}

json_t *plugind_ask(const struct plugind *plugind, const char *method, json_t *parameters)
{
	struct kp_client *client;
	struct kp_reply_message reply;
	struct kp_diag diag = {.code = "ok"};

	ck_assert_msg(
		kp_client_open(plugind->socket, PLUGIND_PATIENCE_MS, &client, &diag) == 0,
		"%s", diag.message);
	ck_assert_msg(kp_client_call(client, method, parameters, &reply, &diag) == 0,
		"%s", diag.message);
	json_decref(parameters);
	kp_client_close(client);
	if (reply.error)
		ck_abort_msg("%s: %s", method,
			json_string_value(json_object_get(reply.parameters, "message")));
	json_t *got = json_incref(reply.parameters);
	kp_reply_message_finish(&reply);
	return got;
}

json_int_t plugind_decide(
	const struct plugind *plugind, const char *method, const char *name)
{
	json_t *reply = plugind_ask(plugind, method, json_pack("{s:s}", "name", name));
	json_int_t generation = json_integer_value(json_object_get(reply, "generation"));

	json_decref(reply);
	return generation;
}

json_t *plugind_client(const struct plugind *plugind, const char *name)
{
	json_t *reply = plugind_ask(plugind, "Clients", NULL);
	json_t *found = NULL;
	json_t *client;
	size_t i;

	json_array_foreach (json_object_get(reply, "clients"), i, client)
		if (strcmp(json_string_value(json_object_get(client, "name")), name) == 0)
			found = json_incref(client);
	json_decref(reply);
	return found;
}

static bool listens(void *context)
{
	const struct plugind *plugind = context;
	struct kp_client *client;

	if (waitpid(plugind->pid, NULL, WNOHANG) != 0)
		ck_abort_msg("plugind ended at once");
	if (kp_client_open(plugind->socket, PLUGIND_PATIENCE_MS, &client, NULL) < 0)
		return false;
	kp_client_close(client);
	return true;
}

void plugind_start(struct plugind *plugind)
{
	char *arguments[ARGUMENTS];
	size_t n = 0;
	const char *const options[][2] = {{"--manifest-dir", NULL},
		{"--plugin-dir", NULL}, {"--families-dir", NULL}, {"--worker", NULL},
		{"--state-dir", NULL}, {"--cache-dir", NULL}};
	const char *const parts[] = {"plugins/plugins.d", "plugins", "families",
		"plugin-worker", "state", "cache"};

	char *program = path_in(build(), "plugind");
	arguments[n++] = program;
	for (size_t i = 0; i < 6; i++) {
		arguments[n++] = (char *)(uintptr_t)options[i][0];
		arguments[n++] = path_in(i < 4 ? build() : plugind->place, parts[i]);
	}
	arguments[n++] = (char *)(uintptr_t) "--socket";
	arguments[n++] = plugind->socket;
	arguments[n++] = (char *)(uintptr_t) "--log-level";
	arguments[n++] = (char *)(uintptr_t) "error";
	arguments[n] = NULL;
	ck_assert_int_eq(
		posix_spawn(&plugind->pid, program, NULL, NULL, arguments, environ), 0);
	for (size_t i = 2; i < 14; i += 2)
		free(arguments[i]);
	free(program);
	plugind_await(listens, plugind, "plugind's socket");
	json_decref(plugind_ask(plugind, "Status", json_pack("{s:b}", "wait", 1)));
}

void plugind_begin(struct plugind *plugind)
{
	const char *base = getenv("TMPDIR");

	(void)snprintf(plugind->place, sizeof(plugind->place), "%s/kplug-test.XXXXXX",
		base && strlen(base) < 40 ? base : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(plugind->place));
	(void)snprintf(
		plugind->socket, sizeof(plugind->socket), "%s/socket", plugind->place);
	plugind_start(plugind);
}

void plugind_kill(struct plugind *plugind, int number)
{
	if (plugind->pid <= 0)
		return;
	(void)kill(plugind->pid, number);
	while (waitpid(plugind->pid, NULL, 0) < 0 && errno == EINTR)
		;
	plugind->pid = 0;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *walk)
{
	(void)st;
	(void)kind;
	(void)walk;
	return remove(path);
}

void plugind_end(struct plugind *plugind)
{
	plugind_kill(plugind, SIGTERM);
	(void)nftw(plugind->place, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
