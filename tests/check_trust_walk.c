/* SPDX-License-Identifier: MIT */
/* Everything on the way to a file counts, and what was judged is what is open. */
#include "tests/support/trust_place.h"

#include <signal.h>
#include <sys/wait.h>

/* ---- ways -------------------------------------------------------------------------- */

START_TEST(t14_every_directory_on_the_way_counts)
{
	make_dir("open", 0777);
	make_dir("open/below", 0755);
	put("file", 0644);
	put("open/below/x", 0644);
	is_writable("open/below/x", "open", 0777);
	is_writable("open", "open", 0777);
	is_right("file");
	change("open", 0775);
	is_writable("open/below/../below", "open", 0775);
	/* What is already there in a sticky directory stays there. */
	change("open", 01777);
	is_right("open/below/x");
	change("open", 0755);
	is_right("open/./below//x");
}
END_TEST

START_TEST(t14_in_a_sticky_directory_the_owner_of_what_is_there_counts)
{
	make_dir("sticky", 01777);
	make_dir("sticky/d", 0755);
	put("sticky/d/x", 0644);
	put("sticky/x", 0644);
	is_right("sticky/d/x");
	is_right("sticky/x");
	if (!give_away("sticky/d") || !give_away("sticky/x"))
		return;
	is_anothers("sticky/d/x", "sticky/d");
	is_anothers("sticky/x", "sticky/x");
	/* Its own owner may do anything in it, whatever the mode says. */
	ck_assert(give_away("sticky"));
	is_anothers("sticky/d/x", "sticky");
}
END_TEST

START_TEST(t14_directories_that_links_lead_through_count)
{
	char text[PATH_MAX];

	make_dir("open", 0777);
	make_dir("safe", 0755);
	make_dir("safe/end", 0755);
	put("safe/end/x", 0644);
	ck_assert_int_eq(symlinkat("../safe/end", dir, "open/through"), 0);
	ck_assert_int_eq(symlinkat("open/through", dir, "first"), 0);
	ck_assert_int_eq(symlinkat("safe/end", dir, "second"), 0);
	ck_assert_int_eq(symlinkat("safe/end/x", dir, "file"), 0);
	is_writable("first/x", "open", 0777);
	is_right("second/x");
	is_right("file");
	snprintf(text, sizeof(text), "%s/open", root);
	ck_assert_int_eq(symlinkat(text, dir, "third"), 0);
	is_writable("third/through/x", "open", 0777);
	/* Up from where a link leads, not from where it lies. */
	is_right("second/../end/x");
	change("safe", 0777);
	is_writable("second/x", "safe", 0777);
	is_writable("file", "safe", 0777);
}
END_TEST

START_TEST(t14_whose_link_it_is_counts)
{
	make_dir("sticky", 01777);
	put("x", 0644);
	ck_assert_int_eq(symlinkat("../x", dir, "sticky/link"), 0);
	is_right("sticky/link");
	if (!give_away("sticky/link"))
		return;
	is_anothers("sticky/link", "sticky/link");
	ck_assert_int_eq(kp_trust_open(&strict, at("sticky/link"), NULL, &diag), -1);
	ck_assert_str_eq(diag.code, "untrusted_owner");
}
END_TEST

static const struct {
	const char *path, *code;
} unreachable[] = {
	{"loop", "link_loop"},
	{"absent", "missing_file"},
	{"absent/x", "missing_file"},
	{"dangling", "missing_file"},
	{"x/below", "missing_file"},
	{"d", "not_regular_file"},
	{"fifo", "not_regular_file"},
};

START_TEST(a_way_that_cannot_be_walked_says_why)
{
	ck_assert_int_eq(symlinkat("loop", dir, "loop"), 0);
	ck_assert_int_eq(symlinkat("nowhere", dir, "dangling"), 0);
	ck_assert_int_eq(mkfifoat(dir, "fifo", 0644), 0);
	make_dir("d", 0755);
	put("x", 0644);
	ck_assert_int_eq(
		kp_trust_open(&strict, at(unreachable[_i].path), NULL, &diag), -1);
	ck_assert_str_eq(diag.code, unreachable[_i].code);
	has_said(root);
}
END_TEST

START_TEST(a_path_that_is_too_long_is_refused)
{
	static const size_t lengths[] = {PATH_MAX, 2 * PATH_MAX, NAME_MAX + 2};
	char *deep = malloc(2 * PATH_MAX + 1);

	ck_assert_ptr_nonnull(deep);
	memset(deep, _i == 2 ? 'x' : '/', lengths[_i]);
	deep[0] = '/';
	deep[lengths[_i]] = '\0';
	ck_assert_int_eq(kp_trust_path(&strict, deep, &diag), -1);
	ck_assert_str_eq(diag.code, "path_too_long");
	free(deep);
}
END_TEST

/* ---- what is judged is what is open --------------------------------------------------
 */

/* Two files and a link that leads to one of them, changed all the time. */
_Noreturn static void exchange(const char *good, const char *evil)
{
	for (;;) {
		(void)symlinkat(evil, dir, "new");
		(void)renameat(dir, "new", dir, "where");
		(void)symlinkat(good, dir, "new");
		(void)renameat(dir, "new", dir, "where");
	}
}

/* What is opened is the good file or none, whatever is exchanged meanwhile. */
static void hold_against(const char *good, const char *evil, const char *path)
{
	enum { TRIES = 3000 };
	struct stat st, wanted;
	unsigned opened = 0, refused = 0;

	ck_assert_int_eq(symlinkat(good, dir, "where"), 0);
	ck_assert_int_eq(stat(at(path), &wanted), 0);
	pid_t child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0)
		exchange(good, evil);
	for (unsigned i = 0; i < TRIES || ((!opened || !refused) && i < 100 * TRIES);
		i++) {
		int fd = kp_trust_open(&strict, at(path), &st, &diag);
		refused += fd < 0;
		if (fd < 0)
			continue;
		opened++;
		ck_assert_uint_eq(st.st_ino, wanted.st_ino);
		ck_assert_int_eq(fstat(fd, &st), 0);
		ck_assert_uint_eq(st.st_ino, wanted.st_ino);
		close(fd);
	}
	kill(child, SIGKILL);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	ck_assert_msg(
		opened > 0 && refused > 0, "%u opened, %u refused", opened, refused);
}

static const struct {
	const char *good, *evil, *path;
	const char *loose; /* what others may write */
	bool is_dir;
} swaps[] = {
	{"good/x", "evil/x", "where", "evil/x", false},
	{"good", "evil", "where/x", "evil", true},
	{"good", "evil", "where/x", "evil/x", false},
	{"good/deep", "evil/deep", "where/../x", "evil", true},
};

START_TEST(t14_what_is_exchanged_during_the_look_is_not_what_is_opened)
{
	make_dir("good", 0755);
	make_dir("good/deep", 0755);
	make_dir("evil", 0755);
	make_dir("evil/deep", 0755);
	put("good/x", 0644);
	put("evil/x", 0644);
	change(swaps[_i].loose, swaps[_i].is_dir ? 0777 : 0666);
	hold_against(swaps[_i].good, swaps[_i].evil, swaps[_i].path);
}
END_TEST

START_TEST(a_directory_that_was_judged_stays_what_files_are_looked_for_in)
{
	struct kp_trust_dir judged;
	struct stat st, wanted;

	make_dir("d", 0755);
	make_dir("evil", 0755);
	put("d/x", 0644);
	put("evil/x", 0644);
	ck_assert_int_eq(stat(at("d/x"), &wanted), 0);
	ck_assert_int_eq(kp_trust_dir_open(&judged, &strict, at("d"), &diag), 0);
	ck_assert_int_eq(renameat(dir, "d", dir, "away"), 0);
	ck_assert_int_eq(renameat(dir, "evil", dir, "d"), 0);
	int fd = kp_trust_open_at(&judged, "x", &st, &diag);
	ck_assert_int_ge(fd, 0);
	ck_assert_uint_eq(st.st_ino, wanted.st_ino);
	close(fd);
	ck_assert_int_eq(kp_trust_path_at(&judged, "../d/x", &diag), 0);
	kp_trust_dir_close(&judged);
}
END_TEST

START_TEST(one_look_asks_of_each_file_and_of_its_directory_once)
{
	struct kp_trust_look look = {.trust = &strict}, nobody = {.trust = NULL};
	char name[32];

	make_dir("d", 0755);
	make_dir("open", 0777);
	put("d/x", 0644);
	put("d/y", 0666);
	put("open/x", 0644);
	ck_assert(kp_trust_look(&look, at("d/x")));
	ck_assert(!kp_trust_look(&look, at("d/y")));
	ck_assert(!kp_trust_look(&look, at("d/absent")));
	ck_assert(!kp_trust_look(&look, at("open/x")));
	ck_assert(!kp_trust_look(&look, at("open/x")));
	ck_assert_uint_eq(look.count, 1);
	ck_assert(kp_trust_look(&nobody, at("open/x")));
	for (unsigned i = 0; i < 2 * KP_TRUST_DIRS; i++) {
		snprintf(name, sizeof(name), "d%u", i);
		make_dir(name, 0755);
		snprintf(name, sizeof(name), "d%u/x", i);
		put(name, 0644);
		ck_assert(kp_trust_look(&look, at(name)));
	}
	ck_assert_uint_eq(look.count, KP_TRUST_DIRS);
	kp_trust_look_finish(&look);
	kp_trust_look_finish(&nobody);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("trust_walk");
	TCase *t = tcase_create("trust_walk");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, t14_every_directory_on_the_way_counts);
	tcase_add_test(t, t14_in_a_sticky_directory_the_owner_of_what_is_there_counts);
	tcase_add_test(t, t14_directories_that_links_lead_through_count);
	tcase_add_test(t, t14_whose_link_it_is_counts);
	tcase_add_loop_test(t, a_way_that_cannot_be_walked_says_why, 0,
		sizeof(unreachable) / sizeof(unreachable[0]));
	tcase_add_loop_test(t, a_path_that_is_too_long_is_refused, 0, 3);
	tcase_add_loop_test(t,
		t14_what_is_exchanged_during_the_look_is_not_what_is_opened, 0,
		sizeof(swaps) / sizeof(swaps[0]));
	tcase_add_test(t, a_directory_that_was_judged_stays_what_files_are_looked_for_in);
	tcase_add_test(t, one_look_asks_of_each_file_and_of_its_directory_once);
	suite_add_tcase(suite, t);
	return suite_run(suite);
}
