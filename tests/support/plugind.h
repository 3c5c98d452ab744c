/* SPDX-License-Identifier: MIT */
/*
 * A real plugind for a Check test: in a directory of its own, with the plugins of the
 * build tree. Whatever fails fails the test; call plugind_end in its teardown.
 */
#ifndef TESTS_SUPPORT_PLUGIND_H
#define TESTS_SUPPORT_PLUGIND_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { PLUGIND_PATH = 108, PLUGIND_PATIENCE_MS = 60000 };

struct plugind {
	char place[PLUGIND_PATH - 16];
	char socket[PLUGIND_PATH];
	pid_t pid;    /* 0: not running */
	bool has_own; /* plugins in its place, not those of the build tree */
};

/* Makes the directory and starts it; everything is probed when this returns. */
void plugind_begin(struct plugind *plugind);
/* The same with copies of these plugins of the build tree, which tests may change. */
void plugind_begin_with(
	struct plugind *plugind, const char *const *names, size_t n_names);
/* Puts one there, or in the place of what is there: versions differ in their bytes. */
void plugind_put(const struct plugind *plugind, const char *name, unsigned version);
void plugind_remove(const struct plugind *plugind, const char *name);
/* Ends it, if need be, and removes the directory. */
void plugind_end(struct plugind *plugind);

/* Starts it again where it was. */
void plugind_start(struct plugind *plugind);
/* By a signal; waits until it is gone. */
void plugind_kill(struct plugind *plugind, int signal);

/* Asks over a connection of its own; takes parameters. */
json_t *plugind_ask(
	const struct plugind *plugind, const char *method, json_t *parameters);
/* {"name": name} to Disable and Enable; the generation. */
json_int_t plugind_decide(
	const struct plugind *plugind, const char *method, const char *name);
/* The Client of this name, a new reference; NULL: it is not attached. */
json_t *plugind_client(const struct plugind *plugind, const char *name);

/* Looks every few ms until it is so. */
void plugind_await(bool (*is_so)(void *context), void *context, const char *what);

#endif
