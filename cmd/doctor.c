/* SPDX-License-Identifier: MIT */
/* `pluginctl doctor`: what on this machine keeps kplug from working well? */
#include "cmd/doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/findings.h"
#include "lib/base/owned.h"
#include "lib/base/place.h"

void doctor_tell(struct doctor *doctor, const char *code, const char *file,
	const char *format, ...)
{
	struct kp_diag diag;
	char text[sizeof(diag.message)];
	va_list list;
	va_start(list, format);
	(void)vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	kp_diag_set(&diag, code, file, "%s", text);
	kp_lint_add(&doctor->lint, file, &diag);
}

const char *doctor_path(const struct doctor *doctor, const char *path, char *text)
{
	const char *root = arguments_value(&doctor->session->arguments, "root");
	(void)snprintf(text, DOCTOR_PATH, "%s%s", root ? root : "", path);
	return text;
}

bool doctor_read(const struct doctor *doctor, const char *path, char *text, size_t size)
{
	char whole[DOCTOR_PATH];
	FILE *file = fopen(doctor_path(doctor, path, whole), "re");
	if (!file)
		return false;
	bool read = fgets(text, (int)size, file) != NULL;
	(void)fclose(file);
	if (read)
		text[strcspn(text, "\n")] = '\0';
	return read;
}

/* ---- places ---------------------------------------------------------------------- */

/* A NULL-terminated copy of what an option names, or the usual ones. */
static char **manifest_dirs(const struct doctor *doctor)
{
	const struct arguments *arguments = &doctor->session->arguments;
	const char *named;
	size_t at = 0, count = 0;
	if (!arguments_has(arguments, "manifest-dir"))
		return kp_place_manifest_dirs(doctor->system);
	char **dirs = calloc(arguments->n_given + 1, sizeof(*dirs));
	while (dirs && (named = arguments_next(arguments, "manifest-dir", &at)))
		dirs[count++] = strdup(named);
	return dirs;
}

static char *named_or(const struct doctor *doctor, const char *option, char *usual)
{
	const char *named = arguments_value(&doctor->session->arguments, option);
	if (!named)
		return usual;
	free(usual);
	return strdup(named);
}

static void find_places(struct doctor *doctor)
{
	doctor->dirs = manifest_dirs(doctor);
	doctor->plugin_dir = named_or(doctor, "plugin-dir", kp_place_find("plugins"));
	doctor->state_dir =
		named_or(doctor, "state-dir", kp_place_state_dir(doctor->system));
	doctor->lint.failed |= !doctor->dirs || !doctor->plugin_dir;
}

static void doctor_finish(struct doctor *doctor)
{
	kp_place_free(doctor->dirs);
	free(doctor->plugin_dir);
	free(doctor->state_dir);
	json_decref(doctor->status);
	json_decref(doctor->devices);
	json_decref(doctor->plugins);
	json_decref(doctor->kernels);
	kp_lint_finish(&doctor->lint);
}

/* ---- the command ----------------------------------------------------------------- */

static int put(const struct doctor *doctor)
{
	const struct output *output = &doctor->session->output;
	int status = findings_status(&doctor->lint, true);
	char counts[FINDINGS_COUNTS];
	if (output->json) {
		owned_json *value = findings_json(&doctor->lint);
		int printed = value ? output_json(value) : output_no_memory(output);
		return printed == KP_EXIT_OK ? status : printed;
	}
	findings_put(output, &doctor->lint, false);
	output_remark(output, "%s", findings_counts(&doctor->lint, counts));
	return status;
}

static int run(struct session *session)
{
	struct doctor doctor = {.session = session, .system = geteuid() == 0};
	doctor_daemon(&doctor);
	find_places(&doctor);
	if (!doctor.lint.failed) {
		doctor_places(&doctor);
		doctor_plugins(&doctor);
		doctor_machine(&doctor);
		doctor_environment(&doctor);
	}
	int status =
		doctor.lint.failed ? output_no_memory(&session->output) : put(&doctor);
	doctor_finish(&doctor);
	return status;
}

static const struct option options[] = {
	{"manifest-dir", "DIR", "a directory of manifests, instead of plugind's", true},
	{"plugin-dir", "DIR", "where libraries without a path are", false},
	{"state-dir", "DIR", "where plugind's store is", false},
	{"root", "DIR", "look for /sys and /run below DIR", false},
	{NULL, NULL, NULL, false},
};

const struct command doctor_command = {
	.name = "doctor",
	.args = "",
	.summary = "Find out what on this machine keeps kplug from working well",
	.help = "Looks at plugind and its socket, directories, file systems, limits, the "
		"kernel, drivers, installed plugins, CPU and clock, and says of each "
		"finding what to do. Changes nothing, and needs no plugind.\n"
		"Exit status 1 where there is an error or a warning; notes, which matter "
		"for benchmarks and the like, do not count.",
	.options = options,
	.run = run,
};
