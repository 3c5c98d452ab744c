/* SPDX-License-Identifier: MIT */
/* Words of the loader and their codes. */
#include <check.h>
#include <stddef.h>

#include "lib/plugin/loader.h"
#include "tests/support/suite.h"

static const struct {
	const char *words, *code, *name;
} said[] = {
	{"/s/x.so: undefined symbol: zgemm_", "missing_symbol", "zgemm_"},
	{"/s/x.so: undefined symbol: f, version V_2", "missing_symbol", "f, version V_2"},
	{"/lib/libc.so.6: version `GLIBC_9' not found (required by /s/x.so)",
		"missing_version", "GLIBC_9' not found (required by /s/x.so)"},
	{"libx.so.1: cannot open shared object file: No such file or directory",
		"missing_library",
		"libx.so.1: cannot open shared object file: No such file or directory"},
	{"/s/x.so: invalid ELF header", "load_failed", NULL},
	{"/s/x.so: cannot create shared object descriptor: Cannot allocate memory",
		"no_memory", NULL},
	{"/s/x.so: cannot allocate dependency list: Cannot allocate memory", "no_memory",
		NULL},
	{"out of memory", "no_memory", NULL},
	/* These ask for more than any machine gives: that is theirs. */
	{"/s/x.so: cannot allocate memory in static TLS block", "load_failed", NULL},
	{"/s/x.so: failed to map segment from shared object: Cannot allocate memory",
		"load_failed", NULL},
	{"/s/out of memory.so: undefined symbol: Cannot allocate memory",
		"missing_symbol", "Cannot allocate memory"},
};

START_TEST(what_the_loader_says_has_a_code_and_names_what_is_missing)
{
	const char *name;

	ck_assert_str_eq(kp_loader_code(said[_i].words, &name), said[_i].code);
	ck_assert_pstr_eq(name, said[_i].name);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("loader");
	TCase *tcase = tcase_create("loader");

	tcase_add_loop_test(tcase,
		what_the_loader_says_has_a_code_and_names_what_is_missing, 0,
		sizeof(said) / sizeof(said[0]));
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
