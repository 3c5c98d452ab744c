/* SPDX-License-Identifier: MIT */
/* libseccomp makes the program; its gaps are filled in when it is put on. */
#include "daemon/worker/filter.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/worker/calls.h"
#include "lib/base/owned.h"

/* Two results that nothing else here has: they are gaps. */
enum { GAP_OPENS = 0x4f50, GAP_REFUSED = 0x5246 };

static uint32_t action_of(const struct call *call, bool spares)
{
	if (call->fate == CALL_ALLOWED || (call->spared && spares))
		return SCMP_ACT_ALLOW;
	if (call->fate == CALL_DECLINED)
		return SCMP_ACT_ERRNO((uint32_t)call->error);
	return SCMP_ACT_TRACE(call->fate == CALL_OPENS ? GAP_OPENS : GAP_REFUSED);
}

/* A name that this architecture, or this libseccomp, does not know is refused anyway. */
static int add(scmp_filter_ctx context, uint32_t action, const char *name, unsigned n,
	const struct scmp_arg_cmp *when)
{
	int number = seccomp_syscall_resolve_name(name);
	return number == __NR_SCMP_ERROR
		       ? 0
		       : seccomp_rule_add_array(context, action, number, n, when);
}

static int add_plain(scmp_filter_ctx context, const char *const *names)
{
	int error = 0;

	for (size_t i = 0; !error && names[i]; i++)
		error = add(context, SCMP_ACT_ALLOW, names[i], 0, NULL);
	return error;
}

/* Where a call is allowed without a condition no row of it changes that. */
static int add_all(scmp_filter_ctx context, bool spares)
{
	int error = add_plain(context, calls_plain);

	if (!error && spares)
		error = add_plain(context, calls_spared);
	for (size_t i = 0; !error && i < calls_count; i++)
		error = add(context, action_of(&calls[i], spares), calls[i].name,
			calls[i].n, calls[i].when);
	return error;
}

static int failed(struct kp_diag *diag, const char *what, int error)
{
	return kp_diag_set(diag, "sandbox_failed", NULL,
		"the worker cannot be confined: %s: %s", what, strerror(error));
}

int filter_save(const struct filter *filter)
{
	int fd = memfd_create("kplug-filter", 0);

	if (fd >= 0 && kp_file_write(fd, filter->code,
			       filter->count * sizeof(*filter->code)) < 0)
		kp_file_close(&fd);
	return fd;
}

static int read_code(int fd, struct filter *filter, struct kp_diag *diag)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return failed(diag, "its filter is gone", errno);
	filter->count = (size_t)st.st_size / sizeof(*filter->code);
	filter->code = malloc((size_t)st.st_size);
	if (!filter->code)
		return kp_diag_no_memory(diag);
	if (pread(fd, filter->code, (size_t)st.st_size, 0) != st.st_size)
		return failed(diag, "its filter cannot be read", EIO);
	return 0;
}

int filter_read(int fd, struct filter *filter, struct kp_diag *diag)
{
	owned_fd own = fd;

	*filter = (struct filter){0};
	return read_code(own, filter, diag);
}

/* An error number; the program is what it has written. */
static int print(bool spares, int fd)
{
	scmp_filter_ctx context = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
	int error = context ? 0 : -ENOMEM;

	/* Most calls are found in a few steps, so that what is measured stays so. */
	if (!error)
		error = seccomp_attr_set(context, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (!error)
		error = seccomp_attr_set(
			context, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	if (!error)
		error = add_all(context, spares);
	if (!error)
		error = seccomp_export_bpf(context, fd);
	seccomp_release(context);
	return -error;
}

/*
 * libseccomp leaves a heap of many small holes, which every worker would go through and
 * so have copied: a process of its own has it.
 */
static int print_apart(bool spares, int fd)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(print(spares, fd));
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : ECHILD;
}

int filter_make(bool spares, struct filter *filter, struct kp_diag *diag)
{
	owned_fd fd = memfd_create("kplug-filter", MFD_CLOEXEC);

	*filter = (struct filter){0};
	if (fd < 0)
		return failed(diag, "its filter cannot be made", errno);
	int error = print_apart(spares, fd);
	return error ? failed(diag, "its filter cannot be made", error)
		     : read_code(fd, filter, diag);
}

void filter_finish(struct filter *filter)
{
	free(filter->code);
	*filter = (struct filter){0};
}

/* ---- putting it on --------------------------------------------------------------- */

struct gaps {
	uint32_t self, opens, refused;
};

static void fill_gap(struct sock_filter *step, const struct gaps *gaps)
{
	uint32_t opens = SCMP_ACT_TRACE(GAP_OPENS);
	uint32_t refused = SCMP_ACT_TRACE(GAP_REFUSED);

	if (BPF_CLASS(step->code) == BPF_JMP && step->k == CALLS_SELF)
		step->k = gaps->self;
	else if (step->code == (BPF_RET | BPF_K) && step->k == opens)
		step->k = gaps->opens;
	else if (step->code == (BPF_RET | BPF_K) && step->k == refused)
		step->k = gaps->refused;
}

/* The filter itself may make nothing slower than it is where it will run. */
static int load(const struct filter *filter, const struct gaps *gaps, unsigned flags)
{
	size_t size = filter->count * sizeof(*filter->code);
	struct sock_filter *code = malloc(size);
	struct sock_fprog program = {(unsigned short)filter->count, code};

	if (!code)
		return -1;
	memcpy(code, filter->code, size);
	for (size_t i = 0; i < filter->count; i++)
		fill_gap(&code[i], gaps);
	int result = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		flags | SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program);
	int error = errno;
	free(code);
	errno = error;
	return result;
}

int filter_enter(const struct filter *filter, bool landlock, bool listens, int *listener,
	struct kp_diag *diag)
{
	struct gaps told = {
		(uint32_t)getpid(), SECCOMP_RET_USER_NOTIF, SECCOMP_RET_USER_NOTIF};
	struct gaps silent = {(uint32_t)getpid(),
		landlock ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | EACCES,
		SECCOMP_RET_ERRNO | EPERM};

	*listener = listens ? load(filter, &told, SECCOMP_FILTER_FLAG_NEW_LISTENER) : -1;
	/* Old kernels have none; where a container has one already, there is no other. */
	if (*listener >= 0 || load(filter, &silent, 0) == 0)
		return 0;
	return failed(diag, "its filter was refused", errno);
}
