/* SPDX-License-Identifier: MIT */
/* Starting, asking and ending plugind. */
#include "tests/support/plugind.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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
		bool is_own = i >= 4 || (i < 2 && plugind->has_own);
		arguments[n++] = path_in(is_own ? plugind->place : build(), parts[i]);
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

static void make_place(struct plugind *plugind)
{
	const char *base = getenv("TMPDIR");

	(void)snprintf(plugind->place, sizeof(plugind->place), "%s/kplug-test.XXXXXX",
		base && strlen(base) < 40 ? base : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(plugind->place));
	(void)snprintf(
		plugind->socket, sizeof(plugind->socket), "%s/socket", plugind->place);
}

void plugind_begin(struct plugind *plugind)
{
	plugind->has_own = false;
	make_place(plugind);
	plugind_start(plugind);
}

/* ---- plugins of its own -------------------------------------------------------- */

static void make_directory(const struct plugind *plugind, const char *name)
{
	char *path = path_in(plugind->place, name);
	ck_assert_int_eq(mkdir(path, 0755), 0);
	free(path);
}

void plugind_begin_with(struct plugind *plugind, const char *const *names, size_t n_names)
{
	plugind->has_own = true;
	make_place(plugind);
	make_directory(plugind, "plugins");
	make_directory(plugind, "plugins/plugins.d");
	for (size_t i = 0; i < n_names; i++)
		plugind_put(plugind, names[i], 0);
	plugind_start(plugind);
}

/* "plugins/NAME.so" or its manifest; the caller frees it. */
static char *file_of(const char *directory, const char *name, bool is_manifest)
{
	char *path = NULL;
	ck_assert_int_ge(asprintf(&path, "%s/plugins/%s%s.%s", directory,
				 is_manifest ? "plugins.d/" : "", name,
				 is_manifest ? "json" : "so"),
		0);
	return path;
}

/* Bytes that no reader of an ELF file looks at tell versions apart. */
static void copy(const char *from, const char *to, unsigned more)
{
	FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
	char bytes[1 << 16];
	size_t n;

	ck_assert(in && out);
	while ((n = fread(bytes, 1, sizeof(bytes), in)) > 0)
		ck_assert_uint_eq(fwrite(bytes, 1, n, out), n);
	for (unsigned i = 0; i < more; i++)
		ck_assert_int_eq(fputc(0, out), 0);
	fclose(in);
	ck_assert_int_eq(fclose(out), 0);
}

/* As old as one that was installed: a young file is waited for. */
static void put_file(const struct plugind *plugind, const char *name, bool is_manifest,
	unsigned version)
{
	const struct timespec then[] = {
		{time(NULL) - 3600, version}, {time(NULL) - 3600, version}};
	char *from = file_of(build(), name, is_manifest);
	char *to = file_of(plugind->place, name, is_manifest);
	char *part = path_in(plugind->place, "part");

	copy(from, part, is_manifest ? 0 : version);
	ck_assert_int_eq(utimensat(AT_FDCWD, part, then, 0), 0);
	ck_assert_int_eq(chmod(part, 0755), 0);
	ck_assert_int_eq(rename(part, to), 0);
	free(part);
	free(to);
	free(from);
}

void plugind_put(const struct plugind *plugind, const char *name, unsigned version)
{
	put_file(plugind, name, false, version);
	put_file(plugind, name, true, 0);
}

void plugind_remove(const struct plugind *plugind, const char *name)
{
	for (int i = 0; i < 2; i++) {
		char *path = file_of(plugind->place, name, i == 0);
		(void)unlink(path);
		free(path);
	}
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
