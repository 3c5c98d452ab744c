/* SPDX-License-Identifier: MIT */
/*
 * Whose files count: who may have changed one, or put another in its place. What is
 * judged is what is open, component by component, so that nobody exchanges anything
 * between the look and the use. Knows nothing of what is in the files.
 */
#ifndef KP_LIB_TRUST_H
#define KP_LIB_TRUST_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "lib/base/diag.h"

/*
 * Files must belong to root or `owner`, and nobody else may write them. A list of access
 * counts by its mask, which is what the mode's group bits show then.
 */
enum { KP_TRUST_ABOVE = 32 };
struct kp_trust {
	uid_t owner;
	gid_t group; /* may write, too, where there is no list; KP_TRUST_NO_GROUP: none */
	/*
	 * Who may replace the program that judges may have it say anything: its owner
	 * counts (0: root, as always), and whose the directories above it are is not
	 * asked. A checkout of somebody's, in a place that all may write, works so.
	 */
	uid_t program;
	size_t n_above;
	struct {
		dev_t dev;
		ino_t ino;
	} above[KP_TRUST_ABOVE];
};
#define KP_TRUST_NO_GROUP ((gid_t)-1)

/*
 * Of this process and its program. for_all: it decides for other users, and no group's
 * word counts.
 */
void kp_trust_ask(struct kp_trust *trust, bool for_all);

/*
 * The effective group of this process, where the user is known to be its only member: it
 * has the user's name, and neither its list nor /etc/passwd has anybody else in it. What
 * a umask of 0002 makes is the user's own then. Else KP_TRUST_NO_GROUP.
 */
gid_t kp_trust_private_group(void);

bool kp_trust_is_owner(const struct kp_trust *trust, uid_t uid);
/* Is it a directory above the program? */
bool kp_trust_is_above(const struct kp_trust *trust, const struct stat *st);

/*
 * Is it so of what `fd` has open (also by O_PATH), whose stat is `st`? Codes
 * untrusted_owner, writable_by_others: the message names path, uid, mode and what to do.
 */
int kp_trust_file(const struct kp_trust *trust, int fd, const struct stat *st,
	const char *path, struct kp_diag *diag) __attribute__((warn_unused_result));

/*
 * Is it so of everything on the way to an absolute path? Of each directory from the root
 * on, those that links lead through included (of a sticky one only its owner is asked:
 * nobody replaces there what belongs to another), of links their owner alone, and of a
 * file or directory at its end. Codes of kp_trust_file, missing_file, not_permitted,
 * link_loop, path_too_long, io_error, no_memory; the object is the component.
 */
int kp_trust_path(const struct kp_trust *trust, const char *path, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/*
 * The same, and opens the file for reading as kp_file_open does: what is open is what was
 * judged. A descriptor of the caller, or -1; also not_regular_file.
 */
int kp_trust_open(const struct kp_trust *trust, const char *path, struct stat *st,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/* A directory that was found right, for files in it; zero is none. */
struct kp_trust_dir {
	const struct kp_trust *trust;
	int fd;
	char *path; /* without links */
};

/* The directory at an absolute path, as kp_trust_path judges; open by O_PATH. */
int kp_trust_dir_open(struct kp_trust_dir *dir, const struct kp_trust *trust,
	const char *path, struct kp_diag *diag) __attribute__((warn_unused_result));
void kp_trust_dir_close(struct kp_trust_dir *dir);

/* As kp_trust_path and kp_trust_open, of a name in it. */
int kp_trust_path_at(const struct kp_trust_dir *dir, const char *name,
	struct kp_diag *diag) __attribute__((warn_unused_result));
int kp_trust_open_at(const struct kp_trust_dir *dir, const char *name, struct stat *st,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/*
 * Asks of many paths in one look: directories that were found right are kept open, and
 * not asked again.
 */
enum { KP_TRUST_DIRS = 16 };
struct kp_trust_look {
	const struct kp_trust *trust; /* NULL: everybody is trusted */
	size_t count;
	struct {
		char *path; /* as it was given */
		struct kp_trust_dir dir;
	} dirs[KP_TRUST_DIRS];
};
bool kp_trust_look(struct kp_trust_look *look, const char *path);
void kp_trust_look_finish(struct kp_trust_look *look);

/* Is it one of the two codes that say whose file it is? */
bool kp_trust_is_code(const char *code);

#endif
