/* SPDX-License-Identifier: MIT */
/* Judging files by their stat, and whose the user's own group is. */
#include "lib/base/trust.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { NAMES_BYTES = 64 << 10, OF_DESCRIPTOR = 32, ONES_BYTES = 64 };

/* ---- the user's own group -------------------------------------------------------- */

static bool has_only(char *const *members, const char *name)
{
	for (; *members; members++)
		if (strcmp(*members, name) != 0)
			return false;
	return true;
}

/* Whoever shares the group as his first one is in no list of it. What cannot be read to
 * its end may have one. */
static bool is_shared(gid_t group, const char *name, char *buffer, size_t size)
{
	FILE *users = fopen("/etc/passwd", "re");
	struct passwd entry, *found;
	bool shared = false;
	int error = 0;

	if (!users)
		return true;
	while (!shared && !(error = fgetpwent_r(users, &entry, buffer, size, &found)))
		shared = entry.pw_gid == group && strcmp(entry.pw_name, name) != 0;
	(void)fclose(users);
	return shared || error != ENOENT;
}

static bool is_private(gid_t group, const struct passwd *user, char *buffer, size_t size)
{
	struct group entry, *its;

	return getgrgid_r(group, &entry, buffer, size, &its) == 0 && its &&
	       strcmp(entry.gr_name, user->pw_name) == 0 &&
	       has_only(entry.gr_mem, user->pw_name) &&
	       !is_shared(group, user->pw_name, buffer, size);
}

gid_t kp_trust_private_group(void)
{
	gid_t group = getegid();
	char *names = malloc(NAMES_BYTES);
	char *others = malloc(NAMES_BYTES);
	struct passwd entry, *user;
	bool good = names && others && group != 0 &&
		    getpwuid_r(geteuid(), &entry, names, NAMES_BYTES, &user) == 0 &&
		    user && is_private(group, user, others, NAMES_BYTES);

	free(names);
	free(others);
	return good ? group : KP_TRUST_NO_GROUP;
}

/* ---- the program ----------------------------------------------------------------- */

static void ask_above(struct kp_trust *trust, char *path)
{
	struct stat st;

	for (char *slash;
		trust->n_above < KP_TRUST_ABOVE && (slash = strrchr(path, '/'));) {
		slash[slash == path] = '\0';
		if (stat(path, &st) == 0) {
			trust->above[trust->n_above].dev = st.st_dev;
			trust->above[trust->n_above++].ino = st.st_ino;
		}
		if (slash == path)
			return;
	}
}

/* A program that is gone has nobody above it. */
void kp_trust_ask(struct kp_trust *trust, bool for_all)
{
	static const char own[] = "/proc/self/exe";
	char path[PATH_MAX];
	struct stat st;
	ssize_t n = readlink(own, path, sizeof(path) - 1);

	*trust = (struct kp_trust){.owner = geteuid(),
		.group = for_all ? KP_TRUST_NO_GROUP : kp_trust_private_group()};
	if (n <= 0 || stat(own, &st) < 0)
		return;
	path[n] = '\0';
	trust->program = st.st_uid;
	ask_above(trust, path);
}

bool kp_trust_is_above(const struct kp_trust *trust, const struct stat *st)
{
	for (size_t i = 0; i < trust->n_above; i++)
		if (trust->above[i].dev == st->st_dev &&
			trust->above[i].ino == st->st_ino)
			return true;
	return false;
}

/* ---- judging --------------------------------------------------------------------- */

/* One that cannot be looked for may be there. */
static bool has_list(int fd)
{
	static const char list[] = "system.posix_acl_access";
	char path[OF_DESCRIPTOR];
	ssize_t size = fgetxattr(fd, list, NULL, 0);

	if (size < 0 && errno == EBADF) {
		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		size = getxattr(path, list, NULL, 0);
	}
	return size > 0 || (size < 0 && errno != ENODATA && errno != ENOTSUP);
}

/* Whom else it may belong to, for sentences: "root", or "root and uid 1000". */
static const char *trusted_ones(const struct kp_trust *trust, char text[ONES_BYTES])
{
	int n = snprintf(text, ONES_BYTES, "root");

	if (trust->owner != 0)
		n += snprintf(text + n, ONES_BYTES - (size_t)n, " and uid %u",
			(unsigned)trust->owner);
	if (trust->program != 0 && trust->program != trust->owner)
		(void)snprintf(text + n, ONES_BYTES - (size_t)n, " and uid %u",
			(unsigned)trust->program);
	return text;
}

/* A command that is copied into a shell must be no more than that. */
static const char *command(const char *words, const char *path, char *text, size_t size)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789/._+-@,:=";
	bool fits = path[0] == '/' && path[strspn(path, plain)] == '\0';
	int n = fits ? snprintf(text, size, "`%s %s`", words, path) : -1;

	if (n < 0 || (size_t)n >= size)
		(void)snprintf(text, size, "`%s` it", words);
	return text;
}

static int untrusted_owner(const struct kp_trust *trust, const struct stat *st,
	const char *path, struct kp_diag *diag)
{
	char ones[ONES_BYTES], mend[320];

	return kp_diag_set(diag, "untrusted_owner", path,
		"%s belongs to uid %u (mode %04o), and only files of %s are taken: %s "
		"once you trust what is there",
		path, (unsigned)st->st_uid, (unsigned)st->st_mode & 07777,
		trusted_ones(trust, ones),
		command("chown root", path, mend, sizeof(mend)));
}

static int writable(const struct kp_trust *trust, int fd, const struct stat *st,
	const char *path, struct kp_diag *diag)
{
	char ones[ONES_BYTES], mend[320];
	bool listed = st->st_mode & S_IWGRP && has_list(fd);

	return kp_diag_set(diag, "writable_by_others", path,
		"%s belongs to uid %u and has mode %04o%s: others than %s may change %s; "
		"%s",
		path, (unsigned)st->st_uid, (unsigned)st->st_mode & 07777,
		listed ? " and a list of access (getfacl shows it)" : "",
		trusted_ones(trust, ones), S_ISDIR(st->st_mode) ? "what is in it" : "it",
		command("chmod go-w", path, mend, sizeof(mend)));
}

static bool is_own_groups(const struct kp_trust *trust, int fd, const struct stat *st)
{
	return trust->group != KP_TRUST_NO_GROUP && st->st_gid == trust->group &&
	       !has_list(fd);
}

bool kp_trust_is_owner(const struct kp_trust *trust, uid_t uid)
{
	return uid == 0 || uid == trust->owner || uid == trust->program;
}

int kp_trust_file(const struct kp_trust *trust, int fd, const struct stat *st,
	const char *path, struct kp_diag *diag)
{
	if (!kp_trust_is_owner(trust, st->st_uid))
		return untrusted_owner(trust, st, path, diag);
	if (st->st_mode & S_IWOTH ||
		(st->st_mode & S_IWGRP && !is_own_groups(trust, fd, st)))
		return writable(trust, fd, st, path, diag);
	return 0;
}

bool kp_trust_is_code(const char *code)
{
	return strcmp(code, "untrusted_owner") == 0 ||
	       strcmp(code, "writable_by_others") == 0;
}
