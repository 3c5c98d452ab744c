/* SPDX-License-Identifier: MIT */
/* Numbered names for files that are wrong. */
#include "daemon/state/aside.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void number(const char *name, int i, char *aside)
{
	if (i == 0)
		(void)snprintf(aside, ASIDE_BYTES, "%s.damaged", name);
	else
		(void)snprintf(aside, ASIDE_BYTES, "%s.damaged.%d", name, i);
}

static bool is_there(int dir, const char *name, struct stat *st)
{
	return fstatat(dir, name, st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* The first that is free, else the last. */
static void choose(int dir, const char *name, char *aside)
{
	struct stat st;

	for (int i = 0; i < ASIDE_FILES; i++) {
		number(name, i, aside);
		if (!is_there(dir, aside, &st))
			return;
	}
}

bool aside_move(int dir, const char *name, char *aside)
{
	choose(dir, name, aside);
	return renameat(dir, name, dir, aside) == 0;
}

bool aside_link(int dir, const char *name, char *aside)
{
	struct stat own, st;

	if (!is_there(dir, name, &own))
		return false;
	for (int i = 0; i < ASIDE_FILES; i++) {
		number(name, i, aside);
		if (is_there(dir, aside, &st) && st.st_dev == own.st_dev &&
			st.st_ino == own.st_ino)
			return true;
	}
	choose(dir, name, aside);
	if (is_there(dir, aside, &st))
		(void)unlinkat(dir, aside, 0);
	return linkat(dir, name, dir, aside, 0) == 0;
}

bool aside_find(int dir, const char *name, char *aside)
{
	struct stat st;

	for (int i = ASIDE_FILES; i-- > 0;) {
		number(name, i, aside);
		if (is_there(dir, aside, &st))
			return true;
	}
	return false;
}
