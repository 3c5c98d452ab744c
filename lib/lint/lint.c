/* SPDX-License-Identifier: MIT */
/* Keeps findings, each once. */
#include "lib/lint/lint.h"

#include <string.h>

#include "lib/base/json.h"

static json_t *number_or_null(unsigned number)
{
	return number ? json_integer(number) : json_null();
}

static bool is_same(const json_t *finding, const json_t *other)
{
	return json_equal(finding, other);
}

/* Only what one look at a file adds is compared: those lie at the end. */
static bool is_known(const json_t *findings, const json_t *finding)
{
	const char *file = kp_json_text(finding, "file");

	for (size_t i = json_array_size(findings); i-- > 0;) {
		const json_t *known = json_array_get(findings, i);
		const char *name = kp_json_text(known, "file");
		if (!file || !name || strcmp(file, name) != 0)
			return false;
		if (is_same(known, finding))
			return true;
	}
	return false;
}

static void keep(struct kp_lint *lint, enum kp_severity severity, json_t *finding)
{
	if (!lint->findings)
		lint->findings = json_array();
	if (!finding || !lint->findings) {
		lint->failed = true;
	} else if (!is_known(lint->findings, finding)) {
		lint->counts[severity]++;
		if (json_array_size(lint->findings) >= KP_LINT_MOST)
			lint->dropped++;
		else
			lint->failed |= json_array_append(lint->findings, finding) < 0;
	}
	json_decref(finding);
}

void kp_lint_add_as(struct kp_lint *lint, enum kp_severity severity, const char *file,
	const struct kp_diag *diag)
{
	const char *where = diag->file[0] ? diag->file : file;

	if (strcmp(diag->code, "no_memory") == 0) {
		lint->failed = true;
		return;
	}
	keep(lint, severity,
		json_pack("{s:o, s:o, s:o, s:s, s:s, s:o, s:o, s:s}", "file",
			kp_json_clean_or_null(where), "line", number_or_null(diag->line),
			"column", number_or_null(diag->column), "severity",
			kp_severity_name(severity), "code", diag->code, "object",
			kp_json_clean_string(diag->object), "message",
			kp_json_clean_string(diag->message), "remedy",
			kp_code_find(diag->code)->remedy));
}

void kp_lint_add(struct kp_lint *lint, const char *file, const struct kp_diag *diag)
{
	kp_lint_add_as(lint, kp_code_find(diag->code)->severity, file, diag);
}

void kp_lint_finish(struct kp_lint *lint)
{
	json_decref(lint->findings);
	*lint = (struct kp_lint){0};
}

void kp_lint_add_placed(
	struct kp_lint *lint, const struct kp_lint_text *text, struct kp_diag *diag)
{
	if (text->bytes)
		kp_json_place(diag, text->bytes, text->size, text->file);
	kp_lint_add(lint, text->file, diag);
}
