/* SPDX-License-Identifier: MIT */
/* The PluginInfo of a library file alone: no registry, no manifest, nothing executed. */
#include <stdlib.h>
#include <string.h>

#include "lib/base/json.h"
#include "lib/base/text.h"
#include "lib/registry/registry_plugin.h"

/* A file as identify saw it. The note is read only when it is a right one. */
struct seen {
	const struct kp_verdict *verdict;
	struct kp_note note;
	bool has_note;
	struct kp_diag why; /* the note is wrong */
	struct kp_diags warnings;
};

static void look(const struct kp_verdict *verdict, struct seen *seen)
{
	*seen = (struct seen){.verdict = verdict};
	if (verdict->note)
		seen->has_note = kp_note_from_json(verdict->note, &seen->note,
					 &seen->warnings, &seen->why) == 0;
	for (size_t i = 0; i < verdict->warnings.count; i++)
		kp_diags_add_new(&seen->warnings, &verdict->warnings.items[i]);
}

static void look_away(struct seen *seen)
{
	kp_diags_finish(&seen->warnings);
	if (seen->has_note)
		kp_note_finish(&seen->note);
}

static json_t *kernels_json(const struct seen *seen)
{
	json_t *list = json_array();
	size_t count = seen->has_note ? seen->note.n_kernels : 0;

	for (size_t i = 0; list && i < count; i++)
		list = kp_json_append(list, kp_spec_json(&seen->note.kernels[i],
						    seen->note.name, NULL, NULL, NULL));
	return list;
}

/* "x86" of ".../x86.so": what a manifest for it would most likely be called. */
static json_t *name_json(const char *file)
{
	size_t length;
	const char *name = kp_text_stem(file, ".so", &length);
	char *copy = strndup(name, length);
	json_t *json = copy ? kp_json_clean_string(copy) : NULL;
	free(copy);
	return json;
}

/* Nobody has claimed a good file: it was not probed, and no manifest was read. */
static const char *state_of(const struct seen *seen)
{
	if (seen->verdict->state != KP_STATE_ACTIVE)
		return kp_state_name(seen->verdict->state);
	return seen->verdict->note && !seen->has_note ? kp_state_name(KP_STATE_REJECTED)
						      : "unclaimed";
}

static json_t *reason_json(const struct seen *seen)
{
	const char *code = seen->verdict->code;
	const char *message = seen->verdict->message;

	if (seen->verdict->state == KP_STATE_ACTIVE) {
		if (!seen->verdict->note || seen->has_note)
			return json_null();
		code = seen->why.code;
		message = seen->why.message;
	}
	return json_pack("{s:s, s:o}", "code", code, "message",
		kp_json_clean_string(message ? message : ""));
}

json_t *kp_verdict_info_json(const struct kp_verdict *verdict, const char *file)
{
	struct seen seen;

	look(verdict, &seen);
	json_t *about = seen.has_note ? kp_note_about(&seen.note) : NULL;
	json_t *info =
		json_pack("{s:o, s:s, s:o, s:n, s:n, s:n, s:o, s:n, s:o, s:o, s:n, s:o}",
			"name", name_json(file), "state", state_of(&seen), "reason",
			reason_json(&seen), "since", "source", "manifest", "library",
			kp_json_clean_or_null(file), "config", "warnings",
			kp_warnings_json(&seen.warnings), "kernels", kernels_json(&seen),
			"rolled_back", "signature", kp_json_or_null(verdict->signature));
	info = kp_json_merge(info, kp_about_json(about));
	info = kp_json_merge(
		info, kp_library_json(verdict, verdict->elf, verdict->evidence));
	json_decref(about);
	look_away(&seen);
	return info;
}
