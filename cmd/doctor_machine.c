/* SPDX-License-Identifier: MIT */
/* Kernel, limits, watches, CPU and clock. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

#include "cmd/doctor.h"
#include "lib/base/owned.h"
#include "lib/base/place.h"
#include "lib/platform/confinement.h"

enum {
	FILES_LEAST = 1024,	 /* descriptors of plugind: clients, watches, workers */
	PROCESSES_LEAST = 256,	 /* of its user */
	MEMORY_LEAST_MIB = 1024, /* that a worker may map */
	DAY = 24 * 60 * 60,
	WORD = 128,
};

/* ---- the kernel ------------------------------------------------------------------ */

static bool has_seals(void)
{
	owned_fd fd = memfd_create("kplug-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return fd >= 0 &&
	       fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_FUTURE_WRITE) == 0;
}

static bool has_pidfds(void)
{
	owned_fd fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	return fd >= 0;
}

static bool has_landlock(void)
{
	struct kp_confinement confinement;
	kp_confinement_ask(&confinement);
	return confinement.landlock > 0;
}

static bool has_seccomp(void)
{
	struct kp_confinement confinement;
	kp_confinement_ask(&confinement);
	return confinement.filter;
}

static const struct {
	bool (*has)(void);
	const char *name, *use;
} features[] = {
	{has_seals, "sealed memory files (Linux 5.1)",
		"applications cannot be given tables that nobody changes"},
	{has_pidfds, "pidfds (Linux 5.3)", "processes are waited for by their number"},
	{has_landlock, "Landlock (Linux 5.13, and in the list of lsm=)",
		"workers can write wherever their user may"},
	{has_seccomp, "seccomp filters", "workers may make any system call"},
};

static void check_kernel(struct doctor *doctor)
{
	for (size_t i = 0; i < KP_COUNT(features); i++)
		if (!features[i].has())
			doctor_tell(doctor, "kernel_feature_missing", NULL,
				"this kernel has no %s: %s", features[i].name,
				features[i].use);
}

/* ---- limits ---------------------------------------------------------------------- */

static void check_limit(struct doctor *doctor, int resource, const char *name,
	rlim_t least, const char *unit)
{
	struct rlimit limit;
	if (getrlimit(resource, &limit) == 0 && limit.rlim_cur < least)
		doctor_tell(doctor, "limit_too_low", NULL,
			"the limit of %s is %llu%s here, %llu%s are good: programs that "
			"you start have no more",
			name, (unsigned long long)limit.rlim_cur, unit,
			(unsigned long long)least, unit);
}

static void check_limits(struct doctor *doctor)
{
	check_limit(doctor, RLIMIT_NOFILE, "open files", FILES_LEAST, "");
	check_limit(doctor, RLIMIT_NPROC, "processes", PROCESSES_LEAST, "");
	check_limit(doctor, RLIMIT_AS, "mapped memory", (rlim_t)MEMORY_LEAST_MIB << 20,
		" bytes");
	check_limit(doctor, RLIMIT_FSIZE, "the size of files",
		(rlim_t)MEMORY_LEAST_MIB << 20, " bytes");
}

static void check_watches(struct doctor *doctor)
{
	owned_fd fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (fd < 0)
		doctor_tell(doctor, "no_watches", NULL,
			"no further inotify instance can be made: %s", strerror(errno));
	else if (inotify_add_watch(fd, "/", IN_DELETE_SELF) < 0)
		doctor_tell(doctor, "no_watches", NULL,
			"nothing more can be watched by inotify: %s", strerror(errno));
}

/* ---- CPU and clock --------------------------------------------------------------- */

static void check_cpu(struct doctor *doctor)
{
	char word[WORD];
	if (doctor_read(doctor, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
		    word, sizeof(word)) &&
		strcmp(word, "performance") != 0)
		doctor_tell(doctor, "cpu_frequency_varies", NULL,
			"the CPU's governor is %s: what is measured varies with its "
			"frequency",
			word);
	if (doctor_read(
		    doctor, "/sys/devices/system/cpu/smt/active", word, sizeof(word)) &&
		strcmp(word, "1") == 0)
		doctor_tell(doctor, "cpu_siblings", NULL,
			"hardware threads share cores (SMT is active): what is measured "
			"varies with what the other one does");
}

/* A clock that is behind the day on which kplug was installed was never set. */
static void check_clock(struct doctor *doctor)
{
	struct timex state = {0};
	struct stat st;
	owned_text program = kp_place_find("plugind");
	if (program && stat(program, &st) == 0 && time(NULL) + DAY < st.st_mtime)
		doctor_tell(doctor, "clock_not_set", program,
			"the clock says that this file will be made in %lld days",
			(long long)(st.st_mtime - time(NULL)) / DAY);
	if (adjtimex(&state) == TIME_ERROR)
		doctor_tell(doctor, "clock_not_kept", NULL,
			"no time service keeps the clock, as the kernel knows");
}

void doctor_machine(struct doctor *doctor)
{
	check_kernel(doctor);
	check_limits(doctor);
	check_watches(doctor);
	check_cpu(doctor);
	check_clock(doctor);
}
