/* SPDX-License-Identifier: MIT */
/* The plugins that are installed, looked at as `check` does. */
#include <stdlib.h>
#include <string.h>

#include "cmd/check.h"
#include "cmd/doctor.h"
#include "lib/base/json.h"
#include "lib/base/place.h"
#include "lib/plugin/manifest.h"

/* What concerns this machine: the rest is its author's, and `check` tells it. */
static const char *const of_machine[] = {"missing_library", "needs_absent_library",
	"symbol_version_missing", "undefined_symbol", "library_not_found",
	"untrusted_owner", "writable_by_others", "wrong_machine", "digest_mismatch"};

static bool concerns(const json_t *finding)
{
	const char *code = kp_json_text(finding, "code");
	if (strcmp(kp_json_text(finding, "severity"), "error") == 0)
		return true;
	for (size_t i = 0; i < KP_COUNT(of_machine); i++)
		if (strcmp(of_machine[i], code) == 0)
			return true;
	return false;
}

static void take(struct doctor *doctor, const struct kp_lint *found)
{
	size_t i;
	json_t *row;
	json_array_foreach (found->findings, i, row) {
		const json_t *line = json_object_get(row, "line");
		const json_t *column = json_object_get(row, "column");
		struct kp_diag diag;
		if (!concerns(row))
			continue;
		kp_diag_set(&diag, kp_code_find(kp_json_text(row, "code"))->code,
			kp_json_text(row, "object"), "%s", kp_json_text(row, "message"));
		kp_diag_at(&diag, kp_json_text(row, "file"),
			(unsigned)json_integer_value(line),
			(unsigned)json_integer_value(column));
		kp_lint_add(&doctor->lint, NULL, &diag);
	}
	doctor->lint.failed |= found->failed;
}

/* Of each name the file that counts; what is masked or turned off is nobody's trouble. */
static bool collect(const struct doctor *doctor, struct check_files *files)
{
	struct kp_manifests manifests;
	struct kp_diag diag;
	size_t count = 0;
	while (doctor->dirs[count])
		count++;
	if (kp_manifests_read(
		    (const char *const *)doctor->dirs, count, &manifests, &diag) < 0)
		return false;
	int failed = 0;
	for (size_t i = 0; i < manifests.count && !failed; i++) {
		const struct kp_manifest *manifest = &manifests.items[i];
		if (!manifest->masked && (manifest->error || manifest->enabled))
			failed = check_files_add(files, manifest->path, &diag);
	}
	kp_manifests_finish(&manifests);
	return !failed;
}

void doctor_plugins(struct doctor *doctor)
{
	struct check check = {.session = doctor->session};
	struct kp_diags problems = {0};
	owned_text families = kp_place_find("families");
	bool good = families &&
		    kp_families_read(families, &check.families, &problems) == 0 &&
		    collect(doctor, &check.files);
	if (good) {
		check_files_read(&check.files, &check.lint);
		for (size_t i = 0; i < check.files.count; i++)
			if (check.files.items[i].kind == CHECK_MANIFEST)
				check_manifest(&check, &check.files.items[i]);
		take(doctor, &check.lint);
	}
	kp_diags_finish(&problems);
	check_finish(&check);
}
