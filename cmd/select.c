/* SPDX-License-Identifier: MIT */
/* `pluginctl select` and `why`: the kernel that would run, and what became of the others.
 */
#include <stdint.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/exclusion.h"
#include "cmd/field.h"
#include "cmd/grid.h"
#include "cmd/nearest.h"
#include "cmd/request.h"
#include "cmd/session.h"
#include "lib/plugin/spec.h"

static const struct question selecting = {
	"Select", {{"operation", KP_JSON_STRING, true},
			  {"selected", KP_JSON_STRING | KP_JSON_NULL, true}}};

/* ---- the decision ------------------------------------------------------------ */

static void add_rank(struct grid *grid, const json_t *rank)
{
	if (!json_is_object(rank))
		return;
	json_int_t priority = field_int(rank, "priority");
	grid_pair(grid, "rank", "policy %lld, objective %lld, priority %lld (%s)",
		(long long)field_int(rank, "policy"),
		(long long)field_int(rank, "objective"), (long long)priority,
		kp_priority_band(
			priority < 0 || priority > INT32_MAX ? -1 : (int)priority));
}

static void add_override(struct grid *grid, const json_t *override)
{
	size_t i;
	json_t *ignored;
	if (!json_is_object(override))
		return;
	/* Where none applied, it has the words of the first that gave way. */
	ignored = json_array_get(json_object_get(override, "ignored"), 0);
	if (!field_is(ignored, "source", field_text(override, "source", "?")))
		grid_pair(grid, "override", "%s, by %s",
			field_text(override, "value", "?"),
			field_text(override, "source", "?"));
	json_array_foreach (json_object_get(override, "ignored"), i, ignored)
		grid_pair(grid, "ignored", "%s, by %s%s%s",
			field_text(ignored, "value", "?"),
			field_text(ignored, "source", "?"),
			field_text(ignored, "message", NULL) ? ": " : "",
			field_text(ignored, "message", ""));
}

static void add_fallback(struct grid *grid, const json_t *fallback)
{
	owned_text why = field_sentence(fallback, NULL);
	if (json_is_object(fallback))
		grid_pair(grid, "instead of", "%s: %s",
			field_text(fallback, "kernel", "?"), why ? why : "?");
}

static void add_signature(
	const struct session *session, struct grid *grid, const json_t *reply)
{
	const char *signature = field_text(reply, "signature", NULL);
	bool given = arguments_has(&session->arguments, "sig");
	if (signature)
		grid_pair(grid, "signature", "%s%s", signature,
			given ? "" : " (the family's defaults)");
}

static int put_decision(const struct session *session, const json_t *reply)
{
	struct grid grid = {.columns = grid_pairs, .n_columns = 2, .indent = 2};
	add_rank(&grid, json_object_get(reply, "rank"));
	add_signature(session, &grid, reply);
	field_pair_text(&grid, "device", reply, "device");
	add_override(&grid, json_object_get(reply, "override"));
	add_fallback(&grid, json_object_get(reply, "fallback_from"));
	if (field_int(reply, "guard") > 0)
		grid_pair(&grid, "guarded", "one call in %lld on a CPU",
			(long long)field_int(reply, "guard"));
	field_pair_list(&grid, "pending", reply, "pending");
	field_pair_warnings(&grid, reply);
	return grid_print(&grid, &session->output);
}

/* ---- why --------------------------------------------------------------------- */

static void add_verdict(struct grid *grid, const json_t *candidate, const char *selected)
{
	const json_t *reasons = json_object_get(candidate, "reasons");
	bool eligible = json_is_true(json_object_get(candidate, "eligible"));
	if (eligible && selected && field_is(candidate, "kernel", selected))
		grid_add(grid, TONE_GOOD, "selected");
	else if (eligible || json_array_size(reasons) == 0)
		grid_add(grid, TONE_PLAIN, eligible ? "eligible" : "not eligible");
	else
		exclusion_add(grid, reasons);
}

static void add_candidate(
	struct grid *grid, const json_t *candidate, const char *selected)
{
	const json_t *position = json_object_get(candidate, "position");
	const json_t *rank = json_object_get(candidate, "rank");
	grid_add(grid, TONE_PLAIN, "%s", field_text(candidate, "kernel", "?"));
	if (json_is_integer(position))
		grid_add(grid, TONE_PLAIN, "%lld",
			(long long)json_integer_value(position));
	else
		grid_add(grid, TONE_FAINT, "-");
	grid_add(grid, TONE_PLAIN, "%lld/%lld/%lld", (long long)field_int(rank, "policy"),
		(long long)field_int(rank, "objective"),
		(long long)field_int(rank, "priority"));
	add_verdict(grid, candidate, selected);
}

/* rank is policy/objective/priority, higher wins in this order. */
static int put_candidates(const struct session *session, const json_t *reply)
{
	static const struct grid_column columns[] = {
		{"KERNEL", false}, {"ORDER", true}, {"RANK", true}, {"VERDICT", false}};
	struct grid grid = {.columns = columns, .n_columns = 4};
	size_t i;
	json_t *candidate;
	json_array_foreach (json_object_get(reply, "candidates"), i, candidate)
		add_candidate(&grid, candidate, field_text(reply, "selected", NULL));
	return grid_print(&grid, &session->output);
}

static int put_why(const struct session *session, const json_t *reply)
{
	const char *selected = field_text(reply, "selected", NULL);
	if (session->output.quiet) {
		if (selected)
			output_line(&session->output, TONE_PLAIN, "%s", selected);
		return selected ? KP_EXIT_OK : KP_EXIT_NO;
	}
	int status = KP_EXIT_OK;
	if (selected) {
		output_line(&session->output, TONE_TITLE, "%s", selected);
		status = put_decision(session, reply);
	} else {
		output_line(&session->output, TONE_WARN, "no kernel of %s is eligible",
			field_text(reply, "operation", "?"));
		struct grid grid = {.columns = grid_pairs, .n_columns = 2, .indent = 2};
		add_signature(session, &grid, reply);
		field_pair_list(&grid, "pending", reply, "pending");
		field_pair_warnings(&grid, reply);
		status = grid_print(&grid, &session->output);
	}
	output_line(&session->output, TONE_PLAIN, "%s", "");
	if (field_count(reply, "candidates") && status == KP_EXIT_OK)
		status = put_candidates(session, reply);
	if (status != KP_EXIT_OK)
		return status;
	session_remark_pending(session, reply);
	return selected ? KP_EXIT_OK : KP_EXIT_NO;
}

/* ---- both -------------------------------------------------------------------- */

static json_t *parameters_of(const json_t *request)
{
	return json_pack("{s:O}", "request", request);
}

static int explain(struct session *session, const json_t *request)
{
	owned_json *reply = NULL;
	int status =
		session_ask(session, &nearest_question, parameters_of(request), &reply);
	if (status != KP_EXIT_OK)
		return status;
	if (!session->output.json)
		return put_why(session, reply);
	status = output_json(reply);
	return status != KP_EXIT_OK || field_text(reply, "selected", NULL) ? status
									   : KP_EXIT_NO;
}

static int choose(struct session *session, const json_t *request)
{
	owned_json *reply = NULL;
	int status = session_ask(session, &selecting, parameters_of(request), &reply);
	if (status != KP_EXIT_OK)
		return status;
	const char *selected = field_text(reply, "selected", NULL);
	if (session->output.json) {
		status = output_json(reply);
		return status != KP_EXIT_OK || selected ? status : KP_EXIT_NO;
	}
	if (!selected) {
		output_remark(&session->output,
			"pluginctl: %s: no kernel of %s is eligible",
			session->output.what, field_text(reply, "operation", "?"));
		return nearest_put(session, request);
	}
	output_line(&session->output, TONE_TITLE, "%s", selected);
	if (session->output.quiet)
		return KP_EXIT_OK;
	status = put_decision(session, reply);
	session_remark_pending(session, reply);
	return status;
}

static int run(struct session *session, bool why)
{
	struct kp_diag diag;
	owned_json *request = NULL;
	if (request_build(&session->arguments, session->arguments.words[0], &request,
		    &diag) < 0)
		return output_fail_diag(&session->output, &diag);
	int status = session_settle(session, request);
	if (status != KP_EXIT_OK)
		return status;
	return why ? explain(session, request) : choose(session, request);
}

static int run_select(struct session *session)
{
	return run(session, arguments_has(&session->arguments, "explain"));
}

static int run_why(struct session *session)
{
	return run(session, true);
}

/* The first is for select alone. */
static const struct option options[] = {
	{"explain", NULL, "the same as `pluginctl why`", false},
	{"sig", "SIGNATURE",
		"formats by role, a=f32,b=f32,c=f32: all key roles, or leave it out for "
		"the family's defaults",
		false},
	{"shape", "DIM=N[,DIM=N]", "extents, m=64,n=128", true},
	{"trait", "NAME=VALUE", "a trait: a number, true, false, a text, or a set 16|32",
		true},
	{"feature", "NAME", "a feature that the kernel must have", true},
	{"solution", "NAME", "only kernels of this solution", false},
	{"objective", "NAME",
		"default, latency, throughput, portability, determinism or debug", false},
	{"on", "PLATFORM",
		"what if: nvidia-9.0, amd-9.5, x86-64-v3, aarch64, or a JSON file",
		false},
	{"without", "NAME", "what if: leave out this plugin or plugin/kernel", true},
	{"override", "NAME", "this kernel, or this solution, whatever the rank", false},
	{"force", NULL, "let the --override skip traits and capability", false},
	SESSION_SETTLE,
	{NULL, NULL, NULL, false},
};

const struct command select_command = {
	.name = "select",
	.args = "FAMILY/MODE",
	.least = 1,
	.most = 1,
	.summary = "Tell the kernel that would run",
	.help = "The first line of the answer is the kernel, with --quiet the only one. "
		"Behind it: its rank, the signature, the device, the override, what it "
		"runs instead of, and warnings. Exit status 1 where nothing is eligible.",
	.options = options,
	.offline = true,
	.run = run_select,
};

const struct command why_command = {
	.name = "why",
	.args = "FAMILY/MODE",
	.least = 1,
	.most = 1,
	.summary = "Explain a selection: every kernel's rank, or what excluded it",
	.help = "Takes the options of `pluginctl select` and exits like it. RANK is "
		"policy/objective/priority; the higher wins, from left to right. Each "
		"predicate that excluded a kernel is shown with what it requires, what "
		"is there, and who asks for it.",
	.options = options + 1,
	.offline = true,
	.run = run_why,
};
