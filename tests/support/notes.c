/* SPDX-License-Identifier: MIT */
/* Makes notes for tests, and holds refusals to their code and object. */
#include "tests/support/notes.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char note_full[] =
	"{\"name\":\"alpha\",\"version\":\"1.2.3\",\"author\":\"A. Nother\","
	"\"license\":\"MIT\",\"description\":\"says what\",\"$schema\":\"note.json\","
	"\"abi\":{\"major\":1,\"built\":3,\"needed\":2},"
	"\"host\":{\"min\":\"0.1.0\",\"max\":\"0.2.0\"},"
	"\"kernels\":[{\"name\":\"mm\",\"operation\":\"gemm/mm\",\"revision\":2,"
	"\"solution\":\"triton\",\"priority\":12,"
	"\"signatures\":[\"c=f32, b=f32, a=f32\",\"a=dense:f32,b=f32,c=f32\","
	"\"a=f16,b=f16,c=f16\"],"
	"\"capability\":{\"device\":\"gpu\",\"vendors\":[\"nvidia\"],\"min_arch\":\"8."
	"0\","
	"\"max_arch\":\"9.0\",\"features\":[\"fp8\",\"async\"]},"
	"\"traits\":{\"head_dim\":{\"in\":[64,128],\"min\":64,\"max\":128,"
	"\"multiple_of\":64,\"required\":true},\"causal\":true,\"page\":[16,32],"
	"\"mode\":\"fast\",\"scale\":0.5,\"free\":{}},"
	"\"tags\":[\"throughput\",\"latency\",\"latency\"],\"features\":[\"paged\","
	"\"gqa\"],"
	"\"flags\":[\"reentrant\",\"deterministic\"],\"needs\":[\"libfoo.so.1\"],"
	"\"layouts\":[\"kn\"]}]}";

/* A note with these kernels; the caller frees it. */
char *note_with_kernels(const char *kernels)
{
	char *text;
	ck_assert_int_ge(
		asprintf(&text,
			"{\"name\":\"alpha\",\"version\":\"1.2.3\",\"kernels\":[%s]}",
			kernels),
		0);
	return text;
}

/* A kernel with one more or another member: last wins by replacement. */
char *note_with_member(const char *key, const char *value)
{
	char *text;
	json_error_t error;
	json_t *kernel = json_pack("{s:s, s:s, s:i, s:[s]}", "name", "mm", "operation",
		"gemm/mm", "priority", 8, "signatures", "a=f32");
	json_t *member = json_loads(value, JSON_DECODE_ANY, &error);
	ck_assert_msg(member != NULL, "%s: %s", value, error.text);
	json_object_set_new(kernel, key, member);
	char *dumped = json_dumps(kernel, 0);
	json_decref(kernel);
	text = note_with_kernels(dumped);
	free(dumped);
	return text;
}

void note_read(const char *text, struct kp_note *note)
{
	struct kp_diags warnings = {0};
	struct kp_diag diag;
	int result = kp_note_parse(text, strlen(text), note, &warnings, &diag);
	ck_assert_msg(result == 0, "%s", diag.message);
	ck_assert_msg(warnings.count == 0, "%s",
		warnings.count ? warnings.items[0].message : "");
	kp_diags_finish(&warnings);
}

void note_refused_bytes(const char *text, size_t size, const char *code,
	const char *object, struct kp_diag *diag)
{
	struct kp_note note = {.n_kernels = 77};
	struct kp_diags warnings = {0};
	ck_assert_msg(
		kp_note_parse(text, size, &note, &warnings, diag) == -1, "%s", text);
	ck_assert_msg(strcmp(diag->code, code) == 0, "%s: %s", diag->code, diag->message);
	if (object)
		ck_assert_str_eq(diag->object, object);
	ck_assert_uint_eq(note.n_kernels, 77);
	kp_diags_finish(&warnings);
}

void note_refused(
	const char *text, const char *code, const char *object, struct kp_diag *diag)
{
	note_refused_bytes(text, strlen(text), code, object, diag);
}

void note_member_refused(const char *key, const char *value, const char *code,
	const char *object, const char *part)
{
	struct kp_diag diag;
	char *text = note_with_member(key, value);
	note_refused(text, code, object, &diag);
	ck_assert_msg(strstr(diag.message, part) != NULL, "%s", diag.message);
	free(text);
}
