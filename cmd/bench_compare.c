/* SPDX-License-Identifier: MIT */
/* Loading, asking again, and telling what has changed. */
#include "cmd/bench_compare.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/bench_again.h"
#include "cmd/bench_ask.h"
#include "cmd/bench_change.h"
#include "cmd/bench_change_table.h"
#include "cmd/bench_file.h"
#include "cmd/field.h"

static const double threshold_preset = 5, threshold_most = 1000;

struct comparison {
	const char *path;
	json_t *old;	/* the whole result */
	json_t *runs;	/* those of it that count */
	json_t *now;	/* head and runs */
	double percent; /* threshold */
};

static void finish(struct comparison *comparison)
{
	json_decref(comparison->old);
	json_decref(comparison->runs);
	json_decref(comparison->now);
}

static int read_threshold(
	const struct arguments *arguments, double *percent, struct kp_diag *diag)
{
	const char *text = arguments_value(arguments, "threshold");
	char *end;
	*percent = threshold_preset;
	if (!text)
		return 0;
	errno = 0;
	*percent = strtod(text, &end);
	if (end != text && !*end && !errno && *percent >= 0 && *percent <= threshold_most)
		return 0;
	return kp_diag_set(diag, "bad_threshold", text,
		"--threshold %s: a percentage from 0 to %g is expected", text,
		threshold_most);
}

/* ---- may it be compared? ----------------------------------------------------- */

static char *machine_text(const json_t *machine)
{
	char *text;
	if (asprintf(&text, "%s, %lld cores, %lld MiB, fingerprint %.32s",
		    field_text(machine, "cpu", "a CPU without a name"),
		    (long long)field_int(machine, "cores"),
		    (long long)field_int(machine, "memory") >> 20,
		    field_text(machine, "fingerprint", "?")) < 0)
		return NULL;
	return text;
}

static int check_machine(
	struct session *session, const struct comparison *comparison, const json_t *head)
{
	const json_t *then = json_object_get(comparison->old, "platform");
	const json_t *now = json_object_get(head, "platform");
	owned_text was = machine_text(then);
	owned_text is = machine_text(now);
	if (field_is(now, "fingerprint", field_text(then, "fingerprint", "")))
		return KP_EXIT_OK;
	if (!was || !is)
		return output_no_memory(&session->output);
	return output_refuse(&session->output, "foreign_result", comparison->path,
		"%s is foreign: it was measured on other hardware (%s) than this (%s), "
		"and is not used",
		comparison->path, was, is);
}

static int check_families(
	struct session *session, const struct comparison *comparison, const json_t *head)
{
	const json_t *then = json_object_get(comparison->old, "families");
	const char *operation;
	json_t *revision;
	json_object_foreach (json_object_get(head, "families"), operation, revision) {
		json_int_t was = field_int(then, operation);
		json_int_t is = json_integer_value(revision);
		if (was != is)
			return output_refuse(&session->output, "other_revision",
				comparison->path,
				"%s is of revision %lld of %s, and plugind has revision "
				"%lld: what they measure is not the same",
				comparison->path, (long long)was, operation,
				(long long)is);
	}
	return KP_EXIT_OK;
}

static int begins(struct session *session, const json_t *head, void *context)
{
	const struct comparison *comparison = context;
	int status = check_machine(session, comparison, head);
	if (status != KP_EXIT_OK)
		return status;
	return check_families(session, comparison, head);
}

/* ---- measuring again --------------------------------------------------------- */

/* The parts of several answers are one result. */
static int add_document(struct comparison *comparison, const json_t *document)
{
	if (!comparison->now) {
		comparison->now = json_deep_copy(document);
		return comparison->now ? 0 : -1;
	}
	json_t *families = json_object_get(comparison->now, "families");
	(void)json_object_update(families, json_object_get(document, "families"));
	return json_array_extend(json_object_get(comparison->now, "runs"),
		json_object_get(document, "runs"));
}

/* Was it a kernel that is gone? Then the others are asked for. */
static bool drop_kernel(json_t *question, const struct bench_ask *ask)
{
	json_t *names = json_object_get(question, "kernels");
	const char *code = field_text(ask->said, "code", "");
	const char *object = field_text(ask->said, "object", "");
	size_t i;
	json_t *name;
	if (strcmp(code, "no_such_kernel") != 0)
		return false;
	json_array_foreach (names, i, name)
		if (strcmp(json_string_value(name), object) == 0)
			return json_array_remove(names, i) == 0;
	return false;
}

static int ask_again(struct session *session, struct comparison *comparison,
	json_t *question, bool may_drop)
{
	bool had_kernels = json_object_get(question, "kernels") != NULL;
	bool again = true;
	int status = KP_EXIT_OK;
	while (again && status == KP_EXIT_OK) {
		struct bench_ask ask = {question, begins, comparison, NULL, NULL, NULL};
		again = false;
		if (had_kernels && field_count(question, "kernels") == 0)
			return KP_EXIT_OK;
		status = bench_ask(session, &ask);
		if (status == KP_EXIT_OK && ask.error) {
			again = may_drop && drop_kernel(question, &ask);
			status = again ? KP_EXIT_OK : bench_ask_fail(session, &ask);
		} else if (status == KP_EXIT_OK &&
			   add_document(comparison, ask.document) < 0) {
			status = output_no_memory(&session->output);
		}
		bench_ask_finish(&ask);
	}
	return status;
}

static int ask_all(
	struct session *session, struct comparison *comparison, const json_t *asked)
{
	owned_json *questions =
		bench_again_questions(comparison->old, comparison->runs, asked);
	owned_json *own = NULL;
	bool may_drop = json_object_get(asked, "kernels") == NULL;
	size_t i;
	json_t *question;
	int status = KP_EXIT_OK;
	if (!questions)
		return output_no_memory(&session->output);
	json_array_foreach (questions, i, question) {
		/* Not the file's own list: names are taken out of it. */
		json_decref(own);
		own = json_deep_copy(question);
		if (!own)
			return output_no_memory(&session->output);
		if (status == KP_EXIT_OK)
			status = ask_again(session, comparison, own, may_drop);
	}
	return status;
}

/* ---- the answer -------------------------------------------------------------- */

static json_t *side_json(const char *path, const json_t *document)
{
	return json_pack("{s:s?, s:O?, s:O?, s:O?}", "file", path, "version",
		json_object_get(document, "version"), "when",
		json_object_get(document, "when"), "threads",
		json_object_get(document, "threads"));
}

static json_t *document_of(const struct comparison *comparison, bool is_whole)
{
	const json_t *now = comparison->now;
	json_t *rows = bench_change_rows(comparison->runs, json_object_get(now, "runs"),
		comparison->percent / 100, is_whole);
	json_t *counts = bench_change_counts(rows);
	return json_pack("{s:s, s:f, s:o, s:o, s:O, s:O, s:o, s:o}", "format",
		"kplug-compare/1", "threshold_percent", comparison->percent, "old",
		side_json(comparison->path, comparison->old), "new", side_json(NULL, now),
		"platform", json_object_get(comparison->old, "platform"), "families",
		json_object_get(comparison->old, "families"), "counts", counts, "rows",
		rows);
}

static bool is_whole(const json_t *asked)
{
	static const char *const narrower[] = {
		"signature", "shapes", "traits", "kernels"};
	for (size_t i = 0; i < KP_COUNT(narrower); i++)
		if (json_object_get(asked, narrower[i]))
			return false;
	return true;
}

static int show(
	struct session *session, struct comparison *comparison, const json_t *asked)
{
	const char *save = arguments_value(&session->arguments, "save");
	owned_json *document = document_of(comparison, is_whole(asked));
	if (!document)
		return output_no_memory(&session->output);
	int status = save && comparison->now
			     ? bench_file_save(&session->output, save, comparison->now)
			     : KP_EXIT_OK;
	if (status == KP_EXIT_OK)
		status = session->output.json
				 ? output_json(document)
				 : bench_change_table_print(&session->output, document);
	const json_t *counts = json_object_get(document, "counts");
	bool is_bad = field_int(counts, "slower") > 0 || field_int(counts, "wrong") > 0;
	return status == KP_EXIT_OK && is_bad ? KP_EXIT_NO : status;
}

static int compare(
	struct session *session, struct comparison *comparison, const json_t *asked)
{
	struct kp_diag diag;
	const char *operation = field_text(asked, "operation", NULL);
	if (read_threshold(&session->arguments, &comparison->percent, &diag) < 0 ||
		bench_file_load(comparison->path, &comparison->old, &diag) < 0 ||
		bench_again_select(comparison->old, operation, &comparison->runs, &diag) <
			0)
		return output_fail_diag(&session->output, &diag);
	int status = ask_all(session, comparison, asked);
	return status == KP_EXIT_OK ? show(session, comparison, asked) : status;
}

int bench_compare(struct session *session, const json_t *parameters)
{
	const char *save = arguments_value(&session->arguments, "save");
	struct comparison comparison = {
		.path = arguments_value(&session->arguments, "compare")};
	if (save && strcmp(save, "-") == 0)
		return output_refuse(&session->output, "usage", "--save",
			"--save - and --compare both write to standard output: save to a "
			"file");
	int status = compare(session, &comparison, parameters);
	finish(&comparison);
	return status;
}
