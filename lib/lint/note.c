/* SPDX-License-Identifier: MIT */
/* All faults of a note: by itself, by the families, and names that kplug never sees. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/build.h"
#include "lib/base/json.h"
#include "lib/base/owned.h"
#include "lib/base/text.h"
#include "lib/base/version.h"
#include "lib/lint/lint.h"
#include "lib/lint/mend.h"
#include "lib/platform/cpu.h"
#include "lib/plugin/note_check.h"
#include "lib/select/select.h"

enum { NAMES_MOST = 3 * KP_CPU_FEATURES, PATH = 192 };

/* A note under check. */
struct subject {
	struct kp_lint *lint;
	const struct kp_lint_text *text;
	const struct kp_families *families;
	int offset;
};

/* A kernel of ours, in the place of one that was told of, is nobody's. */
static bool is_mended(const json_t *root, const char *path)
{
	static const char kernels[] = "kernels[";

	if (strncmp(path, kernels, strlen(kernels)) != 0)
		return false;
	unsigned long index = strtoul(path + strlen(kernels), NULL, 10);
	const json_t *kernel = json_array_get(json_object_get(root, "kernels"), index);
	const char *operation = kp_json_text(kernel, "operation");
	return operation && strcmp(operation, kp_mend_operation) == 0;
}

/* A key that a note does not know is ignored: it may be a later kplug's. */
static enum kp_severity severity_of(const char *code)
{
	return strcmp(code, "unknown_key") == 0 ? KP_SEVERITY_WARNING
						: kp_code_find(code)->severity;
}

static void add_all(const struct subject *subject, const json_t *root,
	const struct kp_diags *warnings)
{
	const struct kp_lint_text *text = subject->text;

	for (size_t i = 0; i < warnings->count; i++) {
		struct kp_diag *warning = &warnings->items[i];
		if (is_mended(root, warning->object))
			continue;
		if (text->bytes)
			kp_json_place(warning, text->bytes, text->size, text->file);
		kp_lint_add_as(
			subject->lint, severity_of(warning->code), text->file, warning);
	}
}

/* Its warnings are told by the pass that reads all of it. */
static int read_once(const struct subject *subject, json_t *root, struct kp_note *note,
	struct kp_diags *warnings, struct kp_diag *diag)
{
	kp_diags_finish(warnings);
	if (kp_note_from_json(root, note, warnings, diag) < 0)
		return -1;
	if (kp_note_check(note, subject->families, subject->offset, warnings, diag) == 0)
		return 0;
	kp_note_finish(note);
	return -1;
}

static bool mend_note(const struct subject *subject, json_t *root, struct kp_note *note)
{
	owned_json *good =
		json_pack("{s:s, s:s}", "name", "kplug-mended", "version", "0.0.0");
	owned_json *kernel = json_pack("{s:s, s:s, s:i, s:[s]}", "name", "mended",
		"operation", kp_mend_operation, "priority", 10, "signatures", "x=f32");
	struct kp_diags warnings = {0};
	struct kp_diag diag;
	bool read = false;

	for (int i = 0; good && kernel && !read && i < KP_MENDS_MOST; i++) {
		read = read_once(subject, root, note, &warnings, &diag) == 0;
		if (read)
			break;
		kp_diag_at(&diag, subject->text->file, 0, 0);
		kp_lint_add_placed(subject->lint, subject->text, &diag);
		if (!kp_mend(root, diag.object, good, kernel))
			break;
	}
	add_all(subject, root, &warnings);
	kp_diags_finish(&warnings);
	subject->lint->failed |= !good || !kernel;
	return read;
}

/* ---- names that kplug never sees ------------------------------------------------- */

static void check_names(const struct subject *subject, const json_t *list,
	const char *path, const char *code, const char *what, const char *const *names,
	size_t count)
{
	char offer[KP_TEXT_OFFER], object[PATH + 32];
	struct kp_diag diag;
	size_t i;
	json_t *item;

	json_array_foreach ((json_t *)list, i, item) {
		const char *name = json_string_value(item);
		if (!name || kp_text_among(name, names, count))
			continue;
		(void)snprintf(object, sizeof(object), "%s[%zu]", path, i);
		kp_diag_set(&diag, code, object, "%s: %s is no %s%s", object, name, what,
			kp_text_offer(name, names, count, NULL, offer));
		kp_lint_add_placed(subject->lint, subject->text, &diag);
	}
}

static void check_vendors(
	const struct subject *subject, const json_t *capability, const char *kernel)
{
	static const char *const vendors[] = {"x86-64", "aarch64", "nvidia", "amd"};
	char path[PATH];

	(void)snprintf(path, sizeof(path), "%s.capability.vendors", kernel);
	check_names(subject, json_object_get(capability, "vendors"), path,
		"unknown_vendor", "vendor of devices", vendors, KP_COUNT(vendors));
}

/* Of GPUs everybody may name features: drivers tell none that kplug could know. */
static void check_features(
	const struct subject *subject, const json_t *capability, const char *kernel)
{
	const char *names[NAMES_MOST];
	const char *device = kp_json_text(capability, "device");
	char path[PATH];

	if (!device || strcmp(device, "cpu") != 0)
		return;
	size_t count = kp_cpu_feature_names("x86-64", names, NAMES_MOST);
	count += kp_cpu_feature_names("aarch64", names + count, NAMES_MOST - count);
	(void)snprintf(path, sizeof(path), "%s.capability.features", kernel);
	check_names(subject, json_object_get(capability, "features"), path,
		"unknown_feature", "feature of a CPU", names, count);
}

static void check_tags(
	const struct subject *subject, const json_t *kernel, const char *path)
{
	const char *names[KP_OBJECTIVES];
	char tags[PATH];

	for (int i = 0; i < KP_OBJECTIVES; i++)
		names[i] = kp_objective_name((enum kp_objective)i);
	(void)snprintf(tags, sizeof(tags), "%s.tags", path);
	check_names(subject, json_object_get(kernel, "tags"), tags, "unknown_tag",
		"objective", names, KP_OBJECTIVES);
}

static void check_kernels(const struct subject *subject, const json_t *root)
{
	const json_t *kernels = json_object_get(root, "kernels");
	struct kp_diag diag;
	char path[48];
	size_t i;
	json_t *kernel;

	json_array_foreach ((json_t *)kernels, i, kernel) {
		const json_t *capability = json_object_get(kernel, "capability");
		(void)snprintf(path, sizeof(path), "kernels[%zu]", i);
		check_vendors(subject, capability, path);
		check_features(subject, capability, path);
		check_tags(subject, kernel, path);
	}
	if (json_array_size(kernels) > 0)
		return;
	kp_diag_set(&diag, "no_kernels", "kernels", "it has no kernels");
	kp_lint_add_placed(subject->lint, subject->text, &diag);
}

/* Of a library the worker says so, too: the same words are one finding. */
static void check_host(const struct subject *subject, const struct kp_note *note)
{
	struct kp_version host;
	struct kp_diag diag;

	if (kp_version_parse(kp_build_version, &host, &diag) < 0 ||
		kp_note_fits(note, &host, &diag) < 0)
		kp_lint_add_placed(subject->lint, subject->text, &diag);
}

bool kp_lint_note(struct kp_lint *lint, const struct kp_lint_text *text,
	const json_t *root, const struct kp_families *families, int offset,
	struct kp_note *note)
{
	const struct subject subject = {lint, text, families, offset};
	owned_json *copy = json_deep_copy(root);

	if (!copy) {
		lint->failed = true;
		return false;
	}
	bool read = mend_note(&subject, copy, note);
	if (read)
		check_host(&subject, note);
	check_kernels(&subject, root);
	return read;
}
