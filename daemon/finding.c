/* SPDX-License-Identifier: MIT */
/* Report lines and ends of workers into a verdict. */
#include "daemon/finding.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "lib/spec.h"

enum { WARNINGS_MOST = 256 };

void verdict_fail(struct kp_verdict *verdict, enum kp_state state, const char *code,
	const char *message)
{
	char *copy = strdup(message ? message : "");

	verdict->state = state;
	(void)snprintf(verdict->code, sizeof(verdict->code), "%s", code);
	free(verdict->message);
	verdict->message = copy;
}

/* The code of a warning is static text elsewhere; here the verdict keeps it. */
static const char *keep_code(struct kp_verdict *verdict, const char *code)
{
	json_t *text = json_string(code);

	if (!verdict->codes)
		verdict->codes = json_array();
	if (json_array_append_new(verdict->codes, text) < 0)
		return NULL;
	return json_string_value(text);
}

void verdict_warn(struct kp_verdict *verdict, const char *code, const char *object,
	const char *message)
{
	struct kp_diag warning;

	if (verdict->warnings.count >= WARNINGS_MOST)
		return;
	const char *kept = keep_code(verdict, code);
	if (!kept)
		return;
	kp_diag_set(&warning, kept, object, "%s", message);
	kp_diags_add(&verdict->warnings, &warning);
}

static const char *text_of(const json_t *object, const char *key, const char *otherwise)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : otherwise;
}

static void replace(json_t **slot, json_t *value)
{
	json_decref(*slot);
	*slot = json_incref(value);
}

static void take_warnings(struct kp_verdict *verdict, const json_t *list)
{
	size_t i;
	json_t *item;

	json_array_foreach (list, i, item)
		verdict_warn(verdict, text_of(item, "code", "warning"),
			text_of(item, "object", ""), text_of(item, "message", ""));
}

static void take_failed(struct finding *finding, const json_t *line, const json_t *failed)
{
	const char *state = text_of(line, "state", "failed");
	bool rejected = strcmp(state, "rejected") == 0;

	/* The first one is the cause. */
	if (finding->failed)
		return;
	finding->failed = true;
	verdict_fail(finding->verdict, rejected ? KP_STATE_REJECTED : KP_STATE_FAILED,
		text_of(failed, "code", "failed"), text_of(failed, "message", ""));
}

static void take_kernel(struct kp_verdict *verdict, const json_t *line)
{
	bool available = json_is_true(json_object_get(line, "available"));
	struct kp_availability kernel = {.available = available};

	if (verdict->n_kernels >= KP_PLUGIN_KERNELS)
		return;
	struct kp_availability *kernels =
		reallocarray(verdict->kernels, verdict->n_kernels + 1, sizeof(*kernels));
	if (!kernels)
		return;
	verdict->kernels = kernels;
	kernel.kernel = strdup(text_of(line, "kernel", ""));
	kernel.message = available ? NULL : strdup(text_of(line, "message", ""));
	if (!available)
		(void)snprintf(kernel.code, sizeof(kernel.code), "%s",
			text_of(line, "code", "unavailable"));
	if (kernel.kernel && (available || kernel.message)) {
		kernels[verdict->n_kernels++] = kernel;
		return;
	}
	free(kernel.kernel);
	free(kernel.message);
}

void finding_line(struct finding *finding, const json_t *line)
{
	struct kp_verdict *verdict = finding->verdict;
	json_t *elf = json_object_get(line, "elf");
	json_t *note = json_object_get(line, "note");
	json_t *needs = json_object_get(line, "needs");
	json_t *failed = json_object_get(line, "failed");

	if (json_is_object(elf))
		replace(&verdict->elf, elf);
	if (json_is_object(note))
		replace(&verdict->note, note);
	if (json_is_array(needs))
		replace(&finding->needs, needs);
	if (json_is_object(failed))
		take_failed(finding, line, failed);
	if (json_is_string(json_object_get(line, "kernel")))
		take_kernel(verdict, line);
	take_warnings(verdict, json_object_get(line, "warnings"));
}

static json_t *text_or_null(const char *text)
{
	return text[0] ? kp_json_clean_string(text) : json_null();
}

static json_t *signal_json(int number)
{
	const char *name = sigabbrev_np(number);

	if (number == 0)
		return json_null();
	return name ? json_sprintf("SIG%s", name) : json_sprintf("signal %d", number);
}

static json_t *evidence(const struct kp_worker_result *result, int64_t now)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:I}", "stage",
		kp_json_clean_string(result->stage), "exit",
		result->exit < 0 ? json_null() : json_integer(result->exit), "signal",
		signal_json(result->signal), "loader", text_or_null(result->loader),
		"output", text_or_null(result->output), "at", (json_int_t)now);
}

/* A worker that reported a failure and ended as agreed: its words count. */
static enum finding_end ended_well(
	struct finding *finding, const struct kp_worker_result *result, int64_t now)
{
	if (!finding->failed)
		return FINDING_GOOD;
	json_decref(finding->verdict->evidence);
	finding->verdict->evidence = evidence(result, now);
	return FINDING_BAD;
}

enum finding_end finding_end(
	struct finding *finding, const struct kp_worker_result *result, int64_t now)
{
	struct kp_verdict *verdict = finding->verdict;

	verdict->probe_ms += result->elapsed_ms;
	if (result->end == KP_WORKER_DONE)
		return ended_well(finding, result, now);
	if (result->end == KP_WORKER_LOST || result->end == KP_WORKER_CANCELLED)
		return FINDING_LOST;
	verdict_fail(verdict, KP_STATE_FAILED,
		result->diag.code ? result->diag.code : "worker_failed",
		result->diag.message);
	json_decref(verdict->evidence);
	verdict->evidence = evidence(result, now);
	return FINDING_BAD;
}

void finding_finish(struct finding *finding)
{
	json_decref(finding->needs);
	finding->needs = NULL;
}
