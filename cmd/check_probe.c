/* SPDX-License-Identifier: MIT */
/* Gives a private plugind a manifest for each library, and asks it about each. */
#include "cmd/check_probe.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/field.h"
#include "lib/base/file.h"
#include "lib/base/json.h"
#include "lib/base/owned.h"
#include "lib/platform/confinement.h"

static const struct question about = {"Info", {{"plugin", KP_JSON_OBJECT, true}}};
static const char layer[] = "manifest-dir", families[] = "families-dir";

/* ---- manifests of ours ----------------------------------------------------------- */

/* A plugin without a note would be refused for that once more. */
static bool is_probed(const struct check *check, size_t index)
{
	const struct check_plugin *plugin = &check->plugins[index];
	if (!plugin->library || !plugin->has_note)
		return false;
	for (size_t i = 0; i < index; i++)
		if (check->plugins[i].library &&
			strcmp(check->plugins[i].name, plugin->name) == 0)
			return false;
	return true;
}

static int write_manifest(
	int dir, const struct check_plugin *plugin, struct kp_diag *diag)
{
	char file[512];
	owned_json *manifest = json_pack("{s:s, s:i}", "library", plugin->library,
		"priority_offset", plugin->offset);
	owned_text text = manifest ? kp_json_dumps(manifest, JSON_COMPACT) : NULL;
	if (!text)
		return kp_diag_no_memory(diag);
	(void)snprintf(file, sizeof(file), "%s.json", plugin->name);
	return kp_file_replace(dir, file, text, strlen(text), 0600, false, diag);
}

static int write_manifests(const struct check *check, const char *path)
{
	struct kp_diag diag;
	owned_fd dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < check->n_plugins; i++)
		if (is_probed(check, i) &&
			write_manifest(dir, &check->plugins[i], &diag) < 0)
			return output_fail_diag(&check->session->output, &diag);
	return KP_EXIT_OK;
}

static void remove_manifests(const struct check *check, const char *path)
{
	char file[512];
	owned_fd dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < check->n_plugins; i++) {
		(void)snprintf(file, sizeof(file), "%s.json", check->plugins[i].name);
		(void)unlinkat(dir, file, 0);
	}
	(void)rmdir(path);
}

/* ---- what becomes of them -------------------------------------------------------- */

/* Looking at the file has told it already. */
static bool is_told(const struct check *check, const char *file, const char *message)
{
	size_t i;
	json_t *row;
	json_array_foreach (check->lint.findings, i, row)
		if (field_is(row, "file", file) && field_is(row, "message", message))
			return true;
	return false;
}

static void tell(struct check *check, const struct check_plugin *plugin,
	enum kp_severity severity, const char *object, const json_t *what)
{
	const char *message = field_text(what, "message", "?");
	struct kp_diag diag;
	if (is_told(check, plugin->text.file, message))
		return;
	kp_diag_set(&diag, field_text(what, "code", "failed"), object, "%s", message);
	kp_lint_add_as(&check->lint, severity, plugin->text.file, &diag);
}

static void tell_kernels(
	struct check *check, const struct check_plugin *plugin, const json_t *info)
{
	size_t i;
	json_t *kernel;
	json_array_foreach (json_object_get(info, "kernels"), i, kernel) {
		const json_t *reason = json_object_get(kernel, "reason");
		if (field_is(kernel, "state", "unavailable") && json_is_object(reason))
			tell(check, plugin, KP_SEVERITY_NOTE,
				field_text(kernel, "name", "?"), reason);
	}
}

static void tell_plugin(
	struct check *check, const struct check_plugin *plugin, const json_t *info)
{
	size_t i;
	json_t *warning;
	if (field_state_tone(field_text(info, "state", "?")) == TONE_BAD)
		tell(check, plugin, KP_SEVERITY_ERROR, plugin->name,
			json_object_get(info, "reason"));
	json_array_foreach (json_object_get(info, "warnings"), i, warning)
		tell(check, plugin, KP_SEVERITY_WARNING,
			field_text(warning, "object", plugin->name), warning);
	tell_kernels(check, plugin, info);
}

static int ask_all(struct check *check, struct session *session)
{
	for (size_t i = 0; i < check->n_plugins; i++) {
		owned_json *reply = NULL;
		if (!is_probed(check, i))
			continue;
		int status = session_ask(session, &about,
			json_pack("{s:s}", "name", check->plugins[i].name), &reply);
		if (status != KP_EXIT_OK)
			return status;
		tell_plugin(check, &check->plugins[i], json_object_get(reply, "plugin"));
	}
	return KP_EXIT_OK;
}

/* ---- the private plugind --------------------------------------------------------- */

static const struct option *offline_option(const char *name)
{
	const struct option *option = offline_options;
	while (option->name && strcmp(option->name, name) != 0)
		option++;
	return option;
}

/*
 * These files were named to be tried, and a checkout belongs to whom it belongs: whose
 * they are is asked only where the worker could do harm.
 */
static bool may_try_any(void)
{
	struct kp_confinement confinement;
	kp_confinement_ask(&confinement);
	return kp_confinement_is_whole(&confinement);
}

/* It gets what is for it, not the options of this command. */
static int ask_private(struct check *check, const char *directory)
{
	const char *dir = arguments_value(&check->session->arguments, families);
	struct given_option given[] = {
		{offline_option(layer), directory}, {offline_option(families), dir}};
	struct session session = {
		.arguments = {.command = check->session->arguments.command,
			.n_given = dir ? 2 : 1,
			.given = given},
		.output = check->session->output,
		.timeout_ms = check->session->timeout_ms,
		.timeout_given = check->session->timeout_given,
		.offline = {.any_files = may_try_any()},
	};
	int status = offline_start(&session);
	if (status == KP_EXIT_OK)
		status = ask_all(check, &session);
	kp_client_close(session.client);
	offline_finish(&session.offline);
	return status;
}

static bool is_anything_probed(const struct check *check)
{
	for (size_t i = 0; i < check->n_plugins; i++)
		if (is_probed(check, i))
			return true;
	return false;
}

int check_probe(struct check *check)
{
	const char *base = getenv("TMPDIR");
	char directory[256];
	if (!is_anything_probed(check))
		return KP_EXIT_OK;
	if (!base || base[0] != '/' || strlen(base) > 200)
		base = "/tmp";
	(void)snprintf(directory, sizeof(directory), "%s/kplug-check.XXXXXX", base);
	if (!mkdtemp(directory))
		return output_refuse(&check->session->output, "write_failed", base,
			"cannot make a directory for manifests in %s", base);
	int status = write_manifests(check, directory);
	if (status == KP_EXIT_OK)
		status = ask_private(check, directory);
	remove_manifests(check, directory);
	return status;
}
