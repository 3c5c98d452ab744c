/* SPDX-License-Identifier: MIT */
/* Names of states, and verdicts as JSON and back; judges nothing itself. */
#include "lib/plugin/verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/json.h"
#include "lib/base/owned.h"

enum { WARNINGS_MOST = 4096 };

static const char *const state_names[KP_STATES] = {"pending", "active", "disabled",
	"masked", "rejected", "failed", "quarantined", "missing"};

const char *kp_state_name(enum kp_state state)
{
	return (unsigned)state < KP_STATES ? state_names[state] : "unknown";
}

bool kp_state_parse(const char *name, enum kp_state *state)
{
	for (int i = 0; i < KP_STATES; i++) {
		if (strcmp(name, state_names[i]) == 0) {
			*state = (enum kp_state)i;
			return true;
		}
	}
	return false;
}

void kp_verdict_finish(struct kp_verdict *verdict)
{
	if (!verdict)
		return;
	free(verdict->message);
	free(verdict->stored);
	json_decref(verdict->note);
	json_decref(verdict->elf);
	json_decref(verdict->evidence);
	json_decref(verdict->signature);
	kp_diags_finish(&verdict->warnings);
	json_decref(verdict->codes);
	for (size_t i = 0; i < verdict->n_kernels; i++) {
		free(verdict->kernels[i].kernel);
		free(verdict->kernels[i].message);
	}
	free(verdict->kernels);
	*verdict = (struct kp_verdict){0};
}

/* ---- to JSON --------------------------------------------------------------- */

static json_t *warning_json(const struct kp_diag *warning)
{
	return json_pack("{s:s, s:s, s:s, s:I, s:I, s:s}", "code",
		warning->code ? warning->code : "", "object", warning->object, "file",
		warning->file, "line", (json_int_t)warning->line, "column",
		(json_int_t)warning->column, "message", warning->message);
}

static json_t *warnings_json(const struct kp_diags *warnings)
{
	json_t *list = json_array();
	for (size_t i = 0; list && i < warnings->count; i++)
		list = kp_json_append(list, warning_json(&warnings->items[i]));
	return list;
}

static json_t *kernels_json(const struct kp_verdict *verdict)
{
	json_t *list = json_array();
	for (size_t i = 0; list && i < verdict->n_kernels; i++) {
		const struct kp_availability *kernel = &verdict->kernels[i];
		list = kp_json_append(list,
			json_pack("{s:s, s:b, s:s, s:o}", "kernel", kernel->kernel,
				"available", kernel->available, "code", kernel->code,
				"message", kp_json_clean_or_null(kernel->message)));
	}
	return list;
}

json_t *kp_verdict_json(const struct kp_verdict *verdict)
{
	return json_pack(
		"{s:s, s:s, s:o, s:s?, s:s, s:s, s:I, s:o, s:o, s:o, s:o, s:f, s:b, "
		"s:o, s:o}",
		"state", kp_state_name(verdict->state), "code", verdict->code, "message",
		kp_json_clean_or_null(verdict->message), "stored", verdict->stored,
		"digest", verdict->digest, "closure", verdict->closure, "bytes",
		(json_int_t)verdict->bytes, "note", kp_json_or_null(verdict->note), "elf",
		kp_json_or_null(verdict->elf), "evidence",
		kp_json_or_null(verdict->evidence), "warnings",
		warnings_json(&verdict->warnings), "probe_ms", verdict->probe_ms, "retry",
		verdict->retry, "kernels", kernels_json(verdict), "signature",
		kp_json_or_null(verdict->signature));
}

/* ---- from JSON ------------------------------------------------------------- */

static const struct kp_json_key verdict_keys[] = {
	{"state", KP_JSON_STRING, true},
	{"code", KP_JSON_STRING, true},
	{"message", KP_JSON_STRING | KP_JSON_NULL, true},
	{"stored", KP_JSON_STRING | KP_JSON_NULL, true},
	{"digest", KP_JSON_STRING, true},
	{"closure", KP_JSON_STRING, true},
	{"bytes", KP_JSON_INTEGER, true},
	{"note", KP_JSON_OBJECT | KP_JSON_NULL, true},
	{"elf", KP_JSON_OBJECT | KP_JSON_NULL, true},
	{"evidence", KP_JSON_OBJECT | KP_JSON_NULL, true},
	{"warnings", KP_JSON_ARRAY, true},
	{"probe_ms", KP_JSON_NUMBER, true},
	{"retry", KP_JSON_BOOLEAN, true},
	{"kernels", KP_JSON_ARRAY, true},
	{"signature", KP_JSON_OBJECT | KP_JSON_NULL, true},
};

static const struct kp_json_key warning_keys[] = {
	{"code", KP_JSON_STRING, true},
	{"object", KP_JSON_STRING, true},
	{"file", KP_JSON_STRING, true},
	{"line", KP_JSON_INTEGER, true},
	{"column", KP_JSON_INTEGER, true},
	{"message", KP_JSON_STRING, true},
};

static const struct kp_json_key kernel_keys[] = {
	{"kernel", KP_JSON_STRING, true},
	{"available", KP_JSON_BOOLEAN, true},
	{"code", KP_JSON_STRING, true},
	{"message", KP_JSON_STRING | KP_JSON_NULL, true},
};

/* Copies a text of the object into a fixed array; false when it does not fit. */
static bool take(const json_t *object, const char *key, char *out, size_t size)
{
	const char *text = kp_json_text(object, key);
	size_t length = strlen(text);
	if (length >= size)
		return false;
	memcpy(out, text, length + 1);
	return true;
}

/* A copy of a text that may be null; false when memory is exhausted. */
static bool copy(const json_t *object, const char *key, char **out)
{
	const char *text = kp_json_text(object, key);
	*out = text ? strdup(text) : NULL;
	return !text || *out;
}

static json_t *refer(const json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);
	return json_is_object(value) ? json_incref(value) : NULL;
}

/* What outlives where it came from, which is thrown away as a whole. */
static json_t *take_copy(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	return json_is_object(value) ? json_deep_copy(value) : NULL;
}

static bool is_digest(const char *text)
{
	size_t length = strlen(text);
	return length == 0 || (length == 64 && strspn(text, "0123456789abcdef") == 64);
}

static int bad(struct kp_diag *diag, const char *key)
{
	return kp_diag_set(
		diag, "bad_cache", key, "%s: a value that no verdict has", key);
}

static bool is_unsigned(const json_t *value)
{
	return json_integer_value(value) >= 0 && json_integer_value(value) <= UINT32_MAX;
}

static int read_warning(const json_t *value, json_t *codes, struct kp_diags *warnings,
	struct kp_diag *diag)
{
	struct kp_diag warning = {0};
	const json_t *line = json_object_get(value, "line");
	const json_t *column = json_object_get(value, "column");

	if (kp_json_check(value, "warnings", warning_keys, KP_COUNT(warning_keys), NULL,
		    diag) < 0)
		return -1;
	if (!take(value, "object", warning.object, sizeof(warning.object)) ||
		!take(value, "file", warning.file, sizeof(warning.file)) ||
		!take(value, "message", warning.message, sizeof(warning.message)) ||
		!is_unsigned(line) || !is_unsigned(column))
		return bad(diag, "warnings");
	json_t *code = json_object_get(value, "code");
	if (json_array_append(codes, code) < 0)
		return kp_diag_no_memory(diag);
	warning.code = json_string_value(code);
	warning.line = (unsigned)json_integer_value(line);
	warning.column = (unsigned)json_integer_value(column);
	size_t before = warnings->count;
	kp_diags_add(warnings, &warning);
	return warnings->count == before ? kp_diag_no_memory(diag) : 0;
}

static int read_warnings(
	const json_t *list, struct kp_verdict *verdict, struct kp_diag *diag)
{
	if (json_array_size(list) == 0)
		return 0;
	if (json_array_size(list) > WARNINGS_MOST)
		return bad(diag, "warnings");
	verdict->codes = json_array();
	if (!verdict->codes)
		return kp_diag_no_memory(diag);
	for (size_t i = 0; i < json_array_size(list); i++)
		if (read_warning(json_array_get(list, i), verdict->codes,
			    &verdict->warnings, diag) < 0)
			return -1;
	return 0;
}

static int read_kernels(
	const json_t *list, struct kp_verdict *verdict, struct kp_diag *diag)
{
	size_t count = json_array_size(list);
	if (count == 0)
		return 0;
	verdict->kernels = calloc(count, sizeof(*verdict->kernels));
	if (!verdict->kernels)
		return kp_diag_no_memory(diag);
	for (size_t i = 0; i < count; i++) {
		const json_t *value = json_array_get(list, i);
		struct kp_availability *kernel = &verdict->kernels[i];
		if (kp_json_check(value, "kernels", kernel_keys, KP_COUNT(kernel_keys),
			    NULL, diag) < 0)
			return -1;
		if (!take(value, "code", kernel->code, sizeof(kernel->code)))
			return bad(diag, "kernels");
		verdict->n_kernels = i + 1;
		kernel->available = json_is_true(json_object_get(value, "available"));
		if (!copy(value, "kernel", &kernel->kernel) ||
			!copy(value, "message", &kernel->message))
			return kp_diag_no_memory(diag);
	}
	return 0;
}

static int read_facts(
	const json_t *value, struct kp_verdict *verdict, struct kp_diag *diag)
{
	if (!kp_state_parse(kp_json_text(value, "state"), &verdict->state) ||
		(verdict->state != KP_STATE_ACTIVE &&
			verdict->state != KP_STATE_REJECTED &&
			verdict->state != KP_STATE_FAILED &&
			verdict->state != KP_STATE_MISSING))
		return bad(diag, "state");
	if (!take(value, "code", verdict->code, sizeof(verdict->code)))
		return bad(diag, "code");
	if (!take(value, "digest", verdict->digest, sizeof(verdict->digest)) ||
		!is_digest(verdict->digest))
		return bad(diag, "digest");
	if (!take(value, "closure", verdict->closure, sizeof(verdict->closure)) ||
		!is_digest(verdict->closure))
		return bad(diag, "closure");
	verdict->bytes = json_integer_value(json_object_get(value, "bytes"));
	if (verdict->bytes < 0)
		return bad(diag, "bytes");
	verdict->probe_ms = json_number_value(json_object_get(value, "probe_ms"));
	verdict->retry = json_is_true(json_object_get(value, "retry"));
	verdict->note = refer(value, "note");
	verdict->elf = take_copy(value, "elf");
	verdict->evidence = take_copy(value, "evidence");
	verdict->signature = take_copy(value, "signature");
	if (!copy(value, "message", &verdict->message) ||
		!copy(value, "stored", &verdict->stored))
		return kp_diag_no_memory(diag);
	return 0;
}

int kp_verdict_from_json(
	const json_t *value, struct kp_verdict *verdict, struct kp_diag *diag)
{
	struct kp_verdict made = {0};
	struct kp_diag why = {0};

	if (kp_json_check(value, "", verdict_keys, KP_COUNT(verdict_keys), NULL, &why) ==
			0 &&
		read_facts(value, &made, &why) == 0 &&
		read_warnings(json_object_get(value, "warnings"), &made, &why) == 0 &&
		read_kernels(json_object_get(value, "kernels"), &made, &why) == 0) {
		*verdict = made;
		return 0;
	}
	kp_verdict_finish(&made);
	if (strcmp(why.code, "no_memory") != 0)
		why.code = "bad_cache";
	if (diag)
		*diag = why;
	return -1;
}
