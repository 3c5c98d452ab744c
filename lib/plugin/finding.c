/* SPDX-License-Identifier: MIT */
/* Report lines and ends of workers into a verdict. */
#include "lib/plugin/finding.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/json.h"
#include "lib/base/text.h"
#include "lib/plugin/spec.h"

enum { WARNINGS_MOST = 256, MESSAGE = 1024 };
/* Of kp_finding.stages: none can follow. */
static const size_t RELOCATED = SIZE_MAX;

/* A code is matched by tools: whatever is none, or too long, says only that it failed. */
static const char *code_or(const char *code, size_t size, const char *otherwise)
{
	return code && kp_text_is_name(code) && strlen(code) < size ? code : otherwise;
}

/* Bounded and safe to show; malloc'ed, NULL when memory is exhausted. */
static char *copy_message(const char *message)
{
	char text[MESSAGE];

	(void)kp_text_clean(message ? message : "", text, sizeof(text));
	return strdup(text);
}

void kp_verdict_fail(struct kp_verdict *verdict, enum kp_state state, const char *code,
	const char *message)
{
	char *copy = copy_message(message);

	verdict->state = state;
	(void)snprintf(verdict->code, sizeof(verdict->code), "%s",
		code_or(code, sizeof(verdict->code), "worker_failed"));
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

void kp_verdict_warn(struct kp_verdict *verdict, const char *code, const char *object,
	const char *message)
{
	struct kp_diag warning;

	if (verdict->warnings.count >= WARNINGS_MOST)
		return;
	const char *kept =
		keep_code(verdict, code_or(code, sizeof(verdict->code), "warning"));
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

/* ---- lines ---------------------------------------------------------------------------
 */

static void take_warnings(struct kp_verdict *verdict, const json_t *list)
{
	size_t i;
	json_t *item;

	json_array_foreach (list, i, item)
		kp_verdict_warn(verdict, text_of(item, "code", NULL),
			text_of(item, "object", ""), text_of(item, "message", ""));
}

static void take_failed(struct kp_finding *finding, const json_t *line)
{
	const json_t *failed = json_object_get(line, "failed");
	bool rejected = strcmp(text_of(line, "state", "failed"), "rejected") == 0;

	/* The first one is the cause. */
	if (!json_is_object(failed) || finding->failed)
		return;
	if (strcmp(text_of(failed, "code", ""), "no_memory") == 0) {
		finding->no_memory = true;
		return;
	}
	finding->failed = true;
	/* Before anything of the plugin was looked at: no word on it. */
	finding->verdict->retry |=
		strcmp(text_of(failed, "code", ""), "sandbox_failed") == 0;
	kp_verdict_fail(finding->verdict, rejected ? KP_STATE_REJECTED : KP_STATE_FAILED,
		text_of(failed, "code", NULL), text_of(failed, "message", ""));
}

static const json_t *kernels_of(const struct kp_verdict *verdict)
{
	return json_object_get(verdict->note, "kernels");
}

/* The kernel whose answer is due, or "". */
static const char *due(const struct kp_verdict *verdict)
{
	return text_of(
		json_array_get(kernels_of(verdict), verdict->n_kernels), "name", "");
}

static void add_kernel(struct kp_finding *finding, const json_t *line)
{
	struct kp_verdict *verdict = finding->verdict;
	bool available = json_is_true(json_object_get(line, "available"));
	struct kp_availability kernel = {.available = available};
	struct kp_availability *kernels =
		reallocarray(verdict->kernels, verdict->n_kernels + 1, sizeof(*kernels));

	if (!kernels) {
		finding->no_memory = true;
		return;
	}
	verdict->kernels = kernels;
	kernel.kernel = strdup(text_of(line, "kernel", ""));
	kernel.message = available ? NULL : copy_message(text_of(line, "message", ""));
	if (!available)
		(void)snprintf(kernel.code, sizeof(kernel.code), "%s",
			code_or(text_of(line, "code", NULL), sizeof(kernel.code),
				"unavailable"));
	if (kernel.kernel && (available || kernel.message)) {
		kernels[verdict->n_kernels++] = kernel;
		return;
	}
	finding->no_memory = true;
	free(kernel.kernel);
	free(kernel.message);
}

/* The first one counts. */
static void garbled(struct kp_finding *finding, const char *what, const char *name)
{
	char clean[96], expected[96];

	if (finding->garbled[0])
		return;
	(void)kp_text_clean(name, clean, sizeof(clean));
	(void)kp_text_clean(due(finding->verdict), expected, sizeof(expected));
	(void)snprintf(finding->garbled, sizeof(finding->garbled),
		"the probe %s %s when %s was due", what, *clean ? clean : "\"\"",
		*expected ? expected : "the end");
}

/*
 * "load", then one for each kernel, before its answer. A worker that ends while the
 * library is relocated says so, and nothing after it.
 */
static void take_stage(struct kp_finding *finding, const char *stage)
{
	static const char probe[] = "probe kernel ";
	const char *expected = due(finding->verdict);

	if (finding->stages == 1 && strcmp(stage, "relocation") == 0) {
		finding->stages = RELOCATED;
		return;
	}
	bool good = finding->stages == 0
			    ? strcmp(stage, "load") == 0
			    : finding->stages == finding->verdict->n_kernels + 1 &&
				      *expected &&
				      strncmp(stage, probe, strlen(probe)) == 0 &&
				      strcmp(stage + strlen(probe), expected) == 0;

	if (good)
		finding->stages++;
	else
		garbled(finding, "began with", stage);
}

static void take_kernel(struct kp_finding *finding, const char *name, const json_t *line)
{
	const char *expected = due(finding->verdict);

	if (*expected && strcmp(name, expected) == 0 &&
		finding->stages == finding->verdict->n_kernels + 2)
		add_kernel(finding, line);
	else
		garbled(finding, "answered for the kernel", name);
}

static void forget_kernels(struct kp_verdict *verdict)
{
	for (size_t i = 0; i < verdict->n_kernels; i++) {
		free(verdict->kernels[i].kernel);
		free(verdict->kernels[i].message);
	}
	free(verdict->kernels);
	verdict->kernels = NULL;
	verdict->n_kernels = 0;
}

void kp_finding_begin(struct kp_finding *finding)
{
	forget_kernels(finding->verdict);
	finding->failed = finding->no_memory = false;
	finding->stages = 0;
	finding->garbled[0] = '\0';
}

void kp_finding_finish(struct kp_finding *finding)
{
	json_decref(finding->needs);
	json_decref(finding->unmet);
	finding->needs = finding->unmet = NULL;
}

static void add_needs(struct kp_finding *finding, json_t *needs)
{
	if (!finding->needs)
		finding->needs = json_array();
	if (!finding->needs || json_array_extend(finding->needs, needs) < 0)
		finding->no_memory = true;
}

void kp_finding_identify(struct kp_finding *finding, const json_t *line)
{
	struct kp_verdict *verdict = finding->verdict;
	json_t *elf = json_object_get(line, "elf");
	json_t *note = json_object_get(line, "note");
	json_t *needs = json_object_get(line, "needs");

	/* The first that an identify says: a worker that was lost may have said more. */
	if (json_is_object(elf)) {
		replace(&verdict->elf, elf);
		kp_finding_finish(finding);
	}
	if (json_is_object(note))
		replace(&verdict->note, note);
	if (json_is_array(needs))
		add_needs(finding, needs);
	if (json_object_get(line, "unmet"))
		replace(&finding->unmet, json_object_get(line, "unmet"));
	take_failed(finding, line);
	take_warnings(verdict, json_object_get(line, "warnings"));
}

void kp_finding_probe(struct kp_finding *finding, const json_t *line)
{
	static const char *const keys[] = {
		"stage", "kernel", "failed", "loader", "warnings"};
	const char *stage = json_string_value(json_object_get(line, "stage"));
	const char *kernel = json_string_value(json_object_get(line, "kernel"));
	bool known = false;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		known = known || json_object_get(line, keys[i]);
	if (!known)
		garbled(finding, "said", "what no probe says");
	if (stage)
		take_stage(finding, stage);
	if (kernel)
		take_kernel(finding, kernel, line);
	take_failed(finding, line);
	take_warnings(finding->verdict, json_object_get(line, "warnings"));
}

/* ---- ends ----------------------------------------------------------------------------
 */

static json_t *signal_json(int number)
{
	const char *name = sigabbrev_np(number);

	if (number == 0)
		return json_null();
	return name ? json_sprintf("SIG%s", name) : json_sprintf("signal %d", number);
}

/* What the worker printed, and where it was: the last mark counts. */
struct printed {
	char *output;
	const char *backtrace;
};

static struct printed split(const char *output)
{
	struct printed printed = {strdup(output), ""};
	char *mark = NULL;

	for (char *at = printed.output; at && (at = strstr(at, KP_BACKTRACE_MARK)); at++)
		mark = at;
	if (mark) {
		printed.backtrace = mark + strlen(KP_BACKTRACE_MARK);
		printed.backtrace += *printed.backtrace == '\n';
		while (mark > printed.output && mark[-1] == '\n')
			mark--;
		*mark = '\0';
	}
	return printed;
}

void kp_verdict_mark_evidence(struct kp_verdict *verdict)
{
	if (verdict->evidence && verdict->digest[0])
		(void)json_object_set_new(
			verdict->evidence, "sha256", json_string(verdict->digest));
}

/* The Evidence of the interface. */
static void keep_evidence(
	struct kp_verdict *verdict, const struct kp_worker_result *result, int64_t now)
{
	/* Where no signal ended it the worker has written none: the words are the
	 * plugin's.
	 */
	struct printed printed = result->signal
					 ? split(result->output)
					 : (struct printed){strdup(result->output), ""};

	json_decref(verdict->evidence);
	verdict->evidence = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:n, s:I}", "stage",
		kp_json_clean_string(result->stage), "exit",
		result->exit < 0 ? json_null() : json_integer(result->exit), "signal",
		signal_json(result->signal), "loader",
		kp_json_clean_or_null(result->loader), "output",
		kp_json_clean_or_null(printed.output), "backtrace",
		kp_json_clean_or_null(printed.backtrace), "sha256", "at",
		(json_int_t)now);
	free(printed.output);
	kp_verdict_mark_evidence(verdict);
}

/* A host does not refuse it: what the plugin is there is another thing than here. */
static void warn_refused(
	struct kp_verdict *verdict, const struct kp_worker_result *result)
{
	char text[sizeof(result->refused) + 128];

	if (!result->refused[0] || result->end == KP_WORKER_REFUSED)
		return;
	(void)snprintf(text, sizeof(text),
		"the sandbox of its worker refused something: %s", result->refused);
	kp_verdict_warn(verdict, "sandbox_refused", "", text);
}

enum kp_finding_end kp_finding_identified(
	struct kp_finding *finding, const struct kp_worker_result *result, int64_t now)
{
	struct kp_verdict *verdict = finding->verdict;

	if (result->end == KP_WORKER_LOST || result->end == KP_WORKER_CANCELLED ||
		finding->no_memory)
		return KP_FINDING_LOST;
	verdict->probe_ms += result->elapsed_ms;
	warn_refused(verdict, result);
	if (result->end == KP_WORKER_DONE && !finding->failed)
		return KP_FINDING_GOOD;
	/* A worker that reported a failure and ended as agreed: its words count. */
	if (result->end != KP_WORKER_DONE)
		kp_verdict_fail(verdict, KP_STATE_FAILED, result->diag.code,
			result->diag.message);
	keep_evidence(verdict, result, now);
	return KP_FINDING_BAD;
}

bool kp_finding_refuse(struct kp_finding *finding, int64_t now)
{
	static const struct kp_worker_result done = {.stage = "identify"};

	if (!finding->unmet)
		return false;
	kp_verdict_fail(finding->verdict, KP_STATE_REJECTED,
		text_of(finding->unmet, "code", NULL),
		text_of(finding->unmet, "message", ""));
	keep_evidence(finding->verdict, &done, now);
	return true;
}

/* Did it answer for each kernel? An end mark alone may be anybody's. */
static bool is_whole(struct kp_finding *finding)
{
	struct kp_verdict *verdict = finding->verdict;
	char text[400];

	if (finding->garbled[0])
		(void)snprintf(text, sizeof(text), "%s", finding->garbled);
	else if (verdict->n_kernels < json_array_size(kernels_of(verdict)))
		(void)snprintf(text, sizeof(text),
			"the probe ended without an answer for the kernel %s",
			due(verdict));
	else
		return true;
	kp_verdict_fail(verdict, KP_STATE_FAILED,
		finding->garbled[0] ? "garbled_report" : "incomplete_report", text);
	return false;
}

enum kp_finding_end kp_finding_probed(
	struct kp_finding *finding, const struct kp_worker_result *result, int64_t now)
{
	enum kp_finding_end end = kp_finding_identified(finding, result, now);

	if (end != KP_FINDING_GOOD || is_whole(finding))
		return end;
	keep_evidence(finding->verdict, result, now);
	return KP_FINDING_BAD;
}
