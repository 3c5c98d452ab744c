/* SPDX-License-Identifier: MIT */
/* `pluginctl install` and `uninstall`: a library and its manifest, all or nothing. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/field.h"
#include "cmd/identify.h"
#include "cmd/install_target.h"
#include "cmd/layer.h"
#include "cmd/name.h"
#include "cmd/session.h"
#include "lib/base/file.h"
#include "lib/base/json.h"
#include "lib/base/text.h"

enum { SEAL_BYTES = 16 << 10 };

static const struct question reloading = {
	"Reload", {{"generation", KP_JSON_INTEGER, true},
			  {"plugins", KP_JSON_ARRAY | KP_JSON_NULL, false}}};

/* ---- what ------------------------------------------------------------------------- */

static const json_t *plugin_of(const struct install_target *target)
{
	return json_object_get(target->info, "plugin");
}

/* Its own words: a library that is refused by plugind anyway is not put anywhere. */
static int check_library(
	struct session *session, const char *file, struct install_target *target)
{
	struct kp_diag diag;
	if (access(file, F_OK) < 0 && errno == ENOENT)
		return output_refuse(&session->output, "missing_file", file,
			"there is no file %s", file);
	if (identify_file(file, NULL, session->timeout_ms, &target->info, &diag) < 0)
		return output_fail_diag(&session->output, &diag);
	const json_t *reason = json_object_get(plugin_of(target), "reason");
	if (!field_is(plugin_of(target), "state", "rejected"))
		return KP_EXIT_OK;
	return output_refuse(&session->output, "not_installed", file,
		"%s is refused and was not installed: %s (%s)", file,
		field_text(reason, "message", "?"), field_text(reason, "code", "?"));
}

static int choose_name(struct session *session, struct install_target *target)
{
	const char *asked = arguments_value(&session->arguments, "name");
	const char *own = field_text(plugin_of(target), "package", NULL);
	target->name = asked ? asked : own;
	if (target->name && kp_text_is_name(target->name))
		return KP_EXIT_OK;
	return output_refuse(&session->output, "bad_name",
		target->name ? target->name : "",
		"%s is no name for a plugin: %s; give --name",
		target->name ? target->name : "what the library has", kp_text_name_rule);
}

/* ---- writing ------------------------------------------------------------------------
 */

static int copy_bytes(int from, int to)
{
	ssize_t n;
	do
		n = sendfile(to, from, NULL, 1 << 30);
	while (n > 0 || (n < 0 && errno == EINTR));
	return n < 0 || fsync(to) < 0 ? -1 : 0;
}

static int copy_library(
	struct session *session, const char *file, struct install_target *target)
{
	char fresh[INSTALL_FILE_BYTES];
	struct kp_diag diag;
	owned_fd from = kp_file_open(AT_FDCWD, file, NULL, &diag);
	if (from < 0)
		return output_fail_diag(&session->output, &diag);
	(void)snprintf(fresh, sizeof(fresh), ".%s.so.new", target->name);
	owned_fd to = kp_file_claim(target->libraries_fd, fresh);
	if (to >= 0 && ftruncate(to, 0) == 0 && copy_bytes(from, to) == 0 &&
		fchmod(to, 0755) == 0 &&
		renameat(target->libraries_fd, fresh, target->libraries_fd,
			target->library) == 0)
		return KP_EXIT_OK;
	int error = errno;
	(void)unlinkat(target->libraries_fd, fresh, 0);
	return output_refuse(&session->output, "write_failed", target->libraries,
		"cannot write %s in %s: %s", target->library, target->libraries,
		strerror(error));
}

/* That of the library before it is not one of this one. */
static int copy_seal(
	struct session *session, const char *file, const struct install_target *target)
{
	owned_text beside = NULL;
	owned_text text = NULL;
	struct kp_diag diag;
	size_t size;

	if (asprintf(&beside, "%s.minisig", file) < 0) {
		beside = NULL;
		return output_no_memory(&session->output);
	}
	if (access(beside, F_OK) < 0 && errno == ENOENT) {
		(void)unlinkat(target->libraries_fd, target->seal, 0);
		return KP_EXIT_OK;
	}
	if (kp_file_read(AT_FDCWD, beside, SEAL_BYTES, &text, &size, &diag) < 0 ||
		kp_file_replace(target->libraries_fd, target->seal, text, size, 0644,
			true, &diag) < 0)
		return output_fail_diag(&session->output, &diag);
	return KP_EXIT_OK;
}

/* The manifest that is there with another library: what was set in it stays. */
static json_t *manifest_json(const struct install_target *target)
{
	owned_text path = NULL;
	json_t *manifest = install_target_manifest(target);
	if (!manifest)
		manifest = json_object();
	if (!target->is_plugin_dir &&
		asprintf(&path, "%s/%s", target->libraries, target->library) < 0)
		path = NULL;
	if (json_object_set_new(manifest, "library",
		    json_string(target->is_plugin_dir ? target->library : path)) < 0 ||
		json_object_set(manifest, "sha256",
			json_object_get(plugin_of(target), "sha256")) < 0) {
		json_decref(manifest);
		return NULL;
	}
	return manifest;
}

static int write_manifest(struct session *session, struct install_target *target)
{
	struct kp_diag diag;
	owned_text text = NULL;
	owned_text whole = NULL;
	owned_json *manifest = manifest_json(target);
	text = manifest ? kp_json_dumps(manifest, JSON_INDENT(2)) : NULL;
	if (!text || asprintf(&whole, "%s\n", text) < 0)
		return output_no_memory(&session->output);
	if (kp_file_replace(target->layer_fd, target->manifest, whole, strlen(whole),
		    0644, true, &diag) < 0)
		return output_fail_diag(&session->output, &diag);
	return KP_EXIT_OK;
}

/* ---- all or nothing ------------------------------------------------------------------
 */

static int check_free(struct session *session, struct install_target *target)
{
	struct stat st;
	target->replaced = fstatat(target->layer_fd, target->manifest, &st,
				   AT_SYMLINK_NOFOLLOW) == 0;
	if (!target->replaced || arguments_has(&session->arguments, "force"))
		return KP_EXIT_OK;
	return output_refuse(&session->output, "file_exists", target->manifest,
		"%s/%s is there already; --force puts this library in the place of its "
		"own, --name installs it beside",
		target->layer.dir, target->manifest);
}

/* Takes what the reload said of the plugin. */
static int reload(struct session *session, struct install_target *target)
{
	owned_json *reply = NULL;
	int status = session_ask(
		session, &reloading, json_pack("{s:s}", "name", target->name), &reply);
	json_decref(target->plugin);
	target->plugin =
		json_incref(json_array_get(json_object_get(reply, "plugins"), 0));
	return status;
}

static bool has_failed(const struct install_target *target)
{
	static const char *const states[] = {
		"rejected", "failed", "quarantined", "missing"};
	for (size_t i = 0; i < KP_COUNT(states); i++)
		if (field_is(target->plugin, "state", states[i]))
			return true;
	return false;
}

/* plugind does not want it: all is as it was, and it says why. */
static int take_back(struct session *session, struct install_target *target)
{
	const json_t *reason = json_object_get(target->plugin, "reason");
	owned_json *reply = NULL;
	install_target_put_back(target);
	int status = session_ask(session, &reloading, json_object(), &reply);
	if (status != KP_EXIT_OK)
		return status;
	return output_refuse(&session->output, "not_installed", target->name,
		"%s was not installed, plugind says: %s (%s)", target->name,
		field_text(reason, "message", "?"), field_text(reason, "code", "?"));
}

static int put_files(
	struct session *session, const char *file, struct install_target *target)
{
	if (!install_target_keep(target)) {
		int kept = layer_fail(session, &target->layer, "keep", target->manifest);
		install_target_forget(target);
		return kept;
	}
	int status = copy_seal(session, file, target);
	if (status == KP_EXIT_OK)
		status = copy_library(session, file, target);
	if (status == KP_EXIT_OK)
		status = write_manifest(session, target);
	if (status == KP_EXIT_OK)
		return KP_EXIT_OK;
	install_target_put_back(target);
	return status;
}

static int report(const struct session *session, const struct install_target *target)
{
	const struct output *output = &session->output;
	if (output->json) {
		owned_json *document = json_pack("{s:s, s:b, s:o, s:o, s:O?}", "name",
			target->name, "replaced", target->replaced, "manifest",
			json_sprintf("%s/%s", target->layer.dir, target->manifest),
			"library",
			json_sprintf("%s/%s", target->libraries, target->library),
			"plugin", target->plugin);
		return document ? output_json(document) : output_no_memory(output);
	}
	if (output->quiet)
		return KP_EXIT_OK;
	owned_text reason =
		field_sentence(json_object_get(target->plugin, "reason"), NULL);
	output_line(output, TONE_PLAIN, "%s: %s as %s/%s, now %s%s%s", target->name,
		target->replaced ? "replaced" : "installed", target->libraries,
		target->library, field_text(target->plugin, "state", "?"),
		reason && *reason ? ": " : "", reason ? reason : "");
	return KP_EXIT_OK;
}

static int run_install(struct session *session)
{
	owned_install_target target = {.layer_fd = -1, .libraries_fd = -1, .lock_fd = -1};
	const char *file = session->arguments.words[0];
	int status = check_library(session, file, &target);
	if (status == KP_EXIT_OK)
		status = choose_name(session, &target);
	if (status == KP_EXIT_OK)
		status = install_target_open(session, &target);
	if (status == KP_EXIT_OK)
		status = check_free(session, &target);
	if (status == KP_EXIT_OK)
		status = put_files(session, file, &target);
	if (status != KP_EXIT_OK)
		return status;
	status = reload(session, &target);
	if (status == KP_EXIT_OK && has_failed(&target))
		return take_back(session, &target);
	install_target_forget(&target);
	return status == KP_EXIT_OK ? report(session, &target) : status;
}

/* ---- taking it away --------------------------------------------------------------- */

/* The library goes with it where it is the one that `install` puts there. */
static bool owns_library(const struct install_target *target)
{
	owned_text path = NULL;
	owned_json *manifest = install_target_manifest(target);
	if (!manifest || asprintf(&path, "%s/%s", target->libraries, target->library) < 0)
		return false;
	return field_is(manifest, "library", path) ||
	       (target->is_plugin_dir && field_is(manifest, "library", target->library));
}

static int run_uninstall(struct session *session)
{
	owned_install_target target = {.layer_fd = -1,
		.libraries_fd = -1,
		.lock_fd = -1,
		.name = session->arguments.words[0]};
	owned_json *reply = NULL;
	int status = name_check(session, target.name, "uninstalled");
	if (status == KP_EXIT_OK)
		status = install_target_open(session, &target);
	if (status != KP_EXIT_OK)
		return status;
	bool library = owns_library(&target);
	if (unlinkat(target.layer_fd, target.manifest, 0) < 0)
		return errno == ENOENT
			       ? output_refuse(&session->output, "no_such_plugin",
					 target.name,
					 "%s has no manifest in %s; `pluginctl "
					 "mask %s` hides one that is elsewhere",
					 target.name, target.layer.dir, target.name)
			       : layer_fail(session, &target.layer, "remove",
					 target.manifest);
	if (library) {
		(void)unlinkat(target.libraries_fd, target.library, 0);
		(void)unlinkat(target.libraries_fd, target.seal, 0);
	}
	status = session_ask(session, &reloading, json_object(), &reply);
	if (status != KP_EXIT_OK)
		return status;
	if (session->output.json)
		return output_json(reply);
	if (!session->output.quiet)
		output_line(&session->output, TONE_PLAIN, "%s: removed%s", target.name,
			library ? "" : "; its library was left where it is");
	return KP_EXIT_OK;
}

static const struct option options[] = {
	{"name", "NAME", "the plugin's name (default: that in its note)", false},
	{"force", NULL, "put it in the place of the one that has this name", false},
	{NULL, NULL, NULL, false},
};

const struct command install_command = {
	.name = "install",
	.args = "FILE.so",
	.least = 1,
	.most = 1,
	.summary = "Install a library with a manifest, checked first",
	.help = "Copies the library into the plugin directory (for a private plugind "
		"with the usual one into $XDG_DATA_HOME/kplug/plugins) and writes "
		"NAME.json, with the library's digest, into the highest manifest "
		"directory, with your own rights. What plugind refuses is taken back. "
		"Runs for one name follow one another, and the next one takes back what "
		"a killed one has left half done. A signature beside it, "
		"FILE.so.minisig, goes with it.",
	.options = options,
	.waits = true,
	.run = run_install,
};

const struct command uninstall_command = {
	.name = "uninstall",
	.args = "NAME",
	.least = 1,
	.most = 1,
	.summary = "Take back what install has put there",
	.help = "Removes the manifest in the highest manifest directory, and the library "
		"with its signature where `install` has put them.",
	.waits = true,
	.run = run_uninstall,
};
