/* SPDX-License-Identifier: MIT */
/* Codes of what a probe sees a library do, in byte order: see lib/lint/code.h. */
#include "lib/base/owned.h"
#include "lib/lint/code.h"

static const struct kp_code rows[] = {
	{"changes_affinity", KP_SEVERITY_WARNING,
		"The library changes on which processors the thread may run.",
		"Bind threads of your own, or none."},
	{"changes_directory", KP_SEVERITY_WARNING,
		"The library changes the working directory of the process.",
		"Use absolute paths."},
	{"changes_environment", KP_SEVERITY_WARNING,
		"The library changes variables of the environment, which other threads "
		"may be reading.",
		"Take settings from `config` of the manifest."},
	{"changes_fp_state", KP_SEVERITY_WARNING,
		"The thread rounds, flushes small numbers to zero or traps in another "
		"way since the library was loaded or asked.",
		"Link without -ffast-math; put a rounding back before returning."},
	{"changes_limits", KP_SEVERITY_WARNING,
		"The library changes a limit of the process.",
		"Leave it to the application."},
	{"changes_locale", KP_SEVERITY_WARNING,
		"The library changes the locale of the process.",
		"Use uselocale() for a thread, for a time."},
	{"changes_signal_handler", KP_SEVERITY_WARNING,
		"The library changes what happens at a signal.",
		"Do without: the application may handle it."},
	{"changes_signal_mask", KP_SEVERITY_WARNING,
		"The library changes which signals the thread blocks.",
		"Put the mask back."},
	{"changes_umask", KP_SEVERITY_WARNING,
		"The library changes the umask of the process.",
		"Set modes of files with fchmod()."},
	{"leaves_descriptors", KP_SEVERITY_WARNING,
		"Descriptors stay open from when the library was loaded or asked.",
		"Open files in `load` and close them in `unload`."},
	{"leaves_threads", KP_SEVERITY_WARNING,
		"Threads run on from when the library was loaded or asked.",
		"Start them in `start`, or at the first call."},
	{"refused_by_sandbox", KP_SEVERITY_ERROR,
		"The library made a system call that no plugin has a reason to make.",
		"Do not use it."},
	{"sandbox_refused", KP_SEVERITY_WARNING,
		"The library made a system call that its worker refuses: an application "
		"would not refuse it.",
		"Do without sockets, processes and writing of files."},
};

const struct kp_code_table kp_codes_of_probe = {rows, KP_COUNT(rows)};
