/* SPDX-License-Identifier: MIT */
/* Whose files count, by owner, mode, list of access and group. */
#include "tests/support/trust_place.h"

#include <pwd.h>
#include <sys/wait.h>
#include <sys/xattr.h>

/* ---- files ------------------------------------------------------------------------- */

static const mode_t bad_modes[] = {0664, 0646, 0602, 0777, 0620, 0666};

START_TEST(t14_what_others_may_write_is_told_with_uid_mode_and_remedy)
{
	put("x", bad_modes[_i]);
	is_writable("x", "x", bad_modes[_i]);
	ck_assert_int_eq(kp_trust_open(&strict, at("x"), NULL, &diag), -1);
	ck_assert_str_eq(diag.code, "writable_by_others");
	change("x", bad_modes[_i] & ~022);
	is_right("x");
}
END_TEST

START_TEST(t14_what_belongs_to_another_is_told_with_uid_mode_and_remedy)
{
	put("x", 0644);
	if (!give_away("x"))
		return;
	is_anothers("x", "x");
	has_said("(mode 0644)");
	/* Whoever owns it may change the mode, too: that comes second. */
	change("x", 0666);
	is_anothers("x", "x");
}
END_TEST

START_TEST(a_name_that_a_shell_would_take_apart_is_in_no_command)
{
	static const char *const names[] = {
		"a;b", "$(x)", "`x`", "a b", "a'b", "a\"b", "a&b", "a|b", "a>b", "*"};
	put(names[_i], 0666);
	is_wrong(names[_i], names[_i], "writable_by_others");
	has_said("`chmod go-w` it");
}
END_TEST

START_TEST(t14_the_own_group_may_write_where_there_is_no_list)
{
	static const mode_t modes[] = {0664, 0660, 0620};
	struct stat st;

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		put("x", modes[i]);
		int fd = kp_trust_open(&with_group, at("x"), &st, &diag);
		ck_assert_msg(fd >= 0, "%s", diag.message);
		close(fd);
	}
	change("x", 0666);
	ck_assert_int_eq(kp_trust_path(&with_group, at("x"), &diag), -1);
	make_dir("d", 0775);
	ck_assert_int_eq(kp_trust_path(&with_group, at("d"), &diag), 0);
	change("d", 0777);
	ck_assert_int_eq(kp_trust_path(&with_group, at("d"), &diag), -1);
}
END_TEST

START_TEST(t14_another_group_may_not_write)
{
	struct kp_trust others = {.owner = geteuid(), .group = OWN_GROUP};

	put("x", 0664);
	ck_assert_int_eq(kp_trust_path(&others, at("x"), &diag), -1);
	ck_assert_str_eq(diag.code, "writable_by_others");
}
END_TEST

/* user::rw-, user:12345:PERM, group::---, mask::PERM, other::r--, as the kernel has it.
 */
static bool set_list(const char *name, unsigned char perm)
{
	const unsigned char list[] = {2, 0, 0, 0,		    /* version */
		1, 0, 6, 0, 255, 255, 255, 255,			    /* owner */
		2, 0, perm, 0, STRANGER & 255, STRANGER >> 8, 0, 0, /* a user */
		4, 0, 0, 0, 255, 255, 255, 255, 16, 0, perm, 0, 255, 255, 255, 255, 32, 0,
		4, 0, 255, 255, 255, 255};
	if (setxattr(at(name), "system.posix_acl_access", list, sizeof(list), 0) == 0)
		return true;
	suite_skip("a list of access", "the file system has none");
	return false;
}

START_TEST(t14_who_may_write_by_a_list_counts_also_behind_the_own_group)
{
	put("x", 0644);
	if (!set_list("x", 4))
		return;
	is_right("x");
	ck_assert(set_list("x", 6));
	is_wrong("x", "x", "writable_by_others");
	has_said("list of access (getfacl shows it)");
	ck_assert_int_eq(kp_trust_path(&with_group, at("x"), &diag), -1);
	ck_assert_str_eq(diag.code, "writable_by_others");
	/* The remedy that is named: it takes the mask. */
	change("x", 0644);
	is_right("x");
}
END_TEST

START_TEST(t14_a_list_of_a_directory_counts)
{
	make_dir("d", 0755);
	put("d/x", 0644);
	if (!set_list("d", 7))
		return;
	is_wrong("d/x", "d", "writable_by_others");
	ck_assert_int_eq(kp_trust_path(&with_group, at("d/x"), &diag), -1);
	change("d", 0755);
	is_right("d/x");
}
END_TEST

/* ---- what the own user may not reach ------------------------------------------------
 */

/* In a process of its own, as nobody. */
static void is_refused_to_nobody(const char *path, const char *object, const char *words)
{
	const struct passwd *nobody = getpwnam("nobody");
	int status;

	ck_assert_ptr_nonnull(nobody);
	pid_t child = fork();
	if (child == 0) {
		if (setgid(nobody->pw_gid) < 0 || setuid(nobody->pw_uid) < 0)
			_exit(2);
		int fd = kp_trust_open(&strict, at(path), NULL, &diag);
		if (fd >= 0 || strcmp(diag.code, "not_permitted") != 0)
			_exit(3);
		_exit(strcmp(diag.object, at(object)) != 0 ? 4
			: strstr(diag.message, words)	   ? 0
							   : 5);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
}

START_TEST(t14_what_the_service_may_not_reach_is_told_with_uid_and_mode)
{
	char words[128];

	if (geteuid() != 0) {
		suite_skip("a file of another user", "only root can be another user");
		return;
	}
	change(".", 0755);
	make_dir("d", 0755);
	make_dir("d/e", 0755);
	put("d/e/x", 0640);
	snprintf(words, sizeof(words), "uid %u may not read",
		(unsigned)getpwnam("nobody")->pw_uid);
	is_refused_to_nobody("d/e/x", "d/e/x", words);
	is_refused_to_nobody("d/e/x", "d/e/x", "belongs to uid 0 and has mode 0640");
	change("d/e/x", 0644);
	change("d/e", 0700);
	is_refused_to_nobody("d/e/x", "d/e", "belongs to uid 0 and has mode 0700");
	change("d/e", 0755);
	change("d", 0644);
	is_refused_to_nobody("d/e/x", "d", "may not go through");
}
END_TEST

/* ---- the user's own group ------------------------------------------------------------
 */

/* As this user, in a process of its own: is its group private? */
static bool finds_private_group(const struct passwd *user)
{
	int status;
	pid_t child = fork();
	if (child == 0) {
		if (setgid(user->pw_gid) < 0 || setuid(user->pw_uid) < 0)
			_exit(2);
		_exit(kp_trust_private_group() == user->pw_gid ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) < 2);
	return WEXITSTATUS(status) == 0;
}

START_TEST(the_own_group_is_one_of_the_users_name_that_nobody_shares)
{
	/* Of base-passwd: groups of their own, one that is shared, one of another name.
	 */
	static const struct {
		const char *name;
		bool private;
	} users[] = {{"bin", true}, {"daemon", true}, {"mail", true}, {"nobody", false},
		{"sync", false}, {"root", false}};

	for (size_t i = 0; i < sizeof(users) / sizeof(users[0]); i++) {
		const struct passwd *user = getpwnam(users[i].name);
		if (geteuid() != 0 || !user) {
			suite_skip("groups of users", "only root can be another user");
			return;
		}
		ck_assert_msg(finds_private_group(user) == users[i].private, "%s",
			users[i].name);
	}
}
END_TEST

/* ---- the program --------------------------------------------------------------------
 */

START_TEST(t14_whose_the_program_is_and_where_is_known)
{
	struct kp_trust asked;
	struct stat st;
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	ck_assert_int_gt(n, 0);
	path[n] = '\0';
	kp_trust_ask(&asked, true);
	ck_assert_uint_eq(asked.owner, geteuid());
	ck_assert(asked.group == KP_TRUST_NO_GROUP);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert(kp_trust_is_owner(&asked, st.st_uid));
	ck_assert(!kp_trust_is_above(&asked, &st));
	for (char *slash; (slash = strrchr(path, '/')) != path;) {
		*slash = '\0';
		ck_assert_int_eq(stat(path, &st), 0);
		ck_assert_msg(kp_trust_is_above(&asked, &st), "%s", path);
	}
	ck_assert_int_eq(stat("/", &st), 0);
	ck_assert(kp_trust_is_above(&asked, &st));
	ck_assert_int_eq(fstat(dir, &st), 0);
	ck_assert(!kp_trust_is_above(&asked, &st));
}
END_TEST

static void is_right_to(const struct kp_trust *trust, const char *path, bool right)
{
	int result = kp_trust_path(trust, at(path), &diag);
	int fd = kp_trust_open(trust, at(path), NULL, &diag);

	ck_assert_msg((result == 0) == right, "%s: %s", path, diag.message);
	ck_assert_msg((fd >= 0) == right, "%s: %s", path, diag.message);
	kp_file_close(&fd);
}

START_TEST(t14_a_directory_above_the_program_is_not_asked_whose_it_is)
{
	struct kp_trust beside = strict;
	struct stat st;

	make_dir("all", 0777);
	make_dir("all/other", 0777);
	put("all/x", 0644);
	put("all/free", 0666);
	put("all/other/x", 0644);
	ck_assert_int_eq(fstatat(dir, "all", &st, 0), 0);
	beside.above[0].dev = st.st_dev;
	beside.above[0].ino = st.st_ino;
	beside.n_above = 1;
	is_right_to(&strict, "all/x", false);
	is_right_to(&beside, "all/x", true);
	is_right_to(&beside, "all/free", false);
	is_right_to(&beside, "all/other/x", false);
	if (give_away("all"))
		is_right_to(&beside, "all/x", true);
}
END_TEST

START_TEST(t14_files_of_the_programs_owner_count)
{
	struct kp_trust beside = strict;

	beside.program = STRANGER;
	make_dir("d", 0755);
	put("d/x", 0644);
	put("d/free", 0666);
	if (!give_away("d/x") || !give_away("d/free") || !give_away("d"))
		return;
	is_right_to(&strict, "d/x", false);
	is_right_to(&beside, "d/x", true);
	is_right_to(&beside, "d/free", false);
	beside.program = STRANGER + 1;
	is_right_to(&beside, "d/x", false);
	has_said("uid 12346");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("trust");
	TCase *t = tcase_create("trust");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, t14_what_others_may_write_is_told_with_uid_mode_and_remedy,
		0, sizeof(bad_modes) / sizeof(bad_modes[0]));
	tcase_add_test(t, t14_what_belongs_to_another_is_told_with_uid_mode_and_remedy);
	tcase_add_loop_test(
		t, a_name_that_a_shell_would_take_apart_is_in_no_command, 0, 10);
	tcase_add_test(t, t14_the_own_group_may_write_where_there_is_no_list);
	tcase_add_test(t, t14_another_group_may_not_write);
	tcase_add_test(t, t14_who_may_write_by_a_list_counts_also_behind_the_own_group);
	tcase_add_test(t, t14_a_list_of_a_directory_counts);
	tcase_add_test(t, t14_what_the_service_may_not_reach_is_told_with_uid_and_mode);
	tcase_add_test(t, t14_whose_the_program_is_and_where_is_known);
	tcase_add_test(t, t14_a_directory_above_the_program_is_not_asked_whose_it_is);
	tcase_add_test(t, t14_files_of_the_programs_owner_count);
	tcase_add_test(t, the_own_group_is_one_of_the_users_name_that_nobody_shares);
	suite_add_tcase(suite, t);
	return suite_run(suite);
}
