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
#include "cmd/layer.h"
#include "cmd/name.h"
#include "cmd/session.h"
#include "lib/base/file.h"
#include "lib/base/owned.h"
#include "lib/base/text.h"

static const struct question asking_info = {"Info", {{"plugin", KP_JSON_OBJECT, true}}};
static const struct question reloading = {
	"Reload", {{"generation", KP_JSON_INTEGER, true}}};

/* What is in the layer by the plugin's name. */
enum entry { ENTRY_NONE, ENTRY_MASK, ENTRY_OTHER, ENTRY_UNREADABLE };

struct place {
	struct layer layer;
	char file[80];
};

#define owned_place __attribute__((cleanup(place_finish))) struct place

static void place_finish(struct place *place)
{
	layer_finish(&place->layer);
}

static int find_place(struct session *session, const char *name, struct place *place)
{
	(void)snprintf(place->file, sizeof(place->file), "%s.json", name);
	return layer_find(session, name, arguments_has(&session->arguments, "runtime"),
		&place->layer);
}

static int check_known(struct session *session, const char *name)
{
	owned_json *reply = NULL;
	return name_ask(
		session, &asking_info, name, json_pack("{s:s}", "name", name), &reply);
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
	const json_t *dirs = json_object_get(place->layer.layers, "manifest_dirs");
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
		"changed", changed, "directory", place->layer.dir, "file", place->file,
		"masked_in", masking_dir(place), "generation",
		field_int(reply, "generation"));
	return document ? output_json(document) : output_no_memory(&session->output);
}

/* "--runtime" where that mask is the other one of the two that we make. */
static void put_still_masked(const struct session *session, const char *name,
	const struct place *place, const char *dir)
{
	const char *remedy = "remove it there";
	if (strcmp(dir, field_text(place->layer.layers, "runtime_dir", "")) == 0)
		remedy = "use --runtime";
	else if (strcmp(dir, field_text(place->layer.layers, "mask_dir", "")) == 0)
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
			place->layer.dir);
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
		place->layer.dir, place->file);
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
	owned_fd dir = open(place.layer.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 && errno == ENOENT &&
		kp_file_make_dirs(place.layer.dir, 0755, &diag) == 0)
		dir = open(place.layer.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return layer_fail(session, &place.layer, "make", place.file);
	if (symlinkat("/dev/null", dir, place.file) == 0)
		return report(session, name, &place, true, true);
	if (errno != EEXIST)
		return layer_fail(session, &place.layer, "make", place.file);
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
	owned_fd dir = open(place.layer.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 && errno != ENOENT)
		return layer_fail(session, &place.layer, "look for", place.file);
	switch (dir < 0 ? ENTRY_NONE : look(dir, place.file)) {
	case ENTRY_MASK:
		if (unlinkat(dir, place.file, 0) < 0)
			return layer_fail(session, &place.layer, "remove", place.file);
		return report(session, name, &place, true, false);
	case ENTRY_UNREADABLE:
		return layer_fail(session, &place.layer, "look for", place.file);
	case ENTRY_OTHER:
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
		"with your own rights, and lets plugind reload. A manifest that is a "
		"file there is left alone: that is refused.",
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
