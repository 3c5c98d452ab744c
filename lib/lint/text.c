/* SPDX-License-Identifier: MIT */
/* All faults of a manifest and of a family's file. */
#include <stdlib.h>
#include <string.h>

#include "lib/base/json.h"
#include "lib/lint/lint.h"
#include "lib/lint/mend.h"
#include "lib/base/owned.h"

/* Reads what is left of it; the place of a fault is that in the text itself. */
static int read_again(const json_t *root, const char *file, struct kp_manifest *manifest,
	struct kp_diag *diag)
{
	owned_text bytes = kp_json_dumps(root, JSON_COMPACT | JSON_ENCODE_ANY);

	if (!bytes)
		return kp_diag_no_memory(diag);
	int result = kp_manifest_parse(bytes, strlen(bytes), file, manifest, diag);
	if (result < 0)
		kp_diag_at(diag, file, 0, 0);
	return result;
}

static bool mend_manifest(struct kp_lint *lint, const struct kp_lint_text *text,
	json_t *root, struct kp_manifest *manifest)
{
	owned_json *good = json_pack("{s:s}", "library", "kplug-mended.so");
	struct kp_diag diag;

	for (int i = 0; good && i < KP_MENDS_MOST; i++) {
		if (read_again(root, text->file, manifest, &diag) == 0)
			return true;
		kp_lint_add_placed(lint, text, &diag);
		if (!kp_mend(root, diag.object, good, NULL))
			return false;
	}
	lint->failed |= !good;
	return false;
}

bool kp_lint_manifest(struct kp_lint *lint, const struct kp_lint_text *text,
	struct kp_manifest *manifest)
{
	owned_json *root = NULL;
	struct kp_diag diag;

	/* As it is first: what is too large or no JSON cannot be mended. */
	if (kp_manifest_parse(text->bytes, text->size, text->file, manifest, &diag) == 0)
		return true;
	if (kp_json_parse(text->bytes, text->size, text->file, &root, &diag) < 0 ||
		text->size > KP_MANIFEST_BYTES || !json_is_object(root)) {
		kp_lint_add(lint, text->file, &diag);
		return false;
	}
	return mend_manifest(lint, text, root, manifest);
}

bool kp_lint_family(
	struct kp_lint *lint, const struct kp_lint_text *text, struct kp_family *family)
{
	struct kp_diag diag;

	if (kp_family_parse(text->bytes, text->size, text->file, family, &diag) == 0)
		return true;
	kp_lint_add(lint, text->file, &diag);
	return false;
}
