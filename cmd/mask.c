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
#include "cmd/session.h"
#include "lib/file.h"
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
};

#define owned_fd __attribute__((cleanup(kp_file_close))) int

static int find_place(struct session *session, const char *name, struct place *place)
{
	bool runtime = arguments_has(&session->arguments, "runtime");
	owned_json *reply = NULL;
	int status = session_ask(session, &asking_layers, json_object(), &reply);
	if (status != KP_EXIT_OK)
		return status;
	const char *dir = field_text(reply, runtime ? "runtime_dir" : "mask_dir", NULL);
	if (!dir)
		return output_refuse(&session->output, "no_runtime_layer", name,
			"this plugind has no layer that ends with the machine's run; "
			"leave out "
			"--runtime");
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
	return session_ask(
		session, &asking_info, json_pack("{s:s}", "name", name), &reply);
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

/* Tells what was done and lets the daemon see it. */
static int report(struct session *session, const char *name, const struct place *place,
	bool changed, const char *done)
{
	owned_json *reply = NULL;
	int status = session_ask(
		session, &reloading, json_pack("{s:s}", "name", name), &reply);
	if (status != KP_EXIT_OK)
		return status;
	if (!session->output.json) {
		if (!session->output.quiet)
			output_line(&session->output, TONE_PLAIN, "%s: %s%s in %s", name,
				changed ? "" : "already ", done, place->dir);
		return KP_EXIT_OK;
	}
	owned_json *document = json_pack("{s:s, s:b, s:s, s:s, s:I}", "name", name,
		"changed", changed, "directory", place->dir, "file", place->file,
		"generation", field_int(reply, "generation"));
	return document ? output_json(&session->output, document)
			: output_no_memory(&session->output);
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
	if (kp_text_is_name(name))
		return KP_EXIT_OK;
	return output_refuse(&session->output, "bad_name", name,
		"%s is no name of a plugin: %s", name, kp_text_name_rule);
}

static int run_mask(struct session *session)
{
	struct place place;
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
		return report(session, name, &place, true, "masked");
	if (errno != EEXIST)
		return failed(session, &place, "make");
	return look(dir, place.file) == ENTRY_MASK
		       ? report(session, name, &place, false, "masked")
		       : occupied(session, &place);
}

static int run_unmask(struct session *session)
{
	struct place place;
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
		return report(session, name, &place, true, "unmasked");
	case ENTRY_OTHER:
		return occupied(session, &place);
	case ENTRY_UNREADABLE:
		return failed(session, &place, "look for");
	case ENTRY_NONE:
		break;
	}
	status = check_known(session, name);
	return status == KP_EXIT_OK ? report(session, name, &place, false, "unmasked")
				    : status;
}

static const struct option options[] = {
	{"runtime", NULL, "in the layer below /run, which does not survive a boot",
		false},
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
		"there is "
		"left alone: that is refused.",
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
		"plugind "
		"reload.",
	.options = options,
	.run = run_unmask,
};
