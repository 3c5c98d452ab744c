/* SPDX-License-Identifier: MIT */
/* A plugin's note: what is taken is in bounds, and is the same when read again. */
#include "tests/fuzz/target.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/json.h"
#include "lib/plugin/note.h"

static void look_at_kernel(const struct kp_note *note, const struct kp_spec *spec)
{
	target_claim(kp_note_find(note, spec->name) == spec);
	target_claim(spec->priority >= 0 && spec->priority < KP_PRIORITY_END);
	target_claim(spec->signatures.count > 0);
	target_claim(strchr(spec->operation, '/') != NULL);
	json_t *shown = kp_spec_json(spec, "some", "active", NULL, NULL);
	target_claim(shown != NULL);
	json_decref(shown);
}

static void look(const struct kp_note *note)
{
	const struct kp_version host = {.major = 1};
	struct kp_diag diag;

	target_claim(note->name != NULL && note->n_kernels <= KP_PLUGIN_KERNELS);
	for (size_t i = 0; i < note->n_kernels; i++)
		look_at_kernel(note, &note->kernels[i]);
	if (kp_note_fits(note, &host, &diag) < 0)
		target_is_refused(&diag);
	if (kp_note_fits_abi(note, 0, 1, &diag) < 0)
		target_is_refused(&diag);
}

/* What a cache keeps of it is the same note. */
static void read_again(const struct kp_note *note)
{
	struct kp_note again;
	struct kp_diag diag;

	target_claim(
		kp_note_from_json(json_incref(note->root), &again, NULL, &diag) == 0);
	target_claim(again.n_kernels == note->n_kernels);
	kp_note_finish(&again);
	json_decref(note->root);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char *text = target_copy(bytes, size);
	struct kp_diags warnings = {0};
	struct kp_note note;
	struct kp_diag diag;

	if (kp_note_parse(text, size, &note, &warnings, &diag) < 0) {
		target_is_refused(&diag);
	} else {
		look(&note);
		read_again(&note);
		kp_note_finish(&note);
	}
	kp_diags_finish(&warnings);
	free(text);
	return 0;
}
