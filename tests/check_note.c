/* SPDX-License-Identifier: MIT */
/* Notes: what is read of them, and how each fault is named. */
#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "lib/note.h"

/* A note of which every key that kplug knows is set. */
static const char FULL[] =
	"{\"name\":\"alpha\",\"version\":\"1.2.3\",\"author\":\"A. Nother\","
	"\"license\":\"MIT\",\"description\":\"d\","
	"\"abi\":{\"major\":0,\"built\":0,\"needed\":0},"
	"\"host\":{\"min\":\"0.1.0\",\"max\":\"0.2.0\"},"
	"\"kernels\":[{\"name\":\"mm\",\"operation\":\"gemm/mm\",\"revision\":2,"
	"\"solution\":\"triton\",\"priority\":12,"
	"\"signatures\":[\"c=f32, b=f32, a=f32\",\"a=dense:f32,b=f32,c=f32\",\"a=f16,b=f16,c=f16\"],"
	"\"capability\":{\"device\":\"gpu\",\"vendors\":[\"nvidia\"],\"min_arch\":\"8.0\","
	"\"max_arch\":\"9.0\",\"features\":[\"fp8\"]},"
	"\"traits\":{\"head_dim\":{\"in\":[64,128],\"min\":64,\"max\":128,\"multiple_of\":64,"
	"\"required\":true},\"causal\":true,\"page\":[16,32],\"mode\":\"fast\",\"s\":0.5},"
	"\"tags\":[\"throughput\",\"latency\",\"latency\"],\"features\":[\"paged\",\"gqa\"],"
	"\"flags\":[\"reentrant\",\"deterministic\"],\"needs\":[\"libfoo.so.1\"],"
	"\"layouts\":[\"kn\"]}]}";

static void parse(const char *text, struct kp_note *note)
{
	struct kp_diags warnings = {0};
	struct kp_diag diag;
	int result = kp_note_parse(text, strlen(text), note, &warnings, &diag);
	ck_assert_msg(result == 0, "%s", diag.message);
	ck_assert_msg(warnings.count == 0, "%s", warnings.count ? warnings.items[0].message : "");
	kp_diags_finish(&warnings);
}

START_TEST(every_key_is_read)
{
	struct kp_note note;
	parse(FULL, &note);
	ck_assert_str_eq(note.name, "alpha");
	ck_assert_uint_eq(note.n_kernels, 1);
	const struct kp_spec *mm = kp_note_find(&note, "mm");
	ck_assert_ptr_nonnull(mm);
	ck_assert_uint_eq(mm->signatures.count, 2);
	ck_assert_str_eq(mm->signatures.items[0], "a=f32,b=f32,c=f32");
	kp_note_finish(&note);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("note");
	tcase_add_test(tcase, every_key_is_read);
	Suite *suite = suite_create("note");
	suite_add_tcase(suite, tcase);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
