/* SPDX-License-Identifier: MIT */
/*
 * PIDFD_GET_INFO of Linux 6.15 (ioctl_pidfd in the kernel's uapi/linux/pidfd.h), once
 * somebody has waited for the process; until then its exit code in /proc/PID/stat, where
 * we may read it.
 */
#include "daemon/incident/ending.h"

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/owned.h"

/* As the kernel has it; headers of today may not. */
struct info {
	uint64_t mask, cgroup;
	uint32_t pid, tgid, ppid, ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
	int32_t exit_code;
	uint32_t coredump_mask, coredump_signal;
};
#define GET_INFO  _IOWR(0xff, 11, struct info)
#define INFO_EXIT (UINT64_C(1) << 3)

enum { STAT_CODE = 52, STAT_STATE = 3 }; /* of proc_pid_stat(5), counted from 1 */

static struct ending from_code(int code)
{
	if (WIFSIGNALED(code))
		return (struct ending){true, WTERMSIG(code), 0};
	return (struct ending){true, 0, WEXITSTATUS(code)};
}

static bool ask(int pidfd, int *code)
{
	struct info info = {.mask = INFO_EXIT};

	if (ioctl(pidfd, GET_INFO, &info) < 0 || !(info.mask & INFO_EXIT))
		return false;
	*code = info.exit_code;
	return true;
}

/* The field of that number; the name before may hold anything. */
static const char *field_of(const char *stat, int number)
{
	const char *at = strrchr(stat, ')');

	for (int field = 2; at && field < number; field++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
		if (field + 1 == number)
			return at;
	}
	return NULL;
}

/*
 * Of a zombie. Whoever may not look reads 0, which says nothing; that it is this process
 * and no later one is sure as long as the pidfd can be signalled afterwards.
 */
static bool look(int pidfd, pid_t pid, int *code)
{
	char path[64], text[2048];

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	owned_fd fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0 || syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0) < 0)
		return false;
	text[n] = '\0';
	const char *state = field_of(text, STAT_STATE);
	const char *said = field_of(text, STAT_CODE);
	if (!state || *state != 'Z' || !said)
		return false;
	*code = (int)strtol(said, NULL, 10);
	return *code != 0;
}

struct ending ending_of(int pidfd, pid_t pid)
{
	int code;

	if (ask(pidfd, &code) || look(pidfd, pid, &code))
		return from_code(code);
	return (struct ending){false, 0, 0};
}

bool ending_is_crash(int signal)
{
	static const int cores[] = {
		SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};

	for (size_t i = 0; i < sizeof(cores) / sizeof(cores[0]); i++)
		if (cores[i] == signal)
			return true;
	return false;
}

const char *ending_name(int signal, char space[ENDING_NAME])
{
	const char *name = sigabbrev_np(signal);

	if (name)
		(void)snprintf(space, ENDING_NAME, "SIG%s", name);
	else
		(void)snprintf(space, ENDING_NAME, "signal %d", signal);
	return space;
}
