/* SPDX-License-Identifier: MIT */
/* setrlimit and capset. */
#include "daemon/worker/limits.h"

#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/owned.h"

enum {
	MEMORY_MIB = 4096, /* of a probe: the stacks of some hundred threads, and more */
	MEMORY_LEAST_MIB = 1024,
	STACK_MIB = 64,
	/* A page of tables maps 512: they are in no account but this one. */
	SPACE_OF_MEMORY = 64,
	FILE_MIB = 64,
	FILES = 256, /* descriptors */
	FILES_MANY = 1024,
	THREADS = 4096, /* more than the machine has now */
	SIGNALS = 1024,
	MIB_SHIFT = 20,
};

/* Shadow memory is data, too. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif
#else
enum { SANITIZED = 0 };
#endif

/* A limit is never raised, also where that is permitted. */
static int limit(int what, rlim_t soft, rlim_t hard)
{
	struct rlimit old;

	if (getrlimit(what, &old) < 0)
		return -1;
	hard = hard < old.rlim_max ? hard : old.rlim_max;
	soft = soft < old.rlim_cur ? soft : old.rlim_cur;
	const struct rlimit new = {soft < hard ? soft : hard, hard};
	return setrlimit(what, &new);
}

static int limit_to(int what, rlim_t most)
{
	return limit(what, most, most);
}

static rlim_t memory_of_machine(void)
{
	return (rlim_t)sysconf(_SC_PHYS_PAGES) * (rlim_t)sysconf(_SC_PAGESIZE);
}

static rlim_t memory_most(bool measures)
{
	const rlim_t most = (rlim_t)MEMORY_MIB << MIB_SHIFT;
	const rlim_t least = (rlim_t)MEMORY_LEAST_MIB << MIB_SHIFT;
	rlim_t half = memory_of_machine() / 2;

	if (measures)
		return memory_of_machine();
	if (half < least)
		return least;
	return half < most ? half : most;
}

/* More than the time of the job, were all processors busy with it. */
static rlim_t seconds_most(unsigned timeout_ms)
{
	long processors = sysconf(_SC_NPROCESSORS_CONF);

	return (rlim_t)(timeout_ms / 1000 + 2) *
	       (rlim_t)(processors > 0 ? processors : 1);
}

/*
 * The kernel counts threads of a user everywhere: what is there now is none of this
 * worker's doing, and a user has no more of them than the machine. Root is not counted.
 */
static rlim_t threads_most(void)
{
	char text[128] = "";
	FILE *file = fopen("/proc/loadavg", "re");

	if (file) {
		(void)!fgets(text, sizeof(text), file);
		(void)fclose(file);
	}
	/* "0.20 0.18 0.12 1/80 11206": those that run, and all. */
	const char *slash = strchr(text, '/');
	long threads = slash ? strtol(slash + 1, NULL, 10) : 0;
	return threads > 0 ? (rlim_t)threads + THREADS : RLIM_INFINITY;
}

/* A driver of a GPU sets aside more addresses than any machine has memory. */
static int limit_memory(const struct limits_wish *wish)
{
	rlim_t most = memory_most(wish->measures);

	if (SANITIZED)
		return 0;
	if (!wish->gpu && limit_to(RLIMIT_AS, most * SPACE_OF_MEMORY) < 0)
		return -1;
	return limit_to(RLIMIT_DATA, most);
}

static int limit_all(const struct limits_wish *wish)
{
	rlim_t file =
		wish->measures ? memory_of_machine() : (rlim_t)FILE_MIB << MIB_SHIFT;
	rlim_t seconds = seconds_most(wish->timeout_ms);

	if (limit_to(RLIMIT_CORE, 0) < 0 || limit_to(RLIMIT_FSIZE, file) < 0 ||
		limit_to(RLIMIT_STACK, (rlim_t)STACK_MIB << MIB_SHIFT) < 0 ||
		limit_to(RLIMIT_NOFILE,
			wish->measures || wish->gpu ? FILES_MANY : FILES) < 0 ||
		limit_to(RLIMIT_NPROC, threads_most()) < 0 ||
		limit_to(RLIMIT_SIGPENDING, SIGNALS) < 0 ||
		limit_to(RLIMIT_MSGQUEUE, 0) < 0 || limit_to(RLIMIT_RTPRIO, 0) < 0)
		return -1;
	/* First SIGXCPU, which has a name; then it is killed. */
	if (wish->timeout_ms && limit(RLIMIT_CPU, seconds, seconds + 1) < 0)
		return -1;
	return limit_memory(wish);
}

/*
 * Root without them is like anybody who owns what is root's. Who has none need not, and
 * a service may not, make the call.
 */
static int drop_capabilities(void)
{
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	const struct __user_cap_data_struct none[2] = {{0}, {0}};
	struct __user_cap_data_struct own[2];

	if (syscall(SYS_capget, &header, own) == 0 &&
		!(own[0].permitted | own[1].permitted))
		return 0;
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return (int)syscall(SYS_capset, &header, none);
}

int limits_enter(const struct limits_wish *wish)
{
	return limit_all(wish) < 0 || drop_capabilities() < 0 ? -1 : 0;
}
