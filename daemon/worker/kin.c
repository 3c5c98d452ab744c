/* SPDX-License-Identifier: MIT */
/* Ends what a worker has left behind. */
#include "daemon/worker/kin.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/file.h"

struct stat_line {
	char state;
	pid_t parent;
};

/* The name of a program may hold blanks and parentheses: look behind the last. */
static bool read_stat(const char *pid, struct stat_line *line)
{
	char path[64];
	char *text = NULL;
	size_t size;
	snprintf(path, sizeof(path), "/proc/%.16s/stat", pid);
	if (kp_file_read(-1, path, 4096, &text, &size, NULL) < 0)
		return false;
	const char *behind = strrchr(text, ')');
	bool found = behind && strlen(behind) > 4;
	if (found) {
		line->state = behind[2];
		line->parent = (pid_t)strtol(behind + 4, NULL, 10);
	}
	free(text);
	return found;
}

/*
 * All of /proc, not .../children: that file needs a kernel option, and this runs
 * only when something was left behind. Returns how many it killed.
 */
static size_t kill_children(bool (*spare)(void *context, pid_t pid), void *context)
{
	size_t killed = 0;
	DIR *proc = opendir("/proc");
	if (!proc)
		return 0;
	for (struct dirent *entry; (entry = readdir(proc));) {
		struct stat_line line;
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
		if (pid <= 0 || !read_stat(entry->d_name, &line))
			continue;
		if (line.parent != getpid() || line.state == 'Z' ||
			(spare && spare(context, pid)))
			continue;
		/* Not reaped yet, so that the number is still its own. */
		if (kill(pid, SIGKILL) == 0)
			killed++;
	}
	closedir(proc);
	return killed;
}

/* Reaps the dead that are not spared; whether any other child is left. */
static bool reap(bool (*spare)(void *context, pid_t pid), void *context)
{
	for (;;) {
		siginfo_t info = {0};
		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0)
			return false;
		if (info.si_pid == 0)
			return true;
		/* A spared one that is dead is its owner's to reap, before this goes on.
		 */
		if (spare && spare(context, info.si_pid))
			return false;
		waitid(P_PID, (id_t)info.si_pid, &info, WEXITED);
	}
}

bool kin_end(bool (*spare)(void *context, pid_t pid), void *context)
{
	bool any = false;
	while (reap(spare, context)) {
		if (kill_children(spare, context) == 0)
			break;
		any = true;
		siginfo_t info;
		while (waitid(P_ALL, 0, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
			continue;
	}
	return any;
}
