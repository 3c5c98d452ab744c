/* SPDX-License-Identifier: MIT */
/* The signature beside a library that nobody has installed, verified in a child. */
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/pipeline/keys.h"
#include "daemon/worker/offline.h"
#include "lib/base/file.h"
#include "lib/base/json.h"
#include "lib/base/owned.h"
#include "lib/base/trust.h"
#include "lib/plugin/finding.h"

enum { SIGNATURE_BYTES = 16 << 10 };

/* What the child says. */
struct answer {
	json_t *signer, *failed, *warnings;
};

static void take_line(void *context, json_t *line)
{
	struct answer *answer = context;
	json_t *signer = json_object_get(line, "signed");
	json_t *failed = json_object_get(line, "failed");

	if (json_is_object(signer) && !answer->signer)
		answer->signer = json_incref(signer);
	if (json_is_object(failed) && !answer->failed)
		answer->failed = json_incref(failed);
	(void)json_array_extend(answer->warnings, json_object_get(line, "warnings"));
}

static void warn(struct kp_verdict *verdict, const json_t *what, const char *file)
{
	const char *code = kp_json_text(what, "code");
	const char *object = kp_json_text(what, "object");
	const char *message = kp_json_text(what, "message");

	if (code && message)
		kp_verdict_warn(verdict, code, object ? object : file, message);
}

static void conclude(const struct answer *answer, const struct kp_worker_result *result,
	const char *file, struct kp_verdict *verdict)
{
	size_t i;
	json_t *item;

	json_array_foreach (answer->warnings, i, item)
		warn(verdict, item, file);
	if (answer->failed)
		warn(verdict, answer->failed, file);
	else if (result->end == KP_WORKER_DONE && answer->signer)
		verdict->signature = json_incref(answer->signer);
	else
		kp_verdict_warn(verdict, "wrong_signature", file,
			"the worker did not say whose the signature is");
}

/* As the daemon asks of it (daemon/pipeline/way_seal.c). -1: no memory. */
static int ask(int fd, const char *file, const char *beside, const char *text,
	const char *keys, struct kp_verdict *verdict)
{
	struct kp_trust trust;
	kp_trust_ask(&trust, false);
	owned_json *job = json_pack("{s:s, s:s, s:s, s:o, s:s, s:[]}", "kind",
		job_signature.name, "file", file, "beside", beside, "signature",
		kp_json_clean_string(text), "trusted", keys, "keys");
	struct answer answer = {.warnings = json_array()};
	int failed = !job || !answer.warnings ||
		     keys_read(keys, &trust, json_object_get(job, "keys"),
			     answer.warnings, NULL) < 0;
	struct kp_worker_result result;

	if (!failed)
		failed = offline_supervise(&(struct offline_job){&job_signature, job, fd},
			take_line, &answer, &result);
	if (!failed)
		conclude(&answer, &result, file, verdict);
	json_decref(answer.signer);
	json_decref(answer.failed);
	json_decref(answer.warnings);
	return failed ? -1 : 0;
}

static void tell_unread(
	const char *file, const struct kp_diag *diag, struct kp_verdict *verdict)
{
	char text[1024];

	if (strcmp(diag->code, "missing_file") == 0)
		(void)snprintf(text, sizeof(text),
			"there is no %s.minisig; whoever made it signs it with "
			"`minisign -Sm %s`",
			file, file);
	else
		(void)snprintf(text, sizeof(text), "its signature cannot be read: %s",
			diag->message);
	kp_verdict_warn(verdict,
		strcmp(diag->code, "missing_file") == 0 ? "unsigned" : "wrong_signature",
		file, text);
}

int offline_signature(int fd, const char *file, const char *keys, bool must_be,
	struct kp_verdict *verdict)
{
	owned_text beside = NULL;
	owned_text text = NULL;
	struct kp_diag diag;
	size_t size;

	if (asprintf(&beside, "%s.minisig", file) < 0) {
		beside = NULL;
		return -1;
	}
	if (kp_file_read(AT_FDCWD, beside, SIGNATURE_BYTES, &text, &size, &diag) == 0)
		return ask(fd, file, beside, text, keys, verdict);
	if (must_be || strcmp(diag.code, "missing_file") != 0)
		tell_unread(file, &diag, verdict);
	return 0;
}
