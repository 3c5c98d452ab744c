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

#include "daemon/pipeline/keys.h"
#include "daemon/worker/minisign.h"
#include "daemon/worker/report.h"
#include "lib/base/json.h"

/* Of a directory of keys, those that are some. */
struct keys {
	size_t count;
	struct minisign_key items[KEYS_MOST];
	const char *files[KEYS_MOST];
};

static void warn(const struct report *report, const struct kp_diag *diag)
{
	report_line(
		report, json_pack("{s:[{s:s, s:s, s:s}]}", "warnings", "code", diag->code,
				"object", diag->object, "message", diag->message));
}

/* Another one of the same id: by a copy, or because somebody had it made so. */
static void compare(const struct report *report, const struct keys *keys,
	const struct minisign_key *key, const char *file)
{
	char id[MINISIGN_ID_TEXT];
	struct kp_diag diag;

	minisign_id_print(key->id, id);
	for (size_t i = 0; i < keys->count; i++) {
		if (memcmp(keys->items[i].id, key->id, MINISIGN_ID) != 0)
			continue;
		if (memcmp(keys->items[i].bytes, key->bytes, MINISIGN_KEY) == 0)
			kp_diag_set(&diag, "duplicate_key", file,
				"%s is the same key as %s: whoever takes it away must "
				"remove both",
				file, keys->files[i]);
		else
			kp_diag_set(&diag, "key_id_collision", file,
				"%s has the id %s of %s and is another key: one of them "
				"was made to look like the other; signatures of either "
				"count until one is removed",
				file, id, keys->files[i]);
		warn(report, &diag);
		return;
	}
}

static void read_keys(const struct report *report, const json_t *list, struct keys *keys)
{
	const json_t *item;
	struct kp_diag diag;
	size_t i;

	json_array_foreach ((json_t *)(uintptr_t)list, i, item) {
		const char *file = kp_json_text(item, "file");
		const char *text = kp_json_text(item, "text");
		struct minisign_key key;
		if (!file || !text || keys->count == KEYS_MOST)
			continue;
		if (minisign_key_parse(text, file, &key, &diag) < 0) {
			warn(report, &diag);
			continue;
		}
		compare(report, keys, &key, file);
		keys->files[keys->count] = file;
		keys->items[keys->count++] = key;
	}
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

/* Of several keys of one id that which it is; else *diag is about the last of them. */
static int find_signer(const struct keys *keys, const struct minisign *signature, int fd,
	const char *file, size_t *found, struct kp_diag *diag)
{
	for (size_t i = 0; i < keys->count; i++) {
		if (memcmp(keys->items[i].id, signature->id, MINISIGN_ID) != 0)
			continue;
		*found = i;
		if (verify_bytes(signature, &keys->items[i], fd, file, diag) == 0)
			return 0;
	}
	return -1;
}

static int check(const struct report *report, const json_t *job, int fd, const char *file,
	struct kp_diag *diag)
{
	struct minisign signature;
	struct keys keys = {0};
	size_t found = KEYS_MOST;
	char id[MINISIGN_ID_TEXT];

	if (minisign_parse(kp_json_text(job, "signature"), kp_json_text(job, "beside"),
		    &signature, diag) < 0)
		return -1;
	read_keys(report, json_object_get(job, "keys"), &keys);
	if (find_signer(&keys, &signature, fd, file, &found, diag) < 0)
		return found < KEYS_MOST ? -1
					 : unknown_signer(&signature, job, file, diag);
	minisign_id_print(keys.items[found].id, id);
	report_line(report, json_pack("{s:{s:s, s:s, s:o}}", "signed", "key", id, "file",
				    keys.files[found], "comment",
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
