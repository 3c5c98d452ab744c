/* SPDX-License-Identifier: MIT */
/* Says what a library is, from its bytes alone: no code of it runs. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "daemon/worker/claim.h"
#include "daemon/worker/closure.h"
#include "daemon/worker/elf_facts.h"
#include "daemon/worker/elf_faults.h"
#include "daemon/worker/elf_image.h"
#include "daemon/worker/elf_isa.h"
#include "daemon/worker/elf_load.h"
#include "daemon/worker/elf_symbols.h"
#include "daemon/worker/elf_trusted.h"
#include "daemon/worker/fatbin.h"
#include "daemon/worker/note_elf.h"
#include "daemon/worker/provided.h"
#include "daemon/worker/report.h"
#include "daemon/worker/search.h"
#include "lib/base/build.h"
#include "lib/base/clock.h"
#include "lib/base/version.h"
#include "lib/base/json.h"
#include "lib/plugin/note.h"

/* A library that is looked at. */
struct subject {
	const struct report *report;
	const char *file;
	bool is_part; /* a library beside a plugin's: no note, and what it exports is its
			 own */
	struct elf_image image;
	json_t *facts;
	unsigned isa_needed; /* N of x86-64-vN, or 0 */
	struct fatbins gpu_code;
	struct elf_load load;
	struct kp_note note;
	struct kp_diags warnings;
	struct kp_diags faults; /* of the file: the first is why it is rejected */
	struct kp_diags unmet;	/* of this machine: it could not be loaded here */
};

static int read_note(struct subject *subject, struct kp_diag *diag)
{
	struct kp_diags own = {0};
	const char *text;
	size_t size;
	if (note_elf_find(&subject->image, &text, &size, diag) < 0)
		return -1;
	if (kp_report_values(text, size) > KP_REPORT_VALUES / 2)
		return kp_diag_set(diag, "too_many_values", NULL,
			"its note has more than %d values", KP_REPORT_VALUES / 2);
	/* What the note warns of is told by whoever reads the note that is reported. */
	int result = kp_note_parse(text, size, &subject->note, &own, diag);
	kp_diags_finish(&own);
	return result;
}

static void add_warnings(json_t *list, const struct kp_diags *warnings, size_t from)
{
	for (size_t i = from; i < warnings->count; i++) {
		const struct kp_diag *warning = &warnings->items[i];
		json_array_append_new(list,
			json_pack("{s:s, s:s, s:s}", "code", warning->code, "object",
				warning->object, "message", warning->message));
	}
}

/* Faults behind the first one are told beside the reason. */
static void report_warnings(const struct subject *subject, bool failed)
{
	json_t *list = json_array();
	add_warnings(list, &subject->faults, failed ? 0 : 1);
	add_warnings(list, &subject->unmet, failed || subject->faults.count ? 0 : 1);
	add_warnings(list, &subject->warnings, 0);
	report_line(subject->report, json_pack("{s:o}", "warnings", list));
}

/* Judged again as soon as what it depends on has changed: no word on the file itself. */
static void report_unmet(const struct subject *subject)
{
	const struct kp_diag *first = subject->unmet.items;
	if (subject->unmet.count > 0)
		report_line(
			subject->report, json_pack("{s:{s:s, s:s}}", "unmet", "code",
						 first->code, "message", first->message));
}

static bool is_listed(const json_t *list, const char *name)
{
	size_t i;
	json_t *item;
	json_array_foreach (list, i, item) {
		const char *known = json_string_value(json_object_get(item, "name"));
		if (known && strcmp(known, name) == 0)
			return true;
	}
	return false;
}

static void tell_absent(
	struct kp_diags *list, const char *code, const json_t *row, const char *by)
{
	const char *name = kp_json_text(row, "name");
	struct kp_diag diag;
	char text[sizeof(diag.message)];
	search_sentence(row, text, sizeof(text));
	if (by)
		kp_diag_set(&diag, code, name, "%s needs it: %.600s", by, text);
	else
		kp_diag_set(&diag, code, name, "%s", text);
	kp_diags_add(list, &diag);
}

/* Another one of this name lies with the plugin, and is not the one that is loaded. */
static void look_beside(
	struct subject *subject, const struct search_path *path, const json_t *found)
{
	const char *name = kp_json_text(found, "name");
	const char *taken = kp_json_text(found, "path");
	char beside[4096];
	struct stat here, there;
	struct kp_diag diag;
	int n = snprintf(beside, sizeof(beside), "%s/%s", path->origin, name);
	if (strchr(name, '/') || n < 0 || (size_t)n >= sizeof(beside) ||
		stat(beside, &here) < 0 || stat(taken, &there) < 0 ||
		(here.st_dev == there.st_dev && here.st_ino == there.st_ino))
		return;
	kp_diag_set(&diag, "shadowed_library", name,
		"%s lies beside it, but %s is found first", beside, taken);
	kp_diags_add(&subject->warnings, &diag);
}

/* A line each: where it was looked for may be long. */
static void look_for(struct subject *subject, const struct search_path *path,
	const char *name, json_t *list, bool opened)
{
	if (is_listed(list, name))
		return;
	json_t *found = search_library(path, name);
	if (found && !search_found(found) && opened)
		tell_absent(&subject->warnings, "needs_absent_library", found, NULL);
	if (found && search_found(found))
		look_beside(subject, path, found);
	json_array_append_new(list, json_pack("{s:s}", "name", name));
	report_line(subject->report, json_pack("{s:[o]}", "needs", found));
}

/* What it is loaded with, and whether that has all that it uses. */
static int check_closure(struct subject *subject, const struct search_path *path)
{
	struct closure closure = {0};
	size_t i;
	json_t *row;
	int result = closure_gather(&closure, subject->facts, path);
	json_array_foreach (closure.missing, i, row) {
		const char *by = kp_json_text(row, "by");
		tell_absent(&subject->unmet, "missing_library", row, by);
		/* Those that it needs itself have been reported. */
		if (by)
			report_line(subject->report, json_pack("{s:[O]}", "needs", row));
	}
	if (result == 0)
		result = provided_check(
			&subject->image, &closure, &subject->unmet, &subject->warnings);
	closure_finish(&closure);
	return result;
}

/* Those that the library is linked with, and those that its kernels open. */
static int report_libraries(struct subject *subject)
{
	char origin[4096];
	struct search_path path = {
		.origin = search_directory(subject->file, origin, sizeof(origin)),
		.rpath = json_object_get(subject->facts, "rpath"),
		.runpath = json_object_get(subject->facts, "runpath"),
		.machine = subject->image.header.e_machine,
		.class = subject->image.header.e_ident[EI_CLASS],
	};
	json_t *list = json_array();
	json_t *needed = json_object_get(subject->facts, "needed");
	for (size_t i = 0; i < json_array_size(needed); i++)
		look_for(subject, &path, json_string_value(json_array_get(needed, i)),
			list, false);
	for (size_t i = 0; i < subject->note.n_kernels; i++) {
		const struct kp_strings *needs = &subject->note.kernels[i].needs;
		for (size_t k = 0; k < needs->count; k++)
			look_for(subject, &path, needs->items[k], list, true);
	}
	json_decref(list);
	return check_closure(subject, &path);
}

/* What it has for which processors, beside what it asks of the loader. */
static int read_code(struct subject *subject, struct kp_diag *diag)
{
	json_t *facts = subject->facts;

	subject->isa_needed = elf_isa_needed(&subject->image);
	if (subject->isa_needed > 0)
		(void)json_object_set_new(facts, "isa_needed",
			json_sprintf("x86-64-v%u", subject->isa_needed));
	/* A part's code is that of whoever made it, and may be large. */
	if (subject->is_part)
		return 0;
	elf_load_read(&subject->image, &subject->load);
	(void)json_object_set_new(facts, "constructors",
		json_integer((json_int_t)subject->load.constructors));
	(void)json_object_set_new(
		facts, "ifuncs", json_integer((json_int_t)subject->load.ifuncs));
	if (fatbins_of_image(&subject->image, &subject->gpu_code) < 0)
		return kp_diag_no_memory(diag);
	if (subject->gpu_code.containers > 0)
		(void)json_object_set_new(facts, "gpu", fatbins_json(&subject->gpu_code));
	return 0;
}

static int check_claims(struct subject *subject, struct kp_diag *diag)
{
	if (claim_check_cpu(&subject->note, subject->isa_needed, diag) < 0)
		return -1;
	return claim_check_gpu(
		&subject->note, &subject->gpu_code, &subject->warnings, diag);
}

static void fault(struct subject *subject, const struct kp_diag *diag)
{
	kp_diags_add(&subject->faults, diag);
}

/* All that is wrong with a plugin whose note is right; the order is that of reasons. */
static void find_faults(struct subject *subject)
{
	struct kp_version host;
	struct kp_diag diag;
	if (kp_version_parse(kp_build_version, &host, &diag) < 0 ||
		kp_note_fits(&subject->note, &host, &diag) < 0)
		fault(subject, &diag);
	if (elf_symbols_check(&subject->image, &diag) < 0)
		fault(subject, &diag);
	/* Of what could not be loaded nobody asks for which processors it is. */
	if (check_claims(subject, &diag) < 0)
		fault(subject, &diag);
	elf_faults_find(&subject->image, subject->facts, &subject->load, &subject->faults,
		&subject->warnings);
}

static int look_at_plugin(struct subject *subject, struct kp_diag *diag)
{
	if (read_note(subject, diag) < 0) {
		elf_faults_find(&subject->image, subject->facts, &subject->load,
			&subject->faults, &subject->warnings);
		report_warnings(subject, true);
		return -1;
	}
	report_line(subject->report, json_pack("{s:O}", "note", subject->note.root));
	if (report_libraries(subject) < 0)
		return kp_diag_no_memory(diag);
	find_faults(subject);
	if (subject->faults.no_memory || subject->warnings.no_memory ||
		subject->unmet.no_memory)
		return kp_diag_no_memory(diag);
	report_warnings(subject, false);
	report_unmet(subject);
	if (subject->faults.count == 0)
		return 0;
	*diag = subject->faults.items[0];
	return -1;
}

static int identify(struct subject *subject, int fd, struct kp_diag *diag)
{
	if (elf_image_open(fd, subject->file, &subject->image, diag) < 0)
		return -1;
	/* As a part's code: the loader itself judges it, in the probe. */
	if (!subject->is_part &&
		(elf_trusted_entries(&subject->image, diag) < 0 ||
			elf_trusted_names(&subject->image, diag) < 0 ||
			elf_trusted_relocations(&subject->image, diag) < 0))
		return -1;
	subject->facts = elf_facts(&subject->image);
	if (read_code(subject, diag) < 0)
		return -1;
	report_line(subject->report, json_pack("{s:O}", "elf", subject->facts));
	if (elf_facts_check(&subject->image, subject->facts, subject->file, diag) < 0)
		return -1;
	return subject->is_part ? 0 : look_at_plugin(subject, diag);
}

static void subject_finish(struct subject *subject)
{
	kp_note_finish(&subject->note);
	kp_diags_finish(&subject->warnings);
	kp_diags_finish(&subject->faults);
	kp_diags_finish(&subject->unmet);
	json_decref(subject->facts);
	elf_image_finish(&subject->image);
}

/* ---- the job --------------------------------------------------------------------- */

/* A file of a job, which may be the job itself. */
static void look_at(const struct report *report, const json_t *file, int fd)
{
	struct subject subject = {.report = report};
	struct kp_diag diag;

	subject.is_part = json_is_true(json_object_get(file, "part"));
	subject.file = json_string_value(json_object_get(file, "file"));
	report_stage(report, "identify");
	if (!subject.file || fd < 0) {
		kp_diag_set(&diag, "bad_job", NULL, "the job names no library");
		report_failed(report, "failed", &diag);
	} else if (identify(&subject, fd, &diag) < 0) {
		report_failed(report, "rejected", &diag);
	}
	subject_finish(&subject);
}

static void look_at_many(
	const struct report *report, const json_t *files, const int *fds, size_t n_fds)
{
	size_t i;
	json_t *file;

	json_array_foreach (files, i, file) {
		double began = kp_clock_s();
		report_line(report, json_pack("{s:I}", "begin", (json_int_t)i));
		look_at(report, file, i < n_fds ? fds[i] : -1);
		report_line(report,
			json_pack("{s:f}", "took_ms", (kp_clock_s() - began) * 1e3));
	}
}

static int run(
	const struct report *report, const json_t *job, const int *fds, size_t n_fds)
{
	const json_t *files = json_object_get(job, "files");

	if (files)
		look_at_many(report, files, fds, n_fds);
	else
		look_at(report, job, n_fds > 0 ? fds[0] : -1);
	report_end(report);
	return EXIT_SUCCESS;
}

const struct job_kind job_identify = {.name = "identify", .run = run};
