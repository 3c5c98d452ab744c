/* SPDX-License-Identifier: MIT */
/* Codes of machines and of what runs on them, in byte order: see lib/lint/code.h. */
#include "lib/lint/code.h"

#include "lib/base/owned.h"

static const struct kp_code rows[] = {
	{"bad_config", KP_SEVERITY_ERROR,
		"plugind does not start with this configuration.",
		"Mend it as the sentence says; `plugind --check-config` starts nothing, "
		"`pluginctl schema config` has the form."},
	{"clock_not_kept", KP_SEVERITY_NOTE,
		"No time service keeps the clock of this machine, as far as its kernel "
		"knows.",
		"Run one (systemd-timesyncd, chrony): times in logs, results and "
		"decisions come from it."},
	{"clock_not_set", KP_SEVERITY_WARNING,
		"The clock is behind the day on which kplug was installed.",
		"Set the clock: times in logs, results and decisions come from it."},
	{"cpu_frequency_varies", KP_SEVERITY_NOTE,
		"The governor of the CPU changes its frequency while a benchmark runs.",
		"For benchmarks choose the governor performance: cpupower frequency-set "
		"-g performance."},
	{"cpu_siblings", KP_SEVERITY_NOTE,
		"Hardware threads that share a core disturb each other while a "
		"benchmark runs.",
		"For benchmarks leave the siblings idle: echo off > "
		"/sys/devices/system/cpu/smt/control."},
	{"daemon_replaced", KP_SEVERITY_WARNING,
		"The plugind that runs is older than the one that is installed.",
		"systemctl restart plugind: decisions stay, and applications go on "
		"meanwhile."},
	{"daemon_silent", KP_SEVERITY_ERROR, "plugind is there, but does not answer.",
		"See its log; `systemctl restart plugind` loses no decision."},
	{"daemon_warns", KP_SEVERITY_WARNING, "plugind warns of something.",
		"See the sentence; `pluginctl status` has it, too."},
	{"driver_crashed", KP_SEVERITY_WARNING,
		"The GPU's driver library crashes when it is asked.",
		"Install the driver library of the kernel module's version, then "
		"`pluginctl devices --refresh`."},
	{"driver_error", KP_SEVERITY_WARNING, "The GPU's driver answers with an error.",
		"See the kernel's log (dmesg) for what it says of the GPU; `pluginctl "
		"devices --refresh` asks again."},
	{"driver_hangs", KP_SEVERITY_WARNING, "The GPU's driver does not answer.",
		"See the kernel's log (dmesg); a GPU that hangs needs a reset, then "
		"`pluginctl devices --refresh`."},
	{"driver_library_missing", KP_SEVERITY_WARNING,
		"There is a GPU and its kernel module, but no driver library.",
		"Install the package with libnvidia-ml.so.1 of the kernel module's "
		"version."},
	{"driver_library_unusable", KP_SEVERITY_WARNING,
		"The GPU's driver library cannot be used.",
		"Install it again, in the kernel module's version."},
	{"driver_no_permission", KP_SEVERITY_WARNING,
		"The daemon's user may not open the GPU.",
		"Let that user open /dev/nvidia*."},
	{"driver_not_loaded", KP_SEVERITY_WARNING,
		"There is a GPU, but the kernel module of its driver is not loaded.",
		"Install the driver, or load it: modprobe nvidia."},
	{"driver_version_mismatch", KP_SEVERITY_WARNING,
		"The driver's library and its kernel module are of different versions.",
		"Boot, or load the kernel module of the library's version."},
	{"failed", KP_SEVERITY_ERROR,
		"Something failed for which there is no code of its own.",
		"See the sentence; `pluginctl status` and plugind's log may have more."},
	{"gpu_lost", KP_SEVERITY_WARNING, "A GPU has fallen off the bus.",
		"See the kernel's log (dmesg); the machine needs a boot or the GPU a "
		"service."},
	{"group_missing", KP_SEVERITY_NOTE,
		"You are not a member of the group kplug: you may look, but not change "
		"anything.",
		"usermod -aG kplug USER as root, then log in again."},
	{"io_error", KP_SEVERITY_ERROR, "A file or directory cannot be read.",
		"See the sentence for what the system says of it."},
	{"kernel_feature_missing", KP_SEVERITY_WARNING,
		"This machine's kernel lacks something that kplug protects itself with.",
		"Boot a newer kernel, or one with the feature; `pluginctl status` says "
		"what is done without it."},
	{"limit_too_low", KP_SEVERITY_WARNING,
		"A limit of resources is lower than what kplug may need.",
		"Raise it: LimitNOFILE= and the like of the unit, or ulimit."},
	{"missing_directory", KP_SEVERITY_WARNING, "A directory of kplug is not there.",
		"Make it, or install kplug again."},
	{"newer_format", KP_SEVERITY_ERROR, "Files of a newer kplug are here.",
		"Install that newer kplug again."},
	{"no_daemon", KP_SEVERITY_WARNING, "No plugind answers at the socket.",
		"Start it: systemctl start plugind, or plugind by hand; --socket says "
		"where another one listens."},
	{"no_watches", KP_SEVERITY_WARNING,
		"No inotify watches are left: changed files are found late.",
		"Raise fs.inotify.max_user_watches and max_user_instances by sysctl."},
	{"no_worker", KP_SEVERITY_ERROR,
		"plugin-worker cannot be run: nothing can be read or probed.",
		"Install kplug again, whole."},
	{"not_permitted", KP_SEVERITY_ERROR, "You may not read this.",
		"Change its mode or owner, or be somebody else."},
	{"not_writable", KP_SEVERITY_WARNING,
		"The directory where manifests are installed cannot be written.",
		"Change its mode or owner, or the file system's."},
	{"path_too_long", KP_SEVERITY_ERROR, "A path is longer than the system allows.",
		"Use a shorter one."},
	{"socket_not_permitted", KP_SEVERITY_WARNING,
		"You may not connect to plugind's socket.",
		"The socket is for everybody (mode 0666): chmod it, and the directories "
		"above to 0755."},
	{"store_full", KP_SEVERITY_WARNING,
		"The file system of kplug's state or cache is nearly full.",
		"Make room: decisions cannot be kept without any."},
	{"store_noexec", KP_SEVERITY_WARNING,
		"The file system of the store forbids executable mappings: no plugin "
		"can be loaded from it.",
		"Mount it without noexec, or choose another --state-dir."},
	{"two_daemons", KP_SEVERITY_NOTE,
		"More than one plugind runs for you: each has its own decisions.",
		"Stop the one that is not wanted; --socket names the one that is meant."},
	{"unknown_name", KP_SEVERITY_WARNING,
		"A setting names a plugin or an operation that is not there.",
		"Mend the name, or remove it."},
	{"unknown_variable", KP_SEVERITY_WARNING,
		"A variable of the environment begins with KPLUG_ and means nothing.",
		"Mend its name."},
	{"unreadable_directory", KP_SEVERITY_WARNING, "A directory cannot be read.",
		"Change its mode or owner."},
	{"untrusted_owner", KP_SEVERITY_ERROR,
		"It belongs neither to root nor to the user of the plugind that would "
		"take "
		"it.",
		"chown root it once you trust what is there, or copy it to where only "
		"you "
		"and root write."},
	{"writable_by_others", KP_SEVERITY_ERROR,
		"Others than root and the user of the plugind that would take it may "
		"change it.",
		"chmod go-w it: a library, a manifest, and every directory above."},
};

const struct kp_code_table kp_codes_of_machine = {rows, KP_COUNT(rows)};
