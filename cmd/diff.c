/* SPDX-License-Identifier: MIT */
/* `pluginctl diff`: what decides differently than a saved fingerprint says. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/field.h"
#include "cmd/fingerprint.h"
#include "cmd/session.h"
#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/protocol/message.h"

enum { FILE_BYTES = 64 << 20 };

/* ---- the saved one ----------------------------------------------------------- */

static int bad(const char *path, const char *what, struct kp_diag *diag)
{
	return kp_diag_set(diag, "bad_fingerprint", path,
		"%s is not what `pluginctl fingerprint --json` prints: %s", path, what);
}

static int check(const json_t *saved, const char *path, struct kp_diag *diag)
{
	const json_t *lines = json_object_get(saved, "lines");
	const json_t *device = json_object_get(saved, "device");

	if (!json_is_string(json_object_get(saved, "digest")) || !json_is_array(lines))
		return bad(path, "it has no digest or no lines", diag);
	if (device && !json_is_string(device) && !json_is_null(device))
		return bad(path, "its device is no text", diag);
	for (size_t i = 0; i < json_array_size(lines); i++)
		if (!json_is_string(json_array_get(lines, i)))
			return bad(path, "a line is no text", diag);
	return 0;
}

static int load(const char *path, json_t **saved, struct kp_diag *diag)
{
	char *text = NULL;
	size_t size = 0;
	json_t *root;
	struct kp_diag why;

	if (kp_file_read(AT_FDCWD, path, FILE_BYTES, &text, &size, diag) < 0)
		return -1;
	int result = kp_answer_parse(text, size, &root, &why);
	free(text);
	if (result < 0)
		return bad(path, why.message, diag);
	if (check(root, path, diag) < 0) {
		json_decref(root);
		return -1;
	}
	*saved = root;
	return 0;
}

/* ---- comparing --------------------------------------------------------------- */

/* The lines in byte order; a file may have been edited. The texts are borrowed. */
static const char **sorted(const json_t *lines, size_t *count)
{
	const char **texts = calloc(json_array_size(lines) + 1, sizeof(*texts));

	*count = texts ? json_array_size(lines) : 0;
	for (size_t i = 0; i < *count; i++)
		texts[i] = json_string_value(json_array_get(lines, i));
	if (texts)
		qsort(texts, *count, sizeof(*texts), kp_text_compare);
	return texts;
}

/* {"missing": lines of `then` alone, "added": those of `now`}. */
static json_t *compare(const json_t *then, const json_t *now)
{
	size_t n, m, i = 0, k = 0;
	const char **old = sorted(then, &n);
	const char **new = sorted(now, &m);
	json_t *missing = json_array();
	json_t *added = json_array();

	while (old && new && (i < n || k < m)) {
		int order = i == n ? 1 : k == m ? -1 : strcmp(old[i], new[k]);
		if (order < 0)
			(void)json_array_append_new(missing, json_string(old[i]));
		else if (order > 0)
			(void)json_array_append_new(added, json_string(new[k]));
		i += order <= 0;
		k += order >= 0;
	}
	bool is_whole = old && new;
	free(old);
	free(new);
	json_t *made = json_pack("{s:o, s:o}", "missing", missing, "added", added);
	if (is_whole)
		return made;
	json_decref(made);
	return NULL;
}

static void put_lines(const struct output *output, enum tone tone, const char *mark,
	const json_t *lines)
{
	for (size_t i = 0; i < json_array_size(lines); i++)
		output_line(output, tone, "%s %s", mark,
			json_string_value(json_array_get(lines, i)));
}

static int put(struct session *session, const json_t *result, bool equal)
{
	if (session->output.json)
		return output_json(result);
	if (session->output.quiet)
		return KP_EXIT_OK;
	put_lines(&session->output, TONE_BAD, "-", json_object_get(result, "missing"));
	put_lines(&session->output, TONE_GOOD, "+", json_object_get(result, "added"));
	if (equal)
		output_remark(&session->output, "nothing differs");
	else
		output_remark(&session->output,
			"- is in the file alone (%zu), + is here alone (%zu)",
			field_count(result, "missing"), field_count(result, "added"));
	return KP_EXIT_OK;
}

static int run(struct session *session)
{
	const char *path = session->arguments.words[0];
	owned_json *saved = NULL;
	owned_json *now = NULL;
	struct kp_diag diag;

	if (load(path, &saved, &diag) < 0)
		return output_fail_diag(&session->output, &diag);
	int status = fingerprint_ask(session, field_text(saved, "device", NULL), &now);
	if (status != KP_EXIT_OK)
		return status;
	owned_json *result =
		compare(json_object_get(saved, "lines"), json_object_get(now, "lines"));
	if (!result)
		return output_no_memory(&session->output);
	bool equal = field_count(result, "missing") + field_count(result, "added") == 0;
	if (json_object_set_new(result, "equal", json_boolean(equal)) < 0 ||
		json_object_set(result, "device", json_object_get(now, "device")) < 0)
		return output_no_memory(&session->output);
	status = put(session, result, equal);
	session_remark_pending(session, now);
	return status == KP_EXIT_OK && !equal ? KP_EXIT_NO : status;
}

static const struct option options[] = {
	SESSION_SETTLE,
	{NULL, NULL, NULL, false},
};

const struct command diff_command = {
	.name = "diff",
	.args = "FILE",
	.least = 1,
	.most = 1,
	.summary = "Say what decides differently than in a saved fingerprint",
	.help = "FILE is what `pluginctl fingerprint --json` printed, here or on another "
		"machine; it is compared for the device that it is of. Lines with - are "
		"in the file alone, lines with + here alone. Exit status 1 where any "
		"differs. --json prints {\"missing\", \"added\", \"equal\", "
		"\"device\"}.",
	.options = options,
	.offline = true,
	.run = run,
};
