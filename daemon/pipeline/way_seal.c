/* SPDX-License-Identifier: MIT */
/*
 * Whom a way trusts: who has signed the library (its copy, the signature beside the file
 * and the trusted keys go to a worker, before anything else looks at it), and whose its
 * files are where workers are not confined.
 */
#include "daemon/pipeline/way.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/pipeline/keys.h"
#include "daemon/store/seal.h"
#include "lib/base/file.h"
#include "lib/base/json.h"
#include "lib/base/owned.h"
#include "lib/base/trust.h"

enum { SIGNATURE_BYTES = 16 << 10 };

enum kp_signing_policy way_policy(const struct way *way)
{
	return kp_signing_of(
		pipeline_settings(way->pipeline)->signing, way->manifest.path);
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

/* Of an earlier generation it is what was kept with it. */
static char *path_of(const struct way *way)
{
	char *path;

	if (way->manifest.stored)
		return seal_path(pipeline_settings(way->pipeline)->store_dir,
			way->manifest.stored->closure);
	return asprintf(&path, "%s.minisig", way->library) < 0 ? NULL : path;
}

/* Nobody else need lay it there, nor be able to hold up who opens it. */
static int read_text(const struct way *way, const char *path, char **text, size_t *size,
	struct kp_diag *diag)
{
	const struct pipeline_options *settings = pipeline_settings(way->pipeline);
	owned_fd fd = settings->any_files
			      ? kp_file_open(AT_FDCWD, path, NULL, diag)
			      : kp_trust_open(settings->trust, path, NULL, diag);

	return fd < 0 ? -1
		      : kp_file_read_open(fd, path, SIGNATURE_BYTES, text, size, diag);
}

/* What there is to ask a worker; a signature that is not there is null. */
int way_read_seal(struct way *way)
{
	owned_text beside = path_of(way);
	owned_text text = NULL;
	size_t size;
	struct kp_diag diag;

	json_decref(way->seal);
	way->seal = NULL;
	if (way_policy(way) == KP_SIGNING_OFF)
		return 0;
	if (!beside)
		return -1;
	way->seal = json_pack("{s:s, s:s, s:s, s:s, s:[], s:[]}", "kind", "signature",
		"file", way->library, "beside", beside, "trusted", trusted_dir(way),
		"keys", "warnings");
	if (!way->seal || trace(way, beside) < 0)
		return -1;
	if (read_text(way, beside, &text, &size, &diag) == 0) {
		if (keys_read(trusted_dir(way), pipeline_settings(way->pipeline)->trust,
			    json_object_get(way->seal, "keys"),
			    json_object_get(way->seal, "warnings"), way->trace) < 0)
			return -1;
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
	if (way_policy(way) == KP_SIGNING_REQUIRE) {
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

/* By a call, which brings no signature. */
static bool is_loaded(const struct way *way)
{
	const char *dir = pipeline_settings(way->pipeline)->loaded_dir;

	return dir && strncmp(way->manifest.path, dir, strlen(dir)) == 0 &&
	       way->manifest.path[strlen(dir)] == '/';
}

static void unsigned_file(struct way *way)
{
	const json_t *unread = json_object_get(way->seal, "unread");
	const char *why = kp_json_text(unread, "message");
	char text[1024];

	if (way->manifest.stored)
		(void)snprintf(text, sizeof(text),
			"no signature was kept with what %s was rolled back to (it came "
			"when none was asked for, or %s): roll back to another "
			"generation, or release it with `pluginctl rollback %s "
			"--release`",
			way->manifest.name, why, way->manifest.name);
	else if (is_loaded(way))
		(void)snprintf(text, sizeof(text),
			"%s was loaded without a signature: install it with `pluginctl "
			"install FILE.so`, which takes FILE.so.minisig along",
			way->manifest.name);
	else if (strcmp(kp_json_text(unread, "code"), "missing_file") == 0)
		(void)snprintf(text, sizeof(text),
			"%s is not signed: there is no %s; whoever made it signs it with "
			"`minisign -Sm %s`",
			way->library, kp_json_text(way->seal, "beside"), way->library);
	else
		(void)snprintf(text, sizeof(text),
			"the signature of %s cannot be read: %s", way->library, why);
	fall_short(way, "unsigned", text);
}

void way_keep_seal(const struct way *way)
{
	const char *text = kp_json_text(way->seal, "signature");

	if (text && way->verdict.signature && !way->manifest.stored)
		seal_keep(pipeline_store(way->pipeline), way->closure, text);
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
	const struct kp_trust of_root = {.owner = 0, .group = KP_TRUST_NO_GROUP};
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
