/* SPDX-License-Identifier: MIT */
/*
 * The job `signature`: who has signed the bytes of a library, of those whose keys are
 * trusted? They are the daemon's copy; nothing of them runs.
 */
#include <jansson.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "daemon/worker/minisign.h"
#include "daemon/worker/report.h"
#include "lib/base/json.h"

/* Of the trusted keys that which has the signature's id; NULL: none. */
static const json_t *find_key(const struct report *report, const json_t *keys,
	const unsigned char *id, struct minisign_key *key)
{
	const json_t *found = NULL;
	const json_t *item;
	struct kp_diag diag;
	size_t i;

	json_array_foreach ((json_t *)(uintptr_t)keys, i, item) {
		struct minisign_key read;
		if (minisign_key_parse(kp_json_text(item, "text"),
			    kp_json_text(item, "file"), &read, &diag) < 0) {
			report_line(
				report, json_pack("{s:[{s:s, s:s, s:s}]}", "warnings",
						"code", diag.code, "object", diag.object,
						"message", diag.message));
			continue;
		}
		if (!found && memcmp(read.id, id, MINISIGN_ID) == 0) {
			*key = read;
			found = item;
		}
	}
	return found;
}

static int verify_bytes(const struct minisign *signature, const struct minisign_key *key,
	int fd, const char *file, struct kp_diag *diag)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || st.st_size <= 0)
		return kp_diag_set(diag, "wrong_signature", file,
			"%s is empty: nobody signs that", file);
	size_t size = (size_t)st.st_size;
	void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return kp_diag_no_memory(diag);
	int result = minisign_verify(signature, key, bytes, size, file, diag);
	(void)munmap(bytes, size);
	return result;
}

static int unknown_signer(const struct minisign *signature, const json_t *job,
	const char *file, struct kp_diag *diag)
{
	char id[MINISIGN_ID_TEXT];

	minisign_id_print(signature->id, id);
	return kp_diag_set(diag, "unknown_signer", file,
		"%s is signed by the key %s, which is none of the %zu that are trusted "
		"in %s: put its public key there if you trust who has it",
		file, id, json_array_size(json_object_get(job, "keys")),
		kp_json_text(job, "trusted"));
}

static int check(const struct report *report, const json_t *job, int fd, const char *file,
	struct kp_diag *diag)
{
	struct minisign signature;
	struct minisign_key key;
	char id[MINISIGN_ID_TEXT];

	if (minisign_parse(kp_json_text(job, "signature"), kp_json_text(job, "beside"),
		    &signature, diag) < 0)
		return -1;
	const json_t *found =
		find_key(report, json_object_get(job, "keys"), signature.id, &key);
	if (!found)
		return unknown_signer(&signature, job, file, diag);
	if (verify_bytes(&signature, &key, fd, file, diag) < 0)
		return -1;
	minisign_id_print(key.id, id);
	report_line(report, json_pack("{s:{s:s, s:s, s:o}}", "signed", "key", id, "file",
				    kp_json_text(found, "file"), "comment",
				    kp_json_clean_string(signature.comment)));
	return 0;
}

static bool is_whole(const json_t *job)
{
	return kp_json_text(job, "file") && kp_json_text(job, "beside") &&
	       kp_json_text(job, "signature") && kp_json_text(job, "trusted");
}

static int run(
	const struct report *report, const json_t *job, const int *fds, size_t n_fds)
{
	struct kp_diag diag;

	report_stage(report, "signature");
	if (!is_whole(job) || n_fds < 1 || sodium_init() < 0) {
		kp_diag_set(&diag, "bad_job", NULL, "the job names no signature");
		report_failed(report, "failed", &diag);
	} else if (check(report, job, fds[0], kp_json_text(job, "file"), &diag) < 0) {
		report_failed(report, "rejected", &diag);
	}
	report_end(report);
	return EXIT_SUCCESS;
}

const struct job_kind job_signature = {.name = "signature", .run = run};
