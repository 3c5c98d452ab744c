/* SPDX-License-Identifier: MIT */
/* A place with files whose owners and modes are judged. Included by the one file of a
 * test. */
#ifndef KP_TESTS_TRUST_PLACE_H
#define KP_TESTS_TRUST_PLACE_H

#include <check.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/file.h"
#include "lib/base/trust.h"
#include "tests/support/suite.h"

enum { STRANGER = 12345, OWN_GROUP = 12346 };

static char root[200];
static int dir = -1;
static struct kp_trust strict, with_group;
static struct kp_diag diag;

static inline void setup(void)
{
	const char *tmp = getenv("TMPDIR");
	snprintf(root, sizeof(root), "%.100s/kplug-trust-XXXXXX", tmp ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(root));
	dir = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(dir, 0);
	strict = (struct kp_trust){.owner = geteuid(), .group = KP_TRUST_NO_GROUP};
	with_group = (struct kp_trust){.owner = geteuid(), .group = getegid()};
	diag = (struct kp_diag){0};
}

static inline void teardown(void)
{
	char command[256];
	kp_file_close(&dir);
	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	ck_assert_int_eq(system(command), 0);
}

static inline const char *at(const char *path)
{
	static char whole[PATH_MAX];
	snprintf(whole, sizeof(whole), "%s/%s", root, path);
	return whole;
}

static inline void make_dir(const char *name, mode_t mode)
{
	ck_assert_int_eq(mkdirat(dir, name, 0700), 0);
	ck_assert_int_eq(fchmodat(dir, name, mode, 0), 0);
}

static inline void put(const char *name, mode_t mode)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, name, 1), 1);
	ck_assert_int_eq(fchmod(fd, mode), 0);
	close(fd);
}

static inline void change(const char *name, mode_t mode)
{
	ck_assert_int_eq(fchmodat(dir, name, mode, 0), 0);
}

/* Only root can give files away. */
static inline bool give_away(const char *name)
{
	if (fchownat(dir, name, STRANGER, (gid_t)-1, AT_SYMLINK_NOFOLLOW) == 0)
		return true;
	suite_skip("a file of another user", "only root can give one away");
	return false;
}

static inline void is_right(const char *path)
{
	ck_assert_msg(kp_trust_path(&strict, at(path), &diag) == 0, "%s", diag.message);
}

static inline void has_said(const char *part)
{
	ck_assert_msg(strstr(diag.message, part) != NULL, "%s", diag.message);
}

/* Not trusted because of `where`. */
static inline void is_wrong(const char *path, const char *where, const char *code)
{
	ck_assert_int_eq(kp_trust_path(&strict, at(path), &diag), -1);
	ck_assert_str_eq(diag.code, code);
	ck_assert_str_eq(diag.object, at(where));
	has_said(at(where));
	ck_assert(kp_trust_is_code(code));
}

static inline void is_writable(const char *path, const char *where, unsigned mode)
{
	char words[64];
	is_wrong(path, where, "writable_by_others");
	snprintf(words, sizeof(words), "uid %u and has mode %04o", (unsigned)geteuid(),
		mode);
	has_said(words);
	snprintf(words, sizeof(words), "`chmod go-w /");
	has_said(words);
}

static inline void is_anothers(const char *path, const char *where)
{
	is_wrong(path, where, "untrusted_owner");
	has_said("uid 12345 (mode ");
	has_said("`chown root /");
}

#endif
