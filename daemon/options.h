/* SPDX-License-Identifier: MIT */
/*
 * What plugind was told: its command line over its configuration file over the
 * defaults. Starts nothing and makes nothing.
 */
#ifndef KP_DAEMON_OPTIONS_H
#define KP_DAEMON_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "daemon/log.h"
#include "lib/base/diag.h"
#include "lib/plugin/signing.h"

/* sun_path with its NUL has 108 bytes on Linux. */
enum { SOCKET_PATH_MOST = 107 };

struct passed;

enum options_action { OPTIONS_RUN, OPTIONS_CHECK, OPTIONS_HELP, OPTIONS_VERSION };

/* Strings are owned; all paths are absolute once options_read has returned. */
struct options {
	enum options_action action;
	bool system;
	bool transient; /* lives for its clients alone */
	char *config;	/* the file that was read, or NULL */
	size_t n_manifest_dirs;
	char **manifest_dirs; /* highest first */
	char *plugin_dir, *families_dir, *state_dir, *cache_dir, *socket, *worker;
	char *platform;	    /* a file, or NULL: detect */
	char *devices_root; /* where /sys and /proc are looked at, or NULL */
	char *nvml;	    /* NVIDIA's management library, or NULL: by its soname */
	const struct passed *passed; /* borrowed; NULL: `socket` is to be made */
	unsigned driver_timeout_ms;
	unsigned rescan_s;		   /* between looks that nobody asked for */
	unsigned strikes, strike_window_s; /* daemon/incident/quarantine.h */
	bool no_quarantine;
	bool any_files; /* whoever owns or may write them; never of a system's daemon */
	struct kp_signing signing; /* its `trusted` is a path like the others */
	unsigned history;	   /* generations of a plugin that are kept */
	unsigned history_mib;	   /* and how much of the store they may take, together */
	/* Nobody named them: they may be missing, and what leads there is made. */
	bool has_usual_dirs, has_usual_plugin_dir, has_usual_socket;
	enum log_level log_level;
};

/*
 * Reads the command line, then the file. Codes: usage, path_too_long,
 * bad_log_level, codes of kp_file_read, kp_json_parse, kp_json_check; the place
 * is that in the file.
 */
int options_read(int argc, char **argv, struct options *options, struct kp_diag *diag)
	__attribute__((warn_unused_result));
void options_finish(struct options *options);

void options_help(FILE *out);

#endif
