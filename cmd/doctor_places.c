/* SPDX-License-Identifier: MIT */
/* Directories and file systems that kplug lives on, and its own files. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/doctor.h"
#include "lib/base/file.h"
#include "lib/base/owned.h"
#include "lib/base/place.h"
#include "lib/base/trust.h"
#include "lib/family/family.h"

enum {
	FREE_MIB = 64,	 /* of the state's file system: decisions and a few libraries */
	FREE_SHARE = 50, /* one in so many blocks */
	WORDS = 1024,	 /* of what plugind says of its configuration */
};

/* ---- directories ----------------------------------------------------------------- */

static uid_t owner_of(const struct doctor *doctor)
{
	return doctor->system ? 0 : geteuid();
}

/* plugind loads nothing that others may change. */
static void check_trust(struct doctor *doctor, const char *path)
{
	struct kp_trust trust;
	struct kp_diag diag;

	kp_trust_ask(&trust, doctor->system);
	trust.owner = owner_of(doctor);
	if (kp_trust_path(&trust, path, &diag) < 0 && kp_trust_is_code(diag.code))
		kp_lint_add_as(&doctor->lint, KP_SEVERITY_WARNING, path, &diag);
}

static void check_readable(struct doctor *doctor, const char *path)
{
	if (access(path, R_OK | X_OK) < 0 && errno != ENOENT)
		doctor_tell(doctor, "unreadable_directory", path, "cannot read it: %s",
			strerror(errno));
	else if (access(path, F_OK) == 0)
		check_trust(doctor, path);
}

/* One may be missing, but not all: and the highest is where `install` writes. */
static void check_manifest_dirs(struct doctor *doctor)
{
	size_t there = 0;
	for (char **dir = doctor->dirs; *dir; dir++) {
		there += access(*dir, F_OK) == 0;
		check_readable(doctor, *dir);
	}
	if (there == 0)
		doctor_tell(doctor, "missing_directory", doctor->dirs[0],
			"no directory of manifests is there: plugind finds no plugin");
	else if (access(doctor->dirs[0], F_OK) == 0 &&
		 access(doctor->dirs[0], W_OK) < 0 && geteuid() == owner_of(doctor))
		doctor_tell(doctor, "not_writable", doctor->dirs[0],
			"you cannot write it: %s", strerror(errno));
}

/* ---- the store ------------------------------------------------------------------- */

/* Where the state is, or would be made. malloc'ed. */
static char *existing(const char *path)
{
	char *place = strdup(path);
	while (place && access(place, F_OK) < 0) {
		char *slash = strrchr(place, '/');
		if (!slash || slash == place) {
			free(place);
			return strdup("/");
		}
		*slash = '\0';
	}
	return place;
}

static void check_state_dir(struct doctor *doctor)
{
	struct statvfs fs;
	owned_text place = doctor->state_dir ? existing(doctor->state_dir) : NULL;
	if (!place || statvfs(place, &fs) < 0)
		return;
	unsigned long long mib = (unsigned long long)fs.f_bavail * fs.f_frsize >> 20;
	if (fs.f_flag & ST_NOEXEC)
		doctor_tell(doctor, "store_noexec", doctor->state_dir,
			"its file system is mounted noexec: no stored library can be "
			"loaded");
	if (fs.f_flag & ST_RDONLY)
		doctor_tell(doctor, "store_full", doctor->state_dir,
			"its file system is read-only");
	else if (mib < FREE_MIB ||
		 (fs.f_blocks > 0 && fs.f_bavail < fs.f_blocks / FREE_SHARE))
		doctor_tell(doctor, "store_full", doctor->state_dir,
			"its file system has %llu MiB left", mib);
	else if (fs.f_files > 0 && fs.f_favail <= fs.f_files / FREE_SHARE)
		doctor_tell(doctor, "store_full", doctor->state_dir,
			"its file system has room for %llu more files",
			(unsigned long long)fs.f_favail);
}

/* ---- our own files --------------------------------------------------------------- */

static void check_worker(struct doctor *doctor)
{
	static const char *const programs[] = {"plugin-worker", "plugind"};
	for (size_t i = 0; i < KP_COUNT(programs); i++) {
		owned_text path = kp_place_find(programs[i]);
		if (path && access(path, X_OK) < 0)
			doctor_tell(doctor, "no_worker", path, "cannot run it: %s",
				strerror(errno));
	}
}

static void check_data(struct doctor *doctor)
{
	static const char *const parts[] = {"schemas", "families", "plugins"};
	for (size_t i = 0; i < KP_COUNT(parts); i++) {
		owned_text path = kp_place_find(parts[i]);
		if (path && access(path, R_OK | X_OK) < 0)
			doctor_tell(doctor, "missing_directory", path,
				"kplug's %s cannot be read: %s", parts[i],
				strerror(errno));
	}
}

static void check_families(struct doctor *doctor)
{
	struct kp_families families = {0};
	struct kp_diags problems = {0};
	owned_text dir = kp_place_find("families");
	if (!dir || access(dir, R_OK | X_OK) < 0)
		return;
	doctor->lint.failed |= kp_families_read(dir, &families, &problems) < 0;
	for (size_t i = 0; i < problems.count; i++)
		kp_lint_add(&doctor->lint, dir, &problems.items[i]);
	if (problems.count == 0 && families.count == 0)
		doctor_tell(doctor, "missing_directory", dir,
			"no family is there: notes and requests are not checked");
	kp_diags_finish(&problems);
	kp_families_finish(&families);
}

/* ---- the configuration ----------------------------------------------------------- */

static pid_t start_check(const char *plugind, bool system, int out)
{
	char *const argv[] = {(char *)plugind, (char *)"--check-config",
		system ? (char *)"--system" : NULL, NULL};
	posix_spawn_file_actions_t actions;
	pid_t pid = -1;
	if (posix_spawn_file_actions_init(&actions) != 0)
		return -1;
	(void)posix_spawn_file_actions_addopen(
		&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	(void)posix_spawn_file_actions_adddup2(&actions, out, STDERR_FILENO);
	if (posix_spawn(&pid, plugind, &actions, NULL, argv, environ) != 0)
		pid = -1;
	(void)posix_spawn_file_actions_destroy(&actions);
	return pid;
}

/* plugind itself says what is wrong; it starts nothing then. */
static void check_config(struct doctor *doctor)
{
	owned_text plugind = kp_place_find("plugind");
	owned_text file = kp_place_config_file(doctor->system);
	char text[WORDS];
	size_t used = 0;
	ssize_t n = 0;
	int status, ends[2];
	if (!plugind || !file || access(file, F_OK) < 0 || pipe2(ends, O_CLOEXEC) < 0)
		return;
	pid_t pid = start_check(plugind, doctor->system, ends[1]);
	(void)close(ends[1]);
	while (pid > 0 && used < sizeof(text) - 1 &&
		(n = read(ends[0], text + used, sizeof(text) - 1 - used)) > 0)
		used += (size_t)n;
	(void)close(ends[0]);
	text[used] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (pid > 0 && waitpid(pid, &status, 0) == pid && status != 0)
		doctor_tell(doctor, "bad_config", file, "%s",
			text[0] ? text : "plugind refuses it");
}

void doctor_places(struct doctor *doctor)
{
	check_worker(doctor);
	check_data(doctor);
	check_families(doctor);
	check_config(doctor);
	check_manifest_dirs(doctor);
	if (access(doctor->plugin_dir, F_OK) == 0)
		check_readable(doctor, doctor->plugin_dir);
	else if (arguments_has(&doctor->session->arguments, "plugin-dir"))
		doctor_tell(doctor, "missing_directory", doctor->plugin_dir,
			"the plugin directory is not there");
	check_state_dir(doctor);
}
