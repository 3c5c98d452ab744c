/* SPDX-License-Identifier: MIT */
/* Bench: one at a time, row by row to who wants more. */
#include <stdlib.h>
#include <string.h>

#include "daemon/bench/bench.h"
#include "daemon/bench/bench_head.h"
#include "daemon/bench/bench_set.h"
#include "daemon/bench/bench_turn.h"
#include "daemon/daemon.h"
#include "daemon/method/method.h"
#include "daemon/pipeline/pool.h"
#include "lib/base/text.h"
#include "lib/protocol/message.h"
#include "lib/select/select.h"

static const char format[] = "kplug-bench/1";

/* Its client may leave before it is over: then nobody is answered. */
struct bench_call {
	struct daemon *daemon;
	struct call *call; /* NULL: has left */
	json_t *head;	   /* members of the first and the last reply */
	bool has_begun;
};

/* Takes all but the head, which may be NULL. */
static json_t *reply(json_t *head, json_t *run, json_t *progress, json_t *runs)
{
	json_t *all = json_pack("{s:s, s:o, s:o, s:o}", "format", format, "run", run,
		"progress", progress, "runs", runs);

	if (head && all && json_object_update(all, head) < 0) {
		json_decref(all);
		return NULL;
	}
	return all;
}

static void look(void *context, struct bench_plan *plan, size_t row)
{
	struct bench_call *asked = context;
	struct daemon *daemon = asked->daemon;

	bench_plan_look(plan, row, daemon_table(daemon), daemon->registry);
}

static void begins(void *context, const char *kernel, size_t done, size_t total)
{
	struct bench_call *asked = context;
	json_t *progress = json_pack("{s:I, s:I, s:s}", "done", (json_int_t)done, "total",
		(json_int_t)total, "kernel", kernel);

	if (asked->call)
		call_reply_continues(
			asked->call, reply(asked->has_begun ? NULL : asked->head,
					     json_null(), progress, json_null()));
	else
		json_decref(progress);
	asked->has_begun = true;
}

static void row(void *context, const json_t *run)
{
	struct bench_call *asked = context;

	if (asked->call)
		call_reply_continues(asked->call, reply(NULL, json_incref((json_t *)run),
							  json_null(), json_null()));
}

static void ended(void *context, const json_t *runs, const struct kp_diag *diag)
{
	struct bench_call *asked = context;
	struct daemon *daemon = asked->daemon;

	daemon->bench = NULL;
	if (asked->call && diag)
		call_fail_with(asked->call, KP_INTERFACE ".Failed", kp_diag_json(diag));
	else if (asked->call)
		call_reply(asked->call, reply(asked->head, json_null(), json_null(),
						json_incref((json_t *)runs)));
	json_decref(asked->head);
	free(asked);
	bench_turn_next(daemon);
}

static void gone(void *context)
{
	struct bench_call *asked = context;

	asked->call = NULL;
	bench_cancel(asked->daemon->bench);
}

/* An operation of the family whose name is nearest, or NULL. */
static const char *nearest_family(const char **operations, size_t count, const char *name)
{
	char **families = calloc(count + 1, sizeof(*families));
	const char *nearest = NULL;
	size_t n = 0;

	while (families && n < count &&
		(families[n] = strndup(operations[n], strcspn(operations[n], "/"))))
		n++;
	const char *found =
		n > 0 ? kp_text_nearest(name, (const char *const *)families, n) : NULL;
	for (size_t i = 0; found && i < n && !nearest; i++)
		if (strcmp(families[i], found) == 0)
			nearest = operations[i];
	while (n > 0)
		free(families[--n]);
	free(families);
	return nearest;
}

/* The nearest name of what was not found; NULL where there is none. */
void method_bench_fail(
	struct daemon *daemon, struct call *call, const struct kp_diag *diag)
{
	const char **operations = kp_table_operations(daemon_table(daemon));
	size_t count = 0;
	const char *nearest = NULL;

	while (operations && operations[count])
		count++;
	if (operations && strcmp(diag->code, "bad_operation") == 0)
		nearest = nearest_family(operations, count, diag->object);
	if (operations && !nearest &&
		(strcmp(diag->code, "unknown_operation") == 0 ||
			strcmp(diag->code, "bad_operation") == 0))
		nearest = kp_text_nearest(diag->object, operations, count);
	call_fail(call, diag, nearest);
	free(operations);
}

static void start(struct daemon *daemon, struct call *call, struct bench_plan *plan)
{
	struct bench_call *asked = calloc(1, sizeof(*asked));
	struct bench_events events = {look, begins, row, ended, asked};
	struct kp_diag diag;

	json_t *head = bench_head_json(
		plan, &daemon->platform, call_parameters(call), daemon_now());
	if (asked && head)
		daemon->bench = bench_start(&daemon->loop, daemon->pool, plan, &events);
	if (!asked || !daemon->bench) {
		bench_plan_finish(plan);
		json_decref(head);
		free(asked);
		(void)kp_diag_no_memory(&diag);
		call_fail(call, &diag, NULL);
		return;
	}
	*asked = (struct bench_call){.daemon = daemon, .call = call, .head = head};
	call_on_gone(call, gone, asked);
}

static void answer(struct daemon *daemon, struct call *call, void *context)
{
	const struct kp_table *table = daemon_table(daemon);
	struct bench_plan plan = {0};
	struct kp_diag diag;

	(void)context;
	if (!bench_turn_is_free(daemon, call))
		return;
	if (bench_set_make(&plan, table, daemon->registry, &daemon->families,
		    call_parameters(call), &diag) < 0) {
		bench_plan_finish(&plan);
		method_bench_fail(daemon, call, &diag);
		return;
	}
	start(daemon, call, &plan);
}

static void bench(struct daemon *daemon, struct call *call)
{
	bench_turn_wait(daemon, call, answer);
}

const struct method method_bench[] = {
	{"Bench", ROLE_OPERATOR, bench},
	{NULL, ROLE_ADMIN, NULL},
};
