/* SPDX-License-Identifier: MIT */
/*
 * Whom a way trusts: who has signed the library (its copy, the signature beside the file
 * and the trusted keys go to a worker, before anything else looks at it), and whose its
 * files are where workers are not confined.
 */
#include "daemon/pipeline/way.h"

#include <dirent.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/file.h"
#include "lib/base/json.h"
#include "lib/base/owned.h"
#include "lib/base/trust.h"

enum { SIGNATURE_BYTES = 16 << 10, KEY_BYTES = 4 << 10, KEYS_MOST = 256 };

enum signing_policy way_policy(const struct way *way)
{
	/* An earlier generation is what was checked when it came. */
	if (way->manifest.stored)
		return SIGNING_OFF;
	return signing_of(pipeline_settings(way->pipeline)->signing, way->manifest.path);
}

static const char *trusted_dir(const struct way *way)
{
	return pipeline_settings(way->pipeline)->signing->trusted;
}

/* ---- reading, in the pool --------------------------------------------------------- */

/* Whatever becomes of it, or comes there, has the signature looked at again. */
static int trace(struct way *way, const char *path)
{
	struct stamp stamp;

	stamp_take(path, &stamp);
	return trace_add(way->trace, path, &stamp);
}

static void note(struct way *way, const char *code, const char *object, const char *text)
{
	json_t *list = json_object_get(way->seal, "warnings");

	(void)json_array_append_new(list, json_pack("{s:s, s:o, s:o}", "code", code,
						  "object", kp_json_clean_string(object),
						  "message", kp_json_clean_string(text)));
}

/* What others may change is nobody's key. */
static int read_key(
	const struct kp_trust *trust, const char *path, char **text, struct kp_diag *diag)
{
	size_t size;
	owned_fd fd = kp_trust_open(trust, path, NULL, diag);

	return fd < 0 ? -1 : kp_file_read_open(fd, path, KEY_BYTES, text, &size, diag);
}

static void take_key(struct way *way, const char *name)
{
	owned_text path = NULL;
	owned_text text = NULL;
	struct kp_diag diag;
	char said[sizeof(diag.message) + 128];

	if (asprintf(&path, "%s/%s", trusted_dir(way), name) < 0) {
		path = NULL;
		return;
	}
	(void)trace(way, path);
	if (read_key(pipeline_settings(way->pipeline)->trust, path, &text, &diag) == 0) {
		(void)json_array_append_new(json_object_get(way->seal, "keys"),
			json_pack("{s:o, s:o}", "file", kp_json_clean_string(path),
				"text", kp_json_clean_string(text)));
		return;
	}
	(void)snprintf(said, sizeof(said), "the key is not used: %s", diag.message);
	note(way, kp_trust_is_code(diag.code) ? "key_not_trusted" : "bad_key_file", path,
		said);
}

static int is_key(const struct dirent *item)
{
	size_t length = strlen(item->d_name);

	return item->d_name[0] != '.' && length > 4 &&
	       strcmp(item->d_name + length - 4, ".pub") == 0;
}

static void read_keys(struct way *way)
{
	struct dirent **items = NULL;
	int count = scandir(trusted_dir(way), &items, is_key, alphasort);

	(void)trace(way, trusted_dir(way));
	for (int i = 0; i < count; i++) {
		if (i < KEYS_MOST)
			take_key(way, items[i]->d_name);
		free(items[i]);
	}
	free(items);
}

/* What there is to ask a worker; a signature that is not there is null. */
int way_read_seal(struct way *way)
{
	owned_text beside = NULL;
	owned_text text = NULL;
	size_t size;
	struct kp_diag diag;

	json_decref(way->seal);
	way->seal = NULL;
	if (way_policy(way) == SIGNING_OFF)
		return 0;
	if (asprintf(&beside, "%s.minisig", way->library) < 0) {
		beside = NULL;
		return -1;
	}
	way->seal = json_pack("{s:s, s:s, s:s, s:s, s:[], s:[]}", "kind", "signature",
		"file", way->library, "beside", beside, "trusted", trusted_dir(way),
		"keys", "warnings");
	if (!way->seal || trace(way, beside) < 0)
		return -1;
	if (kp_file_read(AT_FDCWD, beside, SIGNATURE_BYTES, &text, &size, &diag) == 0) {
		read_keys(way);
		return json_object_set_new(
			way->seal, "signature", kp_json_clean_string(text));
	}
	return json_object_set_new(way->seal, "unread",
		json_pack("{s:s, s:o}", "code", diag.code, "message",
			kp_json_clean_string(diag.message)));
}

/* ---- judging, in the loop ---------------------------------------------------------- */

static void warn_of_keys(struct way *way)
{
	size_t i;
	json_t *item;

	json_array_foreach (json_object_get(way->seal, "warnings"), i, item)
		kp_verdict_warn(&way->verdict, kp_json_text(item, "code"),
			kp_json_text(item, "object"), kp_json_text(item, "message"));
}

/* Where it is required the way ends here; else it is said, and goes on. */
static void fall_short(struct way *way, const char *code, const char *message)
{
	warn_of_keys(way);
	if (way_policy(way) == SIGNING_REQUIRE) {
		const struct draft_file *library = draft_file(way->draft, 0);
		memcpy(way->verdict.digest, library->digest, DIGEST_TEXT);
		way->verdict.bytes = (int64_t)library->size;
		kp_verdict_fail(&way->verdict, KP_STATE_REJECTED, code, message);
		way_finish(way);
		return;
	}
	kp_verdict_warn(&way->verdict, code, way->library, message);
	way_sealed(way);
}

static void unsigned_file(struct way *way)
{
	const json_t *unread = json_object_get(way->seal, "unread");
	const char *why = kp_json_text(unread, "message");
	char text[1024];

	if (strcmp(kp_json_text(unread, "code"), "missing_file") == 0)
		(void)snprintf(text, sizeof(text),
			"%s is not signed: there is no %s; whoever made it signs it with "
			"`minisign -Sm %s`",
			way->library, kp_json_text(way->seal, "beside"), way->library);
	else
		(void)snprintf(text, sizeof(text),
			"the signature of %s cannot be read: %s", way->library, why);
	fall_short(way, "unsigned", text);
}

static void take_line(void *context, json_t *line)
{
	struct way *way = context;
	json_t *signer = json_object_get(line, "signed");
	json_t *failed = json_object_get(line, "failed");

	if (json_is_object(signer))
		(void)json_object_set(way->seal, "signed", signer);
	if (json_is_object(failed))
		(void)json_object_set(way->seal, "failed", failed);
	(void)json_array_extend(json_object_get(way->seal, "warnings"),
		json_object_get(line, "warnings"));
}

static void judge(struct way *way, const struct kp_worker_result *result)
{
	const json_t *failed = json_object_get(way->seal, "failed");
	json_t *signer = json_object_get(way->seal, "signed");

	if (failed) {
		const char *code = kp_json_text(failed, "code");
		const char *message = kp_json_text(failed, "message");
		fall_short(way, code ? code : "wrong_signature", message ? message : "");
	} else if (result->end != KP_WORKER_DONE || !signer) {
		fall_short(way, "wrong_signature",
			result->diag.message[0] ? result->diag.message
						: "the worker did not say whose it is");
	} else {
		warn_of_keys(way);
		way->verdict.signature = json_incref(signer);
		way_sealed(way);
	}
}

static void ended(void *context, const struct kp_worker_result *result)
{
	struct way *way = context;

	way->worker = NULL;
	if (way_is_over(way))
		return;
	if (result->end == KP_WORKER_LOST)
		way_ask_again(way, way_seal);
	else
		judge(way, result);
}

void way_seal(struct way *way)
{
	if (!way->seal) {
		way_sealed(way);
		return;
	}
	if (!json_object_get(way->seal, "signature")) {
		unsigned_file(way);
		return;
	}
	way_ask_of_copy(way, 0,
		&(struct pool_request){.job = json_incref(way->seal),
			.on_line = take_line,
			.on_end = ended});
}

/* What may do all that the daemon's user may must be root's, and its way, too. */
bool way_is_foreign(struct way *way)
{
	const struct pipeline_options *settings = pipeline_settings(way->pipeline);
	const struct kp_trust of_root = {0, KP_TRUST_NO_GROUP};
	char why[KP_CONFINEMENT_TEXT];
	struct stat st;
	if (!settings->system || !settings->confinement ||
		kp_confinement_is_whole(settings->confinement))
		return false;
	for (size_t i = 0; i < way->trace->count; i++) {
		const char *path = way->trace->items[i].path;
		if (!way->trace->items[i].stamp.exists || lstat(path, &st) < 0 ||
			(st.st_uid == 0 && kp_trust_path(&of_root, path, NULL) == 0))
			continue;
		kp_diag_set(&way->diag, "not_confined", path,
			"%s belongs to the user %u, or others may change the way to it, "
			"and only what is root's is probed where workers are not "
			"confined: %s",
			path, (unsigned)st.st_uid,
			kp_confinement_text(settings->confinement, why));
		return true;
	}
	return false;
}
