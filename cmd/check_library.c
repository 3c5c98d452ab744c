/* SPDX-License-Identifier: MIT */
/* Libraries and the manifests that name them: findings of what plugin-worker saw. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/check.h"
#include "cmd/identify.h"
#include "lib/base/json.h"
#include "lib/base/owned.h"
#include "lib/base/place.h"
#include "lib/base/text.h"

struct check_plugin *check_add_plugin(struct check *check)
{
	if (check->n_plugins == check->room) {
		size_t room = check->room ? check->room * 2 : 64;
		void *plugins =
			reallocarray(check->plugins, room, sizeof(*check->plugins));
		if (!plugins) {
			check->lint.failed = true;
			return NULL;
		}
		check->plugins = plugins;
		check->room = room;
	}
	struct check_plugin *plugin = &check->plugins[check->n_plugins++];
	*plugin = (struct check_plugin){0};
	return plugin;
}

void check_finish(struct check *check)
{
	for (size_t i = 0; i < check->n_plugins; i++) {
		struct check_plugin *plugin = &check->plugins[i];
		free(plugin->name);
		free(plugin->library);
		free(plugin->file);
		json_decref(plugin->libraries);
		if (plugin->has_note)
			kp_note_finish(&plugin->note);
	}
	free(check->plugins);
	kp_families_finish(&check->families);
	signed_finish(&check->wish);
	check_files_finish(&check->files);
	kp_lint_finish(&check->lint);
}

bool check_is_claimed(const struct check *check, const char *path)
{
	owned_text real = realpath(path, NULL);
	for (size_t i = 0; real && i < check->n_plugins; i++) {
		const struct check_plugin *plugin = &check->plugins[i];
		if (plugin->library && strcmp(plugin->library, real) == 0)
			return true;
	}
	return false;
}

/* ---- a library ------------------------------------------------------------------- */

/* A library of somebody's that lies there: helpers have no note. */
static bool is_helper(const struct check_file *file, const struct kp_manifest *manifest,
	const struct kp_verdict *verdict)
{
	return !manifest && !file->named && verdict->state == KP_STATE_REJECTED &&
	       strcmp(verdict->code, "no_note") == 0;
}

/* By the manifest's directory, where that is. */
static enum kp_signing_policy policy_of(const struct check *check,
	const struct check_file *file, const struct kp_manifest *manifest)
{
	owned_text real = manifest ? realpath(file->path, NULL) : NULL;

	return kp_signing_of(&check->wish.signing, real ? real : "");
}

/* That nobody we know has signed it is as bad as the policy says. */
static void tell_warning(struct kp_lint *lint, const char *path,
	enum kp_signing_policy policy, const struct kp_diag *warning)
{
	bool is_unsigned = strcmp(warning->code, "unsigned") == 0;

	if (is_unsigned && policy == KP_SIGNING_OFF)
		return;
	if (is_unsigned || strcmp(warning->code, "unknown_signer") == 0)
		kp_lint_add_as(lint,
			policy == KP_SIGNING_REQUIRE ? KP_SEVERITY_ERROR
						     : KP_SEVERITY_WARNING,
			path, warning);
	else
		kp_lint_add(lint, path, warning);
}

/* Its reason first; what else is wrong comes as warnings of codes that are errors. */
static void tell_verdict(struct check *check, const char *path,
	enum kp_signing_policy policy, const struct kp_verdict *verdict)
{
	struct kp_diag diag;
	if (verdict->state != KP_STATE_ACTIVE) {
		kp_diag_set(&diag, verdict->code, path, "%s",
			verdict->message ? verdict->message : "");
		kp_lint_add_as(&check->lint, KP_SEVERITY_ERROR, path, &diag);
	}
	for (size_t i = 0; i < verdict->warnings.count; i++)
		tell_warning(&check->lint, path, policy, &verdict->warnings.items[i]);
}

static void tell_signer(
	struct kp_lint *lint, const char *path, const struct kp_verdict *verdict)
{
	const char *key = kp_json_text(verdict->signature, "key");
	const char *file = kp_json_text(verdict->signature, "file");
	const char *comment = kp_json_text(verdict->signature, "comment");
	struct kp_diag diag;

	if (!key)
		return;
	kp_diag_set(&diag, "signed", key, "it is signed by the key %s (%s): %s", key,
		file ? file : "?", comment ? comment : "");
	kp_lint_add(lint, path, &diag);
}

/* A remark, not a fault: many do, and `info` has the numbers. */
static void tell_load(
	struct kp_lint *lint, const char *path, const struct kp_verdict *verdict)
{
	json_int_t constructors =
		json_integer_value(json_object_get(verdict->elf, "constructors"));
	json_int_t ifuncs = json_integer_value(json_object_get(verdict->elf, "ifuncs"));
	struct kp_diag diag;
	if (constructors + ifuncs == 0)
		return;
	kp_diag_set(&diag, "runs_at_load", path,
		"it runs code when it is loaded: constructors %" JSON_INTEGER_FORMAT
		", resolvers of functions %" JSON_INTEGER_FORMAT,
		constructors, ifuncs);
	kp_lint_add(lint, path, &diag);
}

static void check_digest(struct kp_lint *lint, const struct check_file *file,
	const struct kp_manifest *manifest, const struct kp_verdict *verdict)
{
	const struct kp_lint_text text = check_file_text(file);
	struct kp_diag diag;
	if (!manifest || !manifest->sha256[0] || !verdict->digest[0] ||
		strcmp(manifest->sha256, verdict->digest) == 0)
		return;
	kp_diag_set(&diag, "digest_mismatch", "sha256",
		"sha256: the library has %s, the manifest %s", verdict->digest,
		manifest->sha256);
	kp_lint_add_placed(lint, &text, &diag);
}

/* A source tree's manifest.json gets its name when it is installed. */
static char *name_of(const char *path, const struct kp_manifest *manifest)
{
	size_t length;
	if (manifest && strcmp(manifest->name, "manifest") != 0)
		return strdup(manifest->name);
	const char *stem = kp_text_stem(path, ".so", &length);
	return strndup(stem, length);
}

static void remember(struct check *check, const char *path, const struct check_file *file,
	const struct kp_manifest *manifest, const struct kp_verdict *verdict)
{
	struct check_plugin *plugin = check_add_plugin(check);
	if (!plugin)
		return;
	plugin->name = name_of(path, manifest);
	plugin->library = realpath(path, NULL);
	plugin->manifest = manifest ? file->path : NULL;
	plugin->offset = manifest ? manifest->priority_offset : 0;
	plugin->file = strdup(path);
	plugin->text.file = plugin->file;
	plugin->libraries = json_incref(json_object_get(verdict->elf, "libraries"));
	(void)snprintf(plugin->digest, sizeof(plugin->digest), "%s", verdict->digest);
	check->lint.failed |= !plugin->name || !plugin->file;
	if (verdict->note && !check->lint.failed)
		plugin->has_note = kp_lint_note(&check->lint, &plugin->text,
			verdict->note, &check->families,
			manifest ? manifest->priority_offset : 0, &plugin->note);
}

/* No manifest names it, though there are some. */
static void tell_unclaimed(struct check *check, const char *path)
{
	struct kp_diag diag;
	if (check->counts[CHECK_MANIFEST] == 0)
		return;
	kp_diag_set(&diag, "unclaimed", path,
		"it is a plugin, but no manifest that was looked at names it");
	kp_lint_add(&check->lint, path, &diag);
}

void check_library(struct check *check, const char *path, const struct check_file *file,
	const struct kp_manifest *manifest)
{
	struct kp_verdict verdict;
	struct kp_diag diag;
	if (identify_library(path, check->wish.keys, check->session->timeout_ms, &verdict,
		    &diag) < 0) {
		kp_lint_add_as(&check->lint, KP_SEVERITY_ERROR, path, &diag);
		return;
	}
	if (!is_helper(file, manifest, &verdict)) {
		check->counts[CHECK_LIBRARY]++;
		tell_verdict(check, path, policy_of(check, file, manifest), &verdict);
		tell_signer(&check->lint, path, &verdict);
		tell_load(&check->lint, path, &verdict);
		check_digest(&check->lint, file, manifest, &verdict);
		remember(check, path, file, manifest, &verdict);
		if (!manifest && !file->named && verdict.note)
			tell_unclaimed(check, path);
	}
	kp_verdict_finish(&verdict);
}

/* ---- a manifest ------------------------------------------------------------------ */

/* "DIRECTORY/LIBRARY" where that is there; malloc'ed. */
static char *is_there(
	const char *directory, size_t length, const char *between, const char *library)
{
	char *path;
	if (asprintf(&path, "%.*s%s/%s", (int)length, directory, between, library) < 0)
		return NULL;
	if (access(path, F_OK) == 0)
		return path;
	free(path);
	return NULL;
}

/* The directory above, by its name where that tells it; malloc'ed. */
static char *parent_of(const char *directory, size_t length)
{
	char *parent;
	size_t cut = length;
	while (cut > 0 && directory[cut - 1] != '/')
		cut--;
	const char *last = directory + cut;
	if (cut > 1 && strncmp(last, "..", length - cut) != 0)
		return strndup(directory, cut - 1);
	return asprintf(&parent, "%.*s/..", (int)length, directory) < 0 ? NULL : parent;
}

/* Beside the manifest, and where installed trees and builds have libraries. */
static char *find_near(const char *manifest, const char *library)
{
	const char *slash = strrchr(manifest, '/');
	const char *directory = slash ? manifest : ".";
	size_t length = slash ? (size_t)(slash - manifest) : 1;
	owned_text parent = parent_of(directory, length);
	char *path = is_there(directory, length, "", library);
	if (!path && parent)
		path = is_there(parent, strlen(parent), "/plugins", library);
	return path || !parent ? path : is_there(parent, strlen(parent), "", library);
}

static char *find_library(
	const struct check *check, const char *manifest, const char *library)
{
	const struct arguments *arguments = &check->session->arguments;
	const char *directory;
	size_t at = 0;
	char *path = NULL;
	if (library[0] == '/')
		return access(library, F_OK) == 0 ? strdup(library) : NULL;
	if (!arguments_has(arguments, "plugin-dir"))
		path = find_near(manifest, library);
	while (!path && (directory = arguments_next(arguments, "plugin-dir", &at)))
		path = is_there(directory, strlen(directory), "", library);
	if (path || arguments_has(arguments, "plugin-dir"))
		return path;
	owned_text usual = kp_place_find("plugins");
	return usual ? is_there(usual, strlen(usual), "", library) : NULL;
}

static void check_name(struct check *check, const struct check_file *file,
	const struct kp_manifest *manifest)
{
	struct kp_diag diag;
	if (kp_text_is_name(manifest->name))
		return;
	kp_diag_set(&diag, "bad_name", manifest->name,
		"\"%.100s\" is not a name for a plugin: %s", manifest->name,
		kp_text_name_rule);
	kp_lint_add(&check->lint, file->path, &diag);
}

static void tell_missing(struct check *check, const struct check_file *file,
	const struct kp_manifest *manifest)
{
	const struct kp_lint_text text = check_file_text(file);
	struct kp_diag diag;
	kp_diag_set(&diag, "library_not_found", "library", "library: %s is not there%s",
		manifest->library,
		manifest->library[0] == '/'
			? ""
			: ", neither beside the manifest nor in a plugin directory");
	kp_lint_add_placed(&check->lint, &text, &diag);
}

void check_manifest(struct check *check, const struct check_file *file)
{
	const struct kp_lint_text text = check_file_text(file);
	struct kp_manifest manifest;
	if (!kp_lint_manifest(&check->lint, &text, &manifest))
		return;
	check_name(check, file, &manifest);
	/* One that was mended names no library. */
	if (json_is_string(json_object_get(file->root, "library"))) {
		owned_text library = find_library(check, file->path, manifest.library);
		if (library)
			check_library(check, library, file, &manifest);
		else
			tell_missing(check, file, &manifest);
	}
	kp_manifest_finish(&manifest);
}
