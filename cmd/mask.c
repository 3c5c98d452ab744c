/* SPDX-License-Identifier: MIT */
/*
 * `pluginctl mask` and `unmask`: a link to /dev/null in the operator's layer,
 * made with the caller's own rights, since the daemon writes no manifest
 * directory.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/field.h"
#include "cmd/name.h"
#include "cmd/session.h"
#include "lib/file.h"
#include "lib/owned.h"
#include "lib/text.h"

static const struct question asking_layers = {
	"Layers", {{"mask_dir", KP_JSON_STRING, true},
			  {"runtime_dir", KP_JSON_STRING | KP_JSON_NULL, false}}};
static const struct question asking_info = {"Info", {{"plugin", KP_JSON_OBJECT, true}}};
static const struct question reloading = {
	"Reload", {{"generation", KP_JSON_INTEGER, true}}};

/* What is in the layer by the plugin's name. */
enum entry { ENTRY_NONE, ENTRY_MASK, ENTRY_OTHER, ENTRY_UNREADABLE };

struct place {
	char dir[4096];
	char file[80];
	json_t *layers; /* the reply to Layers */
};

#define owned_place __attribute__((cleanup(place_finish))) struct place

static void place_finish(struct place *place)
{
	json_decref(place->layers);
}

/* Root writes where root's daemon says, or its own, and nobody else's. */
static int check_peer(struct session *session)
{
	uid_t uid;
	struct kp_diag diag;
	int status = session_connect(session);
	if (status != KP_EXIT_OK)
		return status;
	if (kp_client_peer(session->client, &uid, &diag) < 0)
		return output_fail_diag(&session->output, &diag);
	if (uid == 0 || uid == geteuid())
		return KP_EXIT_OK;
	return output_refuse(&session->output, "untrusted_layer",
		kp_client_path(session->client),
		"plugind at %s runs as uid %u: where that tells to write, uid %u does "
		"not",
		kp_client_path(session->client), (unsigned)uid, (unsigned)geteuid());
}

static int find_place(struct session *session, const char *name, struct place *place)
{
	bool runtime = arguments_has(&session->arguments, "runtime");
	int status = check_peer(session);
	if (status == KP_EXIT_OK)
		status = session_ask(
			session, &asking_layers, json_object(), &place->layers);
	if (status != KP_EXIT_OK)
		return status;
	const char *dir =
		field_text(place->layers, runtime ? "runtime_dir" : "mask_dir", NULL);
	if (!dir)
		return output_refuse(&session->output, "no_runtime_layer", name,
			"this plugind was given its own manifest directories, and the "
			"runtime layer is none of them; leave out --runtime");
	int n = snprintf(place->dir, sizeof(place->dir), "%s", dir);
	if (dir[0] != '/' || n < 0 || (size_t)n >= sizeof(place->dir))
		return output_refuse(&session->output, "bad_reply", "Layers",
			"plugind names %s as its layer, which is no absolute path", dir);
	(void)snprintf(place->file, sizeof(place->file), "%s.json", name);
	return KP_EXIT_OK;
}

static int check_known(struct session *session, const char *name)
{
	owned_json *reply = NULL;
	return name_ask(
		session, &asking_info, name, json_pack("{s:s}", "name", name), &reply);
}

/* Errno of the last call as a failure about the layer. */
static int failed(struct session *session, const struct place *place, const char *verb)
{
	int error = errno;
	bool denied = error == EACCES || error == EPERM || error == EROFS;
	return output_refuse(&session->output, denied ? "not_permitted" : "write_failed",
		place->dir, "cannot %s %s in %s: %s", verb, place->file, place->dir,
		strerror(error));
}

static enum entry look(int dir, const char *file)
{
	char target[16];
	ssize_t n = readlinkat(dir, file, target, sizeof(target));
	if (n == (ssize_t)strlen("/dev/null") &&
		memcmp(target, "/dev/null", (size_t)n) == 0)
		return ENTRY_MASK;
	if (n >= 0 || errno == EINVAL)
		return ENTRY_OTHER;
	return errno == ENOENT ? ENTRY_NONE : ENTRY_UNREADABLE;
}

/* The directory whose mask of this name hides all others; NULL: there is none. */
static const char *masking_dir(const struct place *place)
{
	const json_t *dirs = json_object_get(place->layers, "manifest_dirs");
	for (size_t i = 0; i < json_array_size(dirs); i++) {
		const char *path = json_string_value(json_array_get(dirs, i));
		owned_fd dir = open(path ? path : "", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		enum entry entry = dir < 0 ? ENTRY_NONE : look(dir, place->file);
		if (entry != ENTRY_NONE)
			return entry == ENTRY_MASK ? path : NULL;
	}
	return NULL;
}

static int put_json(const struct session *session, const char *name,
	const struct place *place, bool changed, const json_t *reply)
{
	owned_json *document = json_pack("{s:s, s:b, s:s, s:s, s:s?, s:I}", "name", name,
		"changed", changed, "directory", place->dir, "file", place->file,
		"masked_in", masking_dir(place), "generation",
		field_int(reply, "generation"));
	return document ? output_json(document) : output_no_memory(&session->output);
}

/* "--runtime" where that mask is the other one of the two that we make. */
static void put_still_masked(const struct session *session, const char *name,
	const struct place *place, const char *dir)
{
	const char *remedy = "remove it there";
	if (strcmp(dir, field_text(place->layers, "runtime_dir", "")) == 0)
		remedy = "use --runtime";
	else if (strcmp(dir, field_text(place->layers, "mask_dir", "")) == 0)
		remedy = "leave out --runtime";
	output_line(&session->output, TONE_WARN, "%s: still masked by %s/%s; %s", name,
		dir, place->file, remedy);
}

/* Tells what was done and lets the daemon see it. Exit 1: it is masked yet. */
static int report(struct session *session, const char *name, const struct place *place,
	bool changed, bool mask)
{
	owned_json *reply = NULL;
	int status = session_ask(
		session, &reloading, json_pack("{s:s}", "name", name), &reply);
	if (status != KP_EXIT_OK)
		return status;
	const char *dir = mask ? NULL : masking_dir(place);
	if (session->output.json)
		status = put_json(session, name, place, changed, reply);
	else if (!session->output.quiet && (changed || !dir))
		output_line(&session->output, TONE_PLAIN, "%s: %s%s in %s", name,
			changed ? "" : "already ", mask ? "masked" : "unmasked",
			place->dir);
	if (status != KP_EXIT_OK || !dir)
		return status;
	if (!session->output.json && !session->output.quiet)
		put_still_masked(session, name, place, dir);
	return KP_EXIT_NO;
}

static int occupied(struct session *session, const struct place *place)
{
	return output_refuse(&session->output, "file_exists", place->file,
		"%s/%s is a manifest, not a mask; move it away first, or disable the "
		"plugin",
		place->dir, place->file);
}

static int check_name(struct session *session, const char *name)
{
	bool mask = strcmp(session->output.what, "mask") == 0;
	int status = name_check(session, name, mask ? "masked" : "unmasked");
	if (status != KP_EXIT_OK || kp_text_is_name(name))
		return status;
	return output_refuse(&session->output, "bad_name", name,
		"%s is no name of a plugin: %s", name, kp_text_name_rule);
}

static int run_mask(struct session *session)
{
	owned_place place = {0};
	struct kp_diag diag;
	const char *name = session->arguments.words[0];
	int status = check_name(session, name);
	if (status == KP_EXIT_OK)
		status = check_known(session, name);
	if (status == KP_EXIT_OK)
		status = find_place(session, name, &place);
	if (status != KP_EXIT_OK)
		return status;
	owned_fd dir = open(place.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 && errno == ENOENT && kp_file_make_dirs(place.dir, 0755, &diag) == 0)
		dir = open(place.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return failed(session, &place, "make");
	if (symlinkat("/dev/null", dir, place.file) == 0)
		return report(session, name, &place, true, true);
	if (errno != EEXIST)
		return failed(session, &place, "make");
	return look(dir, place.file) == ENTRY_MASK
		       ? report(session, name, &place, false, true)
		       : occupied(session, &place);
}

static int run_unmask(struct session *session)
{
	owned_place place = {0};
	const char *name = session->arguments.words[0];
	int status = check_name(session, name);
	if (status == KP_EXIT_OK)
		status = find_place(session, name, &place);
	if (status != KP_EXIT_OK)
		return status;
	owned_fd dir = open(place.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 && errno != ENOENT)
		return failed(session, &place, "look for");
	switch (dir < 0 ? ENTRY_NONE : look(dir, place.file)) {
	case ENTRY_MASK:
		if (unlinkat(dir, place.file, 0) < 0)
			return failed(session, &place, "remove");
		return report(session, name, &place, true, false);
	case ENTRY_OTHER:
		return occupied(session, &place);
	case ENTRY_UNREADABLE:
		return failed(session, &place, "look for");
	case ENTRY_NONE:
		break;
	}
	status = check_known(session, name);
	return status == KP_EXIT_OK ? report(session, name, &place, false, false)
				    : status;
}

static const struct option options[] = {
	{"runtime", NULL, "in the runtime layer, which does not survive a boot", false},
	{NULL, NULL, NULL, false},
};

const struct command mask_command = {
	.name = "mask",
	.args = "NAME",
	.least = 1,
	.most = 1,
	.summary = "Hide a plugin's manifest: it is not even read",
	.help = "Makes a link NAME.json to /dev/null in the highest manifest directory, "
		"with "
		"your own rights, and lets plugind reload. A manifest that is a file "
		"there is left alone: that is refused.",
	.options = options,
	.run = run_mask,
};

const struct command unmask_command = {
	.name = "unmask",
	.args = "NAME",
	.least = 1,
	.most = 1,
	.summary = "Take a mask back",
	.help = "Removes the link that `pluginctl mask` made, nothing else, and lets "
		"plugind reload. Exit status 1 where a mask in another directory still "
		"hides the plugin.",
	.options = options,
	.run = run_unmask,
};
