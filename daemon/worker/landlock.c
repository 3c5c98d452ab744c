/* SPDX-License-Identifier: MIT */
/* Rules for a ruleset, by bare system calls: libc has no functions for them. */
#include "daemon/worker/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/owned.h"

/* By the version that brought them; headers may be older than the kernel. */
enum {
	WRITE = 1 << 1,
	READS = 1 << 2 | 1 << 3,
	REFER = 1 << 13,
	TRUNCATE = 1 << 14,
	IOCTL = 1 << 15,
	FIRST = (1 << 13) - 1, /* all of version 1 */
	CONNECT = 1 << 0 | 1 << 1,
	SCOPES = 1 << 0 | 1 << 1, /* sockets without a name in the file system; signals */
};

struct attributes {
	uint64_t files, net, scopes;
};

static const char *const plain[] = {
	"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"};

/* Of NVIDIA's, AMD's and Intel's drivers. */
static const char *const gpus[] = {"/dev/nvidia*", "/dev/nvidia-caps/*", "/dev/kfd",
	"/dev/dri/*", "/dev/dxg", "/dev/accel/*"};

bool landlock_leaves(const char *path)
{
	static const char *const beginnings[] = {
		"/dev/nvidia", "/dev/kfd", "/dev/dri/", "/dev/dxg", "/dev/accel/"};

	for (size_t i = 0; i < KP_COUNT(plain); i++)
		if (strcmp(path, plain[i]) == 0)
			return true;
	for (size_t i = 0; i < KP_COUNT(beginnings); i++)
		if (strncmp(path, beginnings[i], strlen(beginnings[i])) == 0)
			return true;
	return false;
}

static int failed(struct kp_diag *diag, const char *what)
{
	return kp_diag_set(diag, "sandbox_failed", NULL,
		"the worker cannot be confined: %s: %s", what, strerror(errno));
}

static int make_ruleset(int version, uint64_t files)
{
	struct attributes attributes = {.files = files,
		.net = version >= 4 ? CONNECT : 0,
		.scopes = version >= 6 ? SCOPES : 0};
	/* A kernel takes as much of it as it knows. */
	size_t size = version >= 6   ? sizeof(attributes)
		      : version >= 4 ? offsetof(struct attributes, scopes)
				     : offsetof(struct attributes, net);

	return (int)syscall(SYS_landlock_create_ruleset, &attributes, size, 0);
}

/* What is not there, or is no device, needs no rule. */
static int allow(int ruleset, const char *path, uint64_t rights)
{
	owned_fd fd = open(path, O_PATH | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISCHR(st.st_mode))
		return 0;
	struct landlock_path_beneath_attr rule = {
		.allowed_access = rights, .parent_fd = fd};
	return (int)syscall(
		SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

static int allow_all(int ruleset, uint64_t rights, bool gpu)
{
	glob_t found = {0};
	int error = 0;

	for (size_t i = 0; i < KP_COUNT(plain); i++)
		error |= allow(ruleset, plain[i], rights);
	for (size_t i = 0; gpu && i < KP_COUNT(gpus); i++)
		(void)glob(gpus[i], i ? GLOB_APPEND : 0, NULL, &found);
	for (size_t i = 0; i < found.gl_pathc; i++)
		error |= allow(ruleset, found.gl_pathv[i], rights);
	if (gpu)
		globfree(&found);
	return error;
}

int landlock_enter(int version, bool gpu, struct kp_diag *diag)
{
	uint64_t files = (uint64_t)(FIRST & ~READS) | (version >= 2 ? REFER : 0) |
			 (version >= 3 ? TRUNCATE : 0) | (version >= 5 ? IOCTL : 0);
	owned_fd ruleset = make_ruleset(version, files);

	if (ruleset < 0)
		return failed(diag, "Landlock has no rules for it");
	if (allow_all(ruleset, files & (WRITE | TRUNCATE | IOCTL), gpu) < 0)
		return failed(diag, "Landlock refuses a rule");
	if (syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		return failed(diag, "Landlock refuses it");
	return 0;
}
