/* SPDX-License-Identifier: MIT */
/* Verify: one at a time, beside no benchmark, row by row to who wants more. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/bench/bench.h"
#include "daemon/bench/bench_turn.h"
#include "daemon/bench/verify_plan.h"
#include "daemon/daemon.h"
#include "daemon/method/method.h"
#include "daemon/pipeline/pool.h"
#include "lib/base/json.h"
#include "lib/protocol/message.h"

static const char format[] = "kplug-verify/1";

/* Its client may leave before it is over: then nobody is answered. */
struct verification {
	struct daemon *daemon;
	struct call *call; /* NULL: has left */
	struct verify_plans plans;
	size_t at;	    /* plan */
	size_t done, total; /* rows */
	json_t *runs;
	json_t *hung; /* object: kernel and signature -> the shape that it hung in */
};

static void free_verification(struct verification *v)
{
	verify_plans_finish(&v->plans);
	json_decref(v->runs);
	json_decref(v->hung);
	free(v);
}

static json_t *reply(json_t *run, json_t *progress, json_t *runs, json_t *remarks)
{
	return json_pack("{s:s, s:o, s:o, s:o, s:o}", "format", format, "run", run,
		"progress", progress, "runs", runs, "remarks", remarks);
}

/* ---- events ------------------------------------------------------------------------ */

static const char *key_of(
	const char *kernel, const char *signature, char *text, size_t size)
{
	(void)snprintf(text, size, "%s %s", kernel, signature);
	return text;
}

/* What hangs, hangs: it is not waited for in every shape. */
static void give_up(struct verification *v, struct bench_plan *plan, size_t index)
{
	struct bench_row *row = &plan->rows[index];
	char key[KP_SIGNATURE_BYTES + 200];
	const json_t *shape = json_object_get(
		v->hung, key_of(row->source.id, plan->signature, key, sizeof(key)));

	if (!shape || row->verdict)
		return;
	row->verdict = "hung";
	row->message = strdup("not run: it hung in a shape before this one");
}

static void look(void *context, struct bench_plan *plan, size_t row)
{
	struct verification *v = context;

	if (!plan->rows[row].is_forced)
		bench_plan_look(plan, row, daemon_table(v->daemon), v->daemon->registry);
	give_up(v, plan, row);
}

static void begins(void *context, const char *kernel, size_t done, size_t total)
{
	struct verification *v = context;
	json_t *progress = json_pack("{s:I, s:I, s:s}", "done",
		(json_int_t)v->done + (json_int_t)done, "total", (json_int_t)v->total,
		"kernel", kernel);

	(void)total;
	if (v->call)
		call_reply_continues(
			v->call, reply(json_null(), progress, json_null(), json_null()));
	else
		json_decref(progress);
}

static void row(void *context, const json_t *run)
{
	struct verification *v = context;
	char key[KP_SIGNATURE_BYTES + 200];

	if (strcmp(kp_json_text(run, "verdict"), "hung") == 0)
		(void)json_object_set(v->hung,
			key_of(kp_json_text(run, "kernel"),
				kp_json_text(run, "signature"), key, sizeof(key)),
			json_object_get(run, "shape"));
	if (v->call)
		call_reply_continues(
			v->call, reply(json_incref((json_t *)run), json_null(),
					 json_null(), json_null()));
}

static void start(struct verification *v);

static void finish(struct verification *v, const struct kp_diag *diag)
{
	struct daemon *daemon = v->daemon;

	daemon->bench = NULL;
	if (v->call && diag)
		call_fail_with(v->call, KP_INTERFACE ".Failed", kp_diag_json(diag));
	else if (v->call)
		call_reply(v->call, reply(json_null(), json_null(), json_incref(v->runs),
					    json_incref(v->plans.remarks)));
	free_verification(v);
	bench_turn_next(daemon);
}

static void ended(void *context, const json_t *runs, const struct kp_diag *diag)
{
	struct verification *v = context;
	struct kp_diag lost;

	v->done += json_array_size(runs);
	if (!diag && json_array_extend(v->runs, (json_t *)runs) < 0) {
		(void)kp_diag_no_memory(&lost);
		diag = &lost;
	}
	if (diag || !v->call)
		finish(v, diag);
	else
		start(v);
}

/* The next plan that has rows, or the end. */
static void start(struct verification *v)
{
	const struct bench_events events = {look, begins, row, ended, v};
	struct daemon *daemon = v->daemon;
	struct kp_diag diag;

	while (v->at < v->plans.count && v->plans.items[v->at].n_rows == 0)
		v->at++;
	if (v->at == v->plans.count) {
		finish(v, NULL);
		return;
	}
	daemon->bench = bench_start(
		&daemon->loop, daemon->pool, &v->plans.items[v->at++], &events);
	if (daemon->bench)
		return;
	(void)kp_diag_no_memory(&diag);
	finish(v, &diag);
}

static void gone(void *context)
{
	struct verification *v = context;

	v->call = NULL;
	bench_cancel(v->daemon->bench);
}

/* ---- the call ---------------------------------------------------------------------- */

static struct verification *verification_new(struct daemon *daemon, struct call *call)
{
	struct verification *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	*v = (struct verification){.daemon = daemon,
		.call = call,
		.runs = json_array(),
		.hung = json_object()};
	if (v->runs && v->hung)
		return v;
	free_verification(v);
	return NULL;
}

static void answer(struct daemon *daemon, struct call *call, void *context)
{
	struct kp_diag diag;

	(void)context;
	if (!bench_turn_is_free(daemon, call))
		return;
	struct verification *v = verification_new(daemon, call);
	if (!v) {
		(void)kp_diag_no_memory(&diag);
		call_fail(call, &diag, NULL);
	} else if (verify_plans_make(&v->plans, daemon_table(daemon), daemon->registry,
			   &daemon->families, call_parameters(call), &diag) < 0) {
		method_bench_fail(daemon, call, &diag);
	} else {
		for (size_t i = 0; i < v->plans.count; i++)
			v->total += v->plans.items[i].n_rows;
		call_on_gone(call, gone, v);
		start(v);
		return;
	}
	if (v)
		free_verification(v);
}

static void verify(struct daemon *daemon, struct call *call)
{
	bench_turn_wait(daemon, call, answer);
}

const struct method method_verify[] = {
	{"Verify", ROLE_OPERATOR, verify},
	{NULL, ROLE_ADMIN, NULL},
};
