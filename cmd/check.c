/* SPDX-License-Identifier: MIT */
/* `pluginctl check`: is what lies in these files right? For people, editors and CI. */
#include "cmd/check.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/check_probe.h"
#include "cmd/command.h"
#include "cmd/findings.h"
#include "cmd/sarif.h"
#include "lib/base/json.h"
#include "lib/base/owned.h"
#include "lib/base/place.h"

/* ---- looking --------------------------------------------------------------------- */

static int by_operation(const void *a, const void *b)
{
	const struct kp_family *left = a;
	const struct kp_family *right = b;
	return strcmp(left->operation, right->operation);
}

/* One that is looked at stands for the one of its operation that is installed. */
static void add_family(struct check *check, struct kp_family *family)
{
	struct kp_families *families = &check->families;
	for (size_t i = 0; i < families->count; i++) {
		if (strcmp(families->items[i].operation, family->operation) == 0) {
			kp_family_finish(&families->items[i]);
			families->items[i] = *family;
			return;
		}
	}
	void *items = reallocarray(
		families->items, families->count + 1, sizeof(*families->items));
	if (!items) {
		kp_family_finish(family);
		check->lint.failed = true;
		return;
	}
	families->items = items;
	families->items[families->count++] = *family;
	qsort(families->items, families->count, sizeof(*families->items), by_operation);
}

static void check_family(struct check *check, const struct check_file *file)
{
	const struct kp_lint_text text = check_file_text(file);
	struct kp_family family;
	if (kp_lint_family(&check->lint, &text, &family))
		add_family(check, &family);
}

static void check_note(struct check *check, const struct check_file *file)
{
	struct check_plugin *plugin = check_add_plugin(check);
	if (!plugin)
		return;
	plugin->text = check_file_text(file);
	plugin->has_note = kp_lint_note(&check->lint, &plugin->text, file->root,
		&check->families, 0, &plugin->note);
	plugin->name = strdup(plugin->has_note ? plugin->note.name : "?");
	check->lint.failed |= !plugin->name;
}

static void check_unclaimed(struct check *check, const struct check_file *file)
{
	if (!check_is_claimed(check, file->path))
		check_library(check, file->path, file, NULL);
}

/* Families first: notes are held against them; libraries that nobody names last. */
static void look(struct check *check)
{
	static const struct {
		enum check_kind kind;
		void (*look)(struct check *check, const struct check_file *file);
	} passes[] = {
		{CHECK_FAMILY, check_family},
		{CHECK_NOTE, check_note},
		{CHECK_MANIFEST, check_manifest},
		{CHECK_LIBRARY, check_unclaimed},
	};
	for (size_t pass = 0; pass < KP_COUNT(passes); pass++)
		for (size_t i = 0; i < check->files.count; i++) {
			const struct check_file *file = &check->files.items[i];
			if (file->kind != passes[pass].kind)
				continue;
			if (file->kind != CHECK_LIBRARY)
				check->counts[file->kind]++;
			passes[pass].look(check, file);
		}
	check_together(check);
}

/* ---- before and after ------------------------------------------------------------ */

static int read_families(struct check *check)
{
	const char *named = arguments_value(&check->session->arguments, "families-dir");
	owned_text usual = named ? NULL : kp_place_find("families");
	struct kp_diags problems = {0};
	const char *dir = named ? named : usual;
	int result = dir ? kp_families_read(dir, &check->families, &problems) : -1;
	for (size_t i = 0; i < problems.count; i++)
		kp_lint_add_as(&check->lint, KP_SEVERITY_ERROR, dir, &problems.items[i]);
	kp_diags_finish(&problems);
	return result < 0 ? output_no_memory(&check->session->output) : KP_EXIT_OK;
}

static int collect(struct check *check)
{
	const struct session *session = check->session;
	struct kp_diag diag;
	for (size_t i = 0; i < session->arguments.n_words; i++)
		if (check_files_add(&check->files, session->arguments.words[i], &diag) <
			0)
			return output_fail_diag(&session->output, &diag);
	if (signed_read(&session->arguments, &check->wish, &diag) < 0)
		return output_fail_diag(&session->output, &diag);
	return read_families(check);
}

static void tell_nothing(struct check *check)
{
	struct kp_diag diag;
	for (size_t i = 0; i < CHECK_KINDS; i++)
		if (check->counts[i] > 0)
			return;
	if (json_array_size(check->lint.findings) > 0)
		return;
	kp_diag_set(&diag, "nothing_to_check", NULL,
		"no manifest, note, family or plugin is there");
	kp_lint_add(&check->lint, check->session->arguments.words[0], &diag);
}

/* ---- telling --------------------------------------------------------------------- */

static json_t *document(const struct check *check)
{
	json_t *checked = json_pack("{s:{s:I, s:I, s:I, s:I}}", "checked", "manifests",
		(json_int_t)check->counts[CHECK_MANIFEST], "notes",
		(json_int_t)check->counts[CHECK_NOTE], "families",
		(json_int_t)check->counts[CHECK_FAMILY], "libraries",
		(json_int_t)check->counts[CHECK_LIBRARY]);
	return kp_json_merge(findings_json(&check->lint), checked);
}

static void put_text(const struct check *check)
{
	const struct output *output = &check->session->output;
	char counts[FINDINGS_COUNTS];
	findings_put(output, &check->lint,
		arguments_has(&check->session->arguments, "strict"));
	output_remark(output,
		"%s; checked: manifests %zu, notes %zu, families %zu, libraries %zu",
		findings_counts(&check->lint, counts), check->counts[CHECK_MANIFEST],
		check->counts[CHECK_NOTE], check->counts[CHECK_FAMILY],
		check->counts[CHECK_LIBRARY]);
}

static int put(const struct check *check)
{
	const struct session *session = check->session;
	int status = findings_status(
		&check->lint, arguments_has(&session->arguments, "strict"));
	bool sarif = arguments_has(&session->arguments, "sarif");
	if (!sarif && !session->output.json) {
		put_text(check);
		return status;
	}
	owned_json *value =
		sarif ? sarif_document(check->lint.findings, status) : document(check);
	if (!value)
		return output_no_memory(&session->output);
	int printed = output_json(value);
	return printed == KP_EXIT_OK ? status : printed;
}

/* ---- the codes ------------------------------------------------------------------- */

static int put_codes(const struct session *session)
{
	const struct kp_code *code;
	owned_json *list = json_array();
	for (size_t i = 0; (code = kp_code_at(i)); i++) {
		if (!session->output.json) {
			output_line(&session->output, TONE_TITLE, "%s (%s)", code->code,
				kp_severity_name(code->severity));
			output_words(&session->output, 4, "%s", code->about);
			output_words(&session->output, 4, "%s", code->remedy);
			continue;
		}
		if (json_array_append_new(list,
			    json_pack("{s:s, s:s, s:s, s:s}", "code", code->code,
				    "severity", kp_severity_name(code->severity), "about",
				    code->about, "remedy", code->remedy)) < 0)
			return output_no_memory(&session->output);
	}
	owned_json *whole = json_pack("{s:O}", "codes", list);
	if (!session->output.json)
		return KP_EXIT_OK;
	return whole ? output_json(whole) : output_no_memory(&session->output);
}

/* ---- the command ----------------------------------------------------------------- */

/* What loading changes of a process is among the warnings that count with --strict. */
static bool is_probing(const struct arguments *arguments)
{
	return arguments_has(arguments, "probe") ||
	       (arguments_has(arguments, "strict") &&
		       !arguments_has(arguments, "no-probe"));
}

static int run_check(struct check *check)
{
	int status = collect(check);
	if (status != KP_EXIT_OK)
		return status;
	check_files_read(&check->files, &check->lint);
	look(check);
	if (is_probing(&check->session->arguments))
		status = check_probe(check);
	if (status != KP_EXIT_OK)
		return status;
	tell_nothing(check);
	return check->lint.failed ? output_no_memory(&check->session->output)
				  : put(check);
}

static int run(struct session *session)
{
	struct check check = {.session = session};
	const struct arguments *arguments = &session->arguments;
	if (arguments_has(arguments, "codes"))
		return put_codes(session);
	if (arguments->n_words == 0)
		return output_refuse(&session->output, "missing_argument", "check",
			"check needs a file or directory");
	if (session->output.json && arguments_has(arguments, "sarif"))
		return output_refuse(&session->output, "usage", "sarif",
			"--json and --sarif are two forms of one answer: choose one");
	if (arguments_has(arguments, "probe") && arguments_has(arguments, "no-probe"))
		return output_refuse(&session->output, "usage", "no-probe",
			"--probe and --no-probe contradict each other: choose one");
	int status = run_check(&check);
	check_finish(&check);
	return status;
}

static const struct option options[] = {
	{"strict", NULL, "warnings count, too; implies --probe", false},
	{"sarif", NULL, "print SARIF 2.1.0, as code hosts and editors read it", false},
	{"plugin-dir", "DIR", "where libraries without a path are", true},
	{"families-dir", "DIR", "families to hold notes against, instead of kplug's own",
		false},
	{"signatures", "[DIR=]POLICY",
		"ask for signatures as plugind would: off, warn, require", true},
	{"trusted-keys", "DIR", "public keys of minisign whose signatures count", false},
	{"probe", NULL,
		"also load the libraries, in workers of a plugind of the command's own",
		false},
	{"no-probe", NULL, "run nothing of a library, also with --strict", false},
	{"codes", NULL, "list all codes, what they mean and what to do", false},
	{NULL, NULL, NULL, false},
};

const struct command check_command = {
	.name = "check",
	.args = "FILE|DIR...",
	.least = 0,
	.most = 4096,
	.summary = "Check manifests, notes, families and libraries, for editors and CI",
	.help = "Needs no plugind. plugin-worker reads libraries; of those to probe code "
		"is run, confined, and what that changes of its process is told. "
		"Below a directory all *.json and *.so are looked at, and told apart by "
		"what is in them. A finding is one line, FILE:LINE:COLUMN: SEVERITY: "
		"CODE: TEXT, and an indented one with the remedy.\n"
		"Exit status 1 where there is an error, with --strict also where there "
		"is a warning; notes do not count. With --quiet errors alone are shown.",
	.options = options,
	.run = run,
};
