/* SPDX-License-Identifier: MIT */
/* Reading public keys with care; nothing here knows what a key is. */
#include "daemon/pipeline/keys.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/file.h"
#include "lib/base/json.h"
#include "lib/base/owned.h"
#include "lib/base/text.h"
#include "lib/base/trust.h"

enum { KEY_BYTES = 4 << 10 };

/* What is being read, and where it goes. */
struct reading {
	const char *dir;
	const struct kp_trust *trust;
	json_t *keys, *warnings;
	struct trace *trace;
};

static int trace(const struct reading *reading, const char *path)
{
	struct stamp stamp;

	if (!reading->trace)
		return 0;
	stamp_take(path, &stamp);
	return trace_add(reading->trace, path, &stamp);
}

static int note(const struct reading *reading, const char *code, const char *object,
	const char *text)
{
	return json_array_append_new(
		reading->warnings, json_pack("{s:s, s:o, s:o}", "code", code, "object",
					   kp_json_clean_string(object), "message",
					   kp_json_clean_string(text)));
}

static int read_text(const struct reading *reading, const char *path, char **text,
	struct kp_diag *diag)
{
	size_t size;
	owned_fd fd = kp_trust_open(reading->trust, path, NULL, diag);

	return fd < 0 ? -1 : kp_file_read_open(fd, path, KEY_BYTES, text, &size, diag);
}

static int refuse(
	const struct reading *reading, const char *path, const struct kp_diag *diag)
{
	char said[sizeof(diag->message) + 64];

	(void)snprintf(said, sizeof(said), "the key is not used: %s", diag->message);
	return note(reading,
		kp_trust_is_code(diag->code) ? "key_not_trusted" : "bad_key_file", path,
		said);
}

static int read_key(const struct reading *reading, const char *name)
{
	owned_text path = NULL;
	owned_text text = NULL;
	struct kp_diag diag;

	if (asprintf(&path, "%s/%s", reading->dir, name) < 0) {
		path = NULL;
		return -1;
	}
	if (trace(reading, path) < 0)
		return -1;
	if (read_text(reading, path, &text, &diag) < 0)
		return refuse(reading, path, &diag);
	return json_array_append_new(
		reading->keys, json_pack("{s:o, s:o}", "file", kp_json_clean_string(path),
				       "text", kp_json_clean_string(text)));
}

static int tell_too_many(const struct reading *reading, const char *first, int count)
{
	char said[512];

	(void)snprintf(said, sizeof(said),
		"%d files of keys are in %s, and %d are the most: %.200s and those "
		"behind it are not used",
		count, reading->dir, KEYS_MOST, first);
	return note(reading, "too_many_keys", reading->dir, said);
}

static int is_key(const struct dirent *item)
{
	return item->d_name[0] != '.' && strlen(item->d_name) > 4 &&
	       kp_text_ends_with(item->d_name, ".pub");
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* One that is not there is empty. */
static int tell_unread(const struct reading *reading)
{
	char said[512];

	if (errno == ENOENT)
		return 0;
	if (errno == ENOMEM)
		return -1;
	(void)snprintf(said, sizeof(said), "no key is used: cannot read %s: %s",
		reading->dir, strerror(errno));
	return note(reading, "bad_key_file", reading->dir, said);
}

int keys_read(const char *dir, const struct kp_trust *trust, json_t *keys,
	json_t *warnings, struct trace *trace_of)
{
	const struct reading reading = {dir, trust, keys, warnings, trace_of};
	struct dirent **items = NULL;

	/* Before it is read: what changes meanwhile has another stamp. */
	if (trace(&reading, dir) < 0)
		return -1;
	int count = scandir(dir, &items, is_key, by_bytes);
	int failed = count < 0 ? tell_unread(&reading) : 0;
	for (int i = 0; i < count; i++) {
		if (!failed && i < KEYS_MOST)
			failed = read_key(&reading, items[i]->d_name);
		else if (!failed && i == KEYS_MOST)
			failed = tell_too_many(&reading, items[i]->d_name, count);
		free(items[i]);
	}
	free(items);
	return failed ? -1 : 0;
}

/* ---- all of it, as a digest ------------------------------------------------------- */

static bool is_required(const struct kp_signing *signing)
{
	for (size_t i = 0; signing && i < signing->count; i++)
		if (signing->rules[i].policy == KP_SIGNING_REQUIRE)
			return true;
	return false;
}

static int print(const struct kp_signing *signing, const json_t *keys, FILE *out)
{
	kp_signing_print(signing, out);
	return json_dumpf(keys, out, JSON_COMPACT | JSON_SORT_KEYS);
}

static int digest(
	const struct kp_signing *signing, const json_t *keys, char text[DIGEST_TEXT])
{
	owned_text bytes = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&bytes, &size);

	if (!out)
		return -1;
	int failed = print(signing, keys, out);
	if (fclose(out) != 0 || failed)
		return -1;
	digest_bytes(bytes, size, text);
	return 0;
}

/* Of the link where one leads there, and of what it leads to. */
static void take_newest(const char *path, struct timespec *newest)
{
	struct stat st;

	for (int i = 0; i < 2; i++) {
		const struct timespec *then = &st.st_ctim;
		if ((i ? stat(path, &st) : lstat(path, &st)) == 0 &&
			(then->tv_sec > newest->tv_sec ||
				(then->tv_sec == newest->tv_sec &&
					then->tv_nsec > newest->tv_nsec)))
			*newest = *then;
	}
}

int keys_stamp(const struct kp_signing *signing, const struct kp_trust *trust,
	struct keys_stamp *stamp)
{
	owned_json *keys = json_array();
	owned_json *warnings = json_array();
	size_t i;
	json_t *key;

	*stamp = (struct keys_stamp){0};
	if (!is_required(signing))
		return 0;
	if (!keys || !warnings ||
		keys_read(signing->trusted, trust, keys, warnings, NULL) < 0)
		return -1;
	take_newest(signing->trusted, &stamp->newest);
	json_array_foreach (keys, i, key)
		take_newest(kp_json_text(key, "file"), &stamp->newest);
	return digest(signing, keys, stamp->digest);
}
