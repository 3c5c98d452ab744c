/* SPDX-License-Identifier: MIT */
/* The tables of system calls. */
#include "daemon/worker/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/prctl.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

/* What libc, its threads, the loader, OpenMP, drivers and sanitizers need. */
const char *const calls_plain[] = {
	/* reading, and what is open already */
	"access", "chdir", "close", "close_range", "copy_file_range", "dup", "dup2",
	"dup3", "epoll_create", "epoll_create1", "epoll_ctl", "epoll_pwait",
	"epoll_pwait2", "epoll_wait", "eventfd", "eventfd2", "faccessat", "faccessat2",
	"fadvise64", "fadvise64_64", "fallocate", "fchdir", "fdatasync", "fstat",
	"fstat64", "fstatat64", "fstatfs", "fstatfs64", "fsync", "ftruncate",
	"ftruncate64", "getcwd", "getdents", "getdents64", "_llseek", "lseek", "lstat",
	"lstat64", "newfstatat", "pipe", "pipe2", "poll", "ppoll", "pread64", "preadv",
	"preadv2", "pselect6", "pwrite64", "pwritev", "pwritev2", "read", "readahead",
	"readlink", "readlinkat", "readv", "select", "_newselect", "sendfile",
	"sendfile64", "sendmsg", "signalfd", "signalfd4", "stat", "stat64", "statfs",
	"statfs64", "statx", "sync_file_range", "sync_file_range2", "timerfd_create",
	"timerfd_gettime", "timerfd_settime", "umask", "write", "writev",
	/* memory */
	"brk", "get_mempolicy", "madvise", "mbind", "membarrier", "mincore", "mlock",
	"mlock2", "mlockall", "mprotect", "mremap", "mseal", "msync", "munlock",
	"munlockall", "munmap", "pkey_alloc", "pkey_free", "pkey_mprotect",
	"set_mempolicy", "set_mempolicy_home_node",
	/* threads and time */
	"alarm", "arch_prctl", "clock_getres", "clock_gettime", "clock_nanosleep", "exit",
	"exit_group", "futex", "futex_requeue", "futex_wait", "futex_waitv", "futex_wake",
	"getcpu", "getitimer", "get_robust_list", "gettid", "gettimeofday", "nanosleep",
	"restart_syscall", "rseq", "sched_getaffinity", "sched_getattr", "sched_getparam",
	"sched_get_priority_max", "sched_get_priority_min", "sched_getscheduler",
	"sched_rr_get_interval", "sched_yield", "setitimer", "set_robust_list",
	"set_tid_address", "time", "timer_create", "timer_delete", "timer_getoverrun",
	"timer_gettime", "timer_settime", "times", "ugetrlimit",
	/* signals to itself */
	"pause", "rt_sigaction", "rt_sigpending", "rt_sigprocmask", "rt_sigreturn",
	"rt_sigsuspend", "rt_sigtimedwait", "sigaltstack", "sigreturn", "wait4", "waitid",
	/* who and where it is */
	"capget", "getegid", "geteuid", "getgid", "getgroups", "getpgid", "getpgrp",
	"getpid", "getppid", "getpriority", "getrandom", "getresgid", "getresuid",
	"getrlimit", "getrusage", "getsid", "getuid", "riscv_flush_icache",
	"riscv_hwprobe", "setrlimit", "sysinfo", "uname", NULL};

/* Drivers are asked by ioctl; a stack that the processor guards is in no account. */
const char *const calls_spared[] = {"ioctl", "map_shadow_stack", NULL};

#define SELF(n)		     SCMP_CMP(n, SCMP_CMP_EQ, CALLS_SELF, 0)
#define NOT_SELF(n)	     SCMP_CMP(n, SCMP_CMP_NE, CALLS_SELF, 0)
#define IS(n, value)	     SCMP_CMP(n, SCMP_CMP_EQ, value, 0)
#define IS_NOT(n, value)     SCMP_CMP(n, SCMP_CMP_NE, value, 0)
#define HAS(n, bit)	     SCMP_CMP(n, SCMP_CMP_MASKED_EQ, bit, bit)
#define NONE(n, mask)	     SCMP_CMP(n, SCMP_CMP_MASKED_EQ, mask, 0)
#define BITS(n, mask, value) SCMP_CMP(n, SCMP_CMP_MASKED_EQ, mask, value)
#define ALLOW(name, ...)                                                                 \
	{                                                                                \
		name, CALL_ALLOWED, 0, NULL, 1, {__VA_ARGS__}, false                     \
	}
#define REFUSE(name, error, what)                                                        \
	{                                                                                \
		name, CALL_REFUSED, error, what, 0, {{0}}, false                         \
	}
#define REFUSE_IF(name, error, what, ...)                                                \
	{                                                                                \
		name, CALL_REFUSED, error, what, 1, {__VA_ARGS__}, false                 \
	}
#define DEADLY(name, what)                                                               \
	{                                                                                \
		name, CALL_DEADLY, EPERM, what, 0, {{0}}, false                          \
	}
#define DEADLY_IF(name, what, n, ...)                                                    \
	{                                                                                \
		name, CALL_DEADLY, EPERM, what, n, {__VA_ARGS__}, false                  \
	}
#define FILES(name) REFUSE(name, EACCES, files)
#define OPENS(name, at)                                                                  \
	ALLOW(name, NONE(at, (unsigned)(O_ACCMODE | O_CREAT | O_TRUNC))),                \
		{name, CALL_OPENS, EACCES, opens, 1, {HAS(at, (unsigned)O_WRONLY)},      \
			false},                                                          \
		{name, CALL_OPENS, EACCES, opens, 1, {HAS(at, (unsigned)O_RDWR)},        \
			false},                                                          \
		{name, CALL_OPENS, EACCES, opens, 1, {HAS(at, (unsigned)O_CREAT)},       \
			false},                                                          \
	{                                                                                \
		name, CALL_OPENS, EACCES, opens, 1, {HAS(at, (unsigned)O_TRUNC)}, false  \
	}

static const char files[] = "change files";
static const char opens[] = "write files";
static const char sockets[] = "open sockets";
static const char processes[] = "start processes";
static const char programs[] = "run programs";
static const char sessions[] = "leave its session";
static const char signals[] = "send signals to others";
static const char traces[] = "look into other processes";
static const char places[] = "change what the system sees as its files";
static const char kernel[] = "change the kernel or the machine";
static const char users[] = "become another user";
static const char keys[] = "use the kernel's keys";
static const char rings[] = "use io_uring";
static const char shared[] = "make memory or queues that outlive it";
static const char itself[] = "change how its process is watched";
static const char uncounted[] = "make memory that no limit counts";
static const char watching[] = "use the kernel's means to watch a machine";
static const char asks[] = "change flags of files, or type into a terminal";
static const char locks[] = "hold locks of files";
static const char owners[] = "have signals or leases come from a file";
static const char priority[] = "change priorities, or the limits of others";

const struct call calls[] = {
	OPENS("open", 1),
	OPENS("openat", 2),
	{"creat", CALL_OPENS, EACCES, opens, 0, {{0}}, false},
	FILES("chmod"),
	FILES("chown"),
	FILES("chown32"),
	FILES("fchmod"),
	FILES("fchmodat"),
	FILES("fchmodat2"),
	FILES("fchown"),
	FILES("fchown32"),
	FILES("fchownat"),
	FILES("fremovexattr"),
	FILES("fsetxattr"),
	FILES("futimesat"),
	FILES("lchown"),
	FILES("lchown32"),
	FILES("link"),
	FILES("linkat"),
	FILES("lremovexattr"),
	FILES("lsetxattr"),
	FILES("mkdir"),
	FILES("mkdirat"),
	FILES("mknod"),
	FILES("mknodat"),
	FILES("removexattr"),
	FILES("rename"),
	FILES("renameat"),
	FILES("renameat2"),
	FILES("rmdir"),
	FILES("setxattr"),
	FILES("symlink"),
	FILES("symlinkat"),
	FILES("truncate"),
	FILES("truncate64"),
	FILES("unlink"),
	FILES("unlinkat"),
	FILES("utime"),
	FILES("utimensat"),
	FILES("utimensat_time64"),
	FILES("utimes"),

	REFUSE("socket", EPERM, sockets),
	REFUSE("socketpair", EPERM, sockets),

	ALLOW("clone", HAS(0, CLONE_THREAD)),
	REFUSE_IF("clone", EPERM, processes, NONE(0, CLONE_THREAD)),
	REFUSE("fork", EPERM, processes),
	REFUSE("vfork", EPERM, processes),
	DEADLY("execve", programs),
	DEADLY("execveat", programs),
	DEADLY("setpgid", sessions),
	DEADLY("setsid", sessions),

	/* Signal 0 is a question only. */
	ALLOW("kill", SELF(0)),
	{"kill", CALL_ALLOWED, 0, NULL, 2, {NOT_SELF(0), IS(1, 0)}, false},
	DEADLY_IF("kill", signals, 2, NOT_SELF(0), IS_NOT(1, 0)),
	ALLOW("tgkill", SELF(0)),
	DEADLY_IF("tgkill", signals, 1, NOT_SELF(0)),
	ALLOW("rt_sigqueueinfo", SELF(0)),
	DEADLY_IF("rt_sigqueueinfo", signals, 1, NOT_SELF(0)),
	ALLOW("rt_tgsigqueueinfo", SELF(0)),
	DEADLY_IF("rt_tgsigqueueinfo", signals, 1, NOT_SELF(0)),
	ALLOW("tkill", SELF(0)),
	DEADLY_IF("tkill", signals, 1, NOT_SELF(0)),
	DEADLY("pidfd_send_signal", signals),

	ALLOW("process_vm_readv", SELF(0)),
	DEADLY_IF("process_vm_readv", traces, 1, NOT_SELF(0)),
	ALLOW("process_vm_writev", SELF(0)),
	DEADLY_IF("process_vm_writev", traces, 1, NOT_SELF(0)),
	DEADLY("ptrace", traces),
	DEADLY("pidfd_getfd", traces),
	DEADLY("kcmp", traces),
	DEADLY("process_madvise", traces),
	DEADLY("process_mrelease", traces),

	DEADLY("chroot", places),
	DEADLY("fsconfig", places),
	DEADLY("fsmount", places),
	DEADLY("fsopen", places),
	DEADLY("fspick", places),
	DEADLY("mount", places),
	DEADLY("mount_setattr", places),
	DEADLY("move_mount", places),
	DEADLY("open_tree", places),
	DEADLY("pivot_root", places),
	DEADLY("setns", places),
	DEADLY("umount", places),
	DEADLY("umount2", places),
	DEADLY("unshare", places),

	DEADLY("acct", kernel),
	DEADLY("adjtimex", kernel),
	DEADLY("bpf", kernel),
	DEADLY("clock_adjtime", kernel),
	DEADLY("clock_settime", kernel),
	DEADLY("delete_module", kernel),
	DEADLY("finit_module", kernel),
	DEADLY("init_module", kernel),
	DEADLY("ioperm", kernel),
	DEADLY("iopl", kernel),
	DEADLY("kexec_file_load", kernel),
	DEADLY("kexec_load", kernel),
	DEADLY("open_by_handle_at", kernel),
	DEADLY("quotactl", kernel),
	DEADLY("reboot", kernel),
	DEADLY("setdomainname", kernel),
	DEADLY("sethostname", kernel),
	DEADLY("settimeofday", kernel),
	DEADLY("swapoff", kernel),
	DEADLY("swapon", kernel),
	DEADLY("vhangup", kernel),

	REFUSE("capset", EPERM, users),
	REFUSE("setfsgid", EPERM, users),
	REFUSE("setfsuid", EPERM, users),
	REFUSE("setgid", EPERM, users),
	REFUSE("setgroups", EPERM, users),
	REFUSE("setregid", EPERM, users),
	REFUSE("setresgid", EPERM, users),
	REFUSE("setresuid", EPERM, users),
	REFUSE("setreuid", EPERM, users),
	REFUSE("setuid", EPERM, users),

	REFUSE("add_key", ENOSYS, keys),
	REFUSE("keyctl", ENOSYS, keys),
	REFUSE("request_key", ENOSYS, keys),
	REFUSE("io_uring_setup", ENOSYS, rings),
	REFUSE("mq_open", ENOSYS, shared),
	REFUSE("msgget", ENOSYS, shared),
	REFUSE("semget", ENOSYS, shared),
	REFUSE("shmget", ENOSYS, shared),
	REFUSE("fanotify_init", ENOSYS, watching),
	REFUSE("inotify_init", ENOSYS, watching),
	REFUSE("inotify_init1", ENOSYS, watching),
	REFUSE("perf_event_open", ENOSYS, watching),
	REFUSE("userfaultfd", ENOSYS, watching),
	REFUSE("memfd_secret", ENOSYS, uncounted),
	{"memfd_create", CALL_REFUSED, ENOSYS, uncounted, 0, {{0}}, true},

	/*
	 * In no account: a stack, and what is shared, of which nobody sees here whether
	 * it is a file or /dev/zero. Who reads a file can map it for itself alone, or
	 * read it, as libc does with the tables of character sets.
	 */
	ALLOW("mmap", NONE(3, MAP_SHARED | MAP_GROWSDOWN)),
	{"mmap", CALL_REFUSED, EPERM, uncounted, 2,
		{HAS(3, MAP_SHARED), HAS(2, PROT_WRITE)}, true},
	{"mmap", CALL_REFUSED, EPERM, uncounted, 2,
		{HAS(3, MAP_SHARED | MAP_ANONYMOUS), NONE(2, PROT_WRITE)}, true},
	{"mmap", CALL_DECLINED, EPERM, NULL, 2,
		{BITS(3, MAP_SHARED | MAP_ANONYMOUS, MAP_SHARED), NONE(2, PROT_WRITE)},
		true},
	{"mmap", CALL_REFUSED, EPERM, uncounted, 1,
		{BITS(3, MAP_SHARED | MAP_GROWSDOWN, MAP_GROWSDOWN)}, true},

	ALLOW("prctl", IS(0, PR_GET_DUMPABLE)),
	ALLOW("prctl", IS(0, PR_GET_NAME)),
	ALLOW("prctl", IS(0, PR_GET_NO_NEW_PRIVS)),
	ALLOW("prctl", IS(0, PR_GET_SECCOMP)),
	ALLOW("prctl", IS(0, PR_GET_PDEATHSIG)),
	ALLOW("prctl", IS(0, PR_GET_THP_DISABLE)),
	ALLOW("prctl", IS(0, PR_SET_NAME)),
	ALLOW("prctl", IS(0, PR_SET_THP_DISABLE)),
	ALLOW("prctl", IS(0, PR_SET_VMA)),
	ALLOW("prctl", IS(0, PR_CAPBSET_READ)),
	ALLOW("prctl", IS(0, PR_SVE_GET_VL)),
	ALLOW("prctl", IS(0, PR_SME_GET_VL)),
	ALLOW("prctl", IS(0, PR_GET_TAGGED_ADDR_CTRL)),
	REFUSE_IF("prctl", EPERM, itself, IS(0, PR_SET_PDEATHSIG)),
	REFUSE_IF("prctl", EPERM, itself, IS(0, PR_SET_CHILD_SUBREAPER)),
	REFUSE_IF("prctl", EPERM, itself, IS(0, PR_SET_DUMPABLE)),
	REFUSE_IF("prctl", EPERM, itself, IS(0, PR_SET_MM)),
	REFUSE_IF("prctl", EPERM, itself, IS(0, PR_SET_PTRACER)),
	REFUSE_IF("prctl", EPERM, itself, IS(0, PR_SET_SECCOMP)),
	REFUSE_IF("prctl", EPERM, itself, IS(0, PR_SET_SECUREBITS)),
	REFUSE_IF("prctl", EPERM, itself, IS(0, PR_CAPBSET_DROP)),
	REFUSE_IF("prctl", EPERM, itself, IS(0, PR_CAP_AMBIENT)),
	ALLOW("personality", IS(0, 0xffffffff)),
	REFUSE_IF("personality", EPERM, itself, IS_NOT(0, 0xffffffff)),

	ALLOW("fcntl", IS(1, F_DUPFD)),
	ALLOW("fcntl", IS(1, F_DUPFD_CLOEXEC)),
	ALLOW("fcntl", IS(1, F_GETFD)),
	ALLOW("fcntl", IS(1, F_SETFD)),
	ALLOW("fcntl", IS(1, F_GETFL)),
	ALLOW("fcntl", IS(1, F_SETFL)),
	ALLOW("fcntl", IS(1, F_GETLK)),
	ALLOW("fcntl", IS(1, F_SETLK)),
	ALLOW("fcntl", IS(1, F_SETLKW)),
	ALLOW("fcntl", IS(1, F_OFD_GETLK)),
	ALLOW("fcntl", IS(1, F_OFD_SETLK)),
	ALLOW("fcntl", IS(1, F_OFD_SETLKW)),
	ALLOW("fcntl", IS(1, F_GETPIPE_SZ)),
	ALLOW("fcntl", IS(1, F_ADD_SEALS)),
	ALLOW("fcntl", IS(1, F_GET_SEALS)),
	ALLOW("fcntl", IS(1, F_GETOWN)),
	REFUSE_IF("fcntl", EPERM, owners, IS(1, F_SETOWN)),
	REFUSE_IF("fcntl", EPERM, owners, IS(1, F_SETOWN_EX)),
	REFUSE_IF("fcntl", EPERM, owners, IS(1, F_SETSIG)),
	REFUSE_IF("fcntl", EPERM, owners, IS(1, F_SETLEASE)),
	REFUSE_IF("fcntl", EPERM, owners, IS(1, F_NOTIFY)),

	/* What libraries ask of what they have open. */
	ALLOW("ioctl", IS(1, TCGETS)),
	ALLOW("ioctl", IS(1, TIOCGWINSZ)),
	ALLOW("ioctl", IS(1, FIONREAD)),
	ALLOW("ioctl", IS(1, FIONBIO)),
	ALLOW("ioctl", IS(1, FIOCLEX)),
	ALLOW("ioctl", IS(1, FIONCLEX)),
	REFUSE_IF("ioctl", EPERM, asks, IS(1, FS_IOC_SETFLAGS)),
	REFUSE_IF("ioctl", EPERM, asks, IS(1, FS_IOC_FSSETXATTR)),
	REFUSE_IF("ioctl", EPERM, asks, IS(1, TIOCSTI)),
	/* The daemon waits for its own. */
	{"flock", CALL_REFUSED, EPERM, locks, 0, {{0}}, true},

	/* Limits and places of this process, not of others of its user. */
	ALLOW("prlimit64", IS(0, 0)),
	REFUSE_IF("prlimit64", EPERM, priority, IS_NOT(0, 0)),
	ALLOW("move_pages", IS(0, 0)),
	REFUSE_IF("move_pages", EPERM, priority, IS_NOT(0, 0)),
	ALLOW("sched_setaffinity", IS(0, 0)),
	ALLOW("sched_setaffinity", SELF(0)),
	REFUSE("migrate_pages", EPERM, priority),
	REFUSE("ioprio_set", EPERM, priority),
	REFUSE("sched_setattr", EPERM, priority),
	REFUSE("sched_setparam", EPERM, priority),
	REFUSE("sched_setscheduler", EPERM, priority),
	REFUSE("setpriority", EPERM, priority),
};
const size_t calls_count = sizeof(calls) / sizeof(calls[0]);

const struct call *calls_find(const char *name)
{
	for (size_t i = 0; i < calls_count; i++)
		if (calls[i].what && strcmp(calls[i].name, name) == 0)
			return &calls[i];
	return NULL;
}
