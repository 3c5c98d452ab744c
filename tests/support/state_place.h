/* SPDX-License-Identifier: MIT */
/* For Check tests: a state directory of their own, open, and what is put there. */
#ifndef TESTS_SUPPORT_STATE_PLACE_H
#define TESTS_SUPPORT_STATE_PLACE_H

#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <uv.h>

#include "daemon/state/state.h"

static char place[256], path[300];
static uv_loop_t loop;
static struct state *state;
static struct kp_decisions decisions;
static struct kp_diags warnings;
static struct kp_diag diag;

static inline void open_state(void)
{
	ck_assert_int_eq(state_open(&loop, path, false, &state, &diag), 0);
}

static inline void close_state(void)
{
	state_close(state);
	ck_assert_int_eq(uv_run(&loop, UV_RUN_DEFAULT), 0);
	state = NULL;
}

static inline void make_place(void)
{
	const char *tmp = getenv("TMPDIR");
	(void)snprintf(place, sizeof(place), "%s/kplug-state-XXXXXX", tmp ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(place));
	(void)snprintf(path, sizeof(path), "%s/deep/state", place);
	ck_assert_int_eq(uv_loop_init(&loop), 0);
	decisions = (struct kp_decisions){0};
	warnings = (struct kp_diags){0};
	open_state();
}

static inline void drop_place(void)
{
	char command[300];
	if (state)
		close_state();
	kp_decisions_finish(&decisions);
	kp_diags_finish(&warnings);
	ck_assert_int_eq(uv_loop_close(&loop), 0);
	(void)snprintf(command, sizeof(command), "rm -rf '%s'", place);
	ck_assert_int_eq(system(command), 0);
}

static inline void put(const char *name, const char *text)
{
	char file_path[400];
	(void)snprintf(file_path, sizeof(file_path), "%s/%s", path, name);
	FILE *file = fopen(file_path, "w");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(fputs(text, file), 0);
	ck_assert_int_eq(fclose(file), 0);
}

static inline bool is_there(const char *name)
{
	char file_path[400];
	(void)snprintf(file_path, sizeof(file_path), "%s/%s", path, name);
	return access(file_path, F_OK) == 0;
}

static inline void disable(const char *name, bool runtime)
{
	bool changed = false;
	ck_assert_int_eq(
		kp_decisions_disable(&decisions, name, "why", 1, 0, runtime, &changed),
		0);
}

/* What a reader would find when the callback is told. */
struct seen {
	size_t on_disk;
	int calls, failures;
};

static inline void on_kept(void *context, const struct kp_diag *failure)
{
	struct seen *seen = context;
	struct kp_decisions read;
	struct kp_diags none = {0};

	ck_assert_int_eq(state_decisions(state, &read, &none, &diag), failure ? -1 : 0);
	seen->on_disk = read.n_disabled;
	seen->calls++;
	seen->failures += failure != NULL;
	kp_decisions_finish(&read);
	kp_diags_finish(&none);
}

#endif
