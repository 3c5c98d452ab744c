/* SPDX-License-Identifier: MIT */
/* The cache on disk: lines of JSON, read and written whole. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/store/cache.h"
#include "lib/base/file.h"
#include "lib/base/hash.h"
#include "lib/base/json.h"

enum { END_BYTES = 40 }; /* of the last line */
static const char file_name[] = "probe";
static const char damaged_name[] = "probe.damaged";
static const char format_line[] = "{\"format\":\"kplug-probe/2\"}";

static int open_dir(const char *dir)
{
	return open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/*
 * A line is {"file": path, ...} or {"key": key, "verdict": {...}, ...}; a sum is judged
 * by find_end.
 */
static int take_line(
	struct cache *cache, json_t *value, int64_t now, struct kp_diag *diag)
{
	const int64_t kept = (int64_t)CACHE_DAYS * 24 * 60 * 60;
	const char *file = json_string_value(json_object_get(value, "file"));
	const char *key = json_string_value(json_object_get(value, "key"));
	json_t *at = json_object_get(value, "at");

	if (json_object_get(value, "sum"))
		return 0;
	if ((!file && !key) || !json_is_integer(at))
		return kp_diag_set(diag, "cache_damaged", file_name,
			"a line is neither a file nor a verdict");
	if (json_integer_value(at) < now - kept)
		return 0;
	if (json_object_set(
		    file ? cache->files : cache->verdicts, file ? file : key, value) < 0)
		return kp_diag_no_memory(diag);
	return 0;
}

/* {"NAME":"KEY","at":TIME,...: the line can be kept as it is until it is asked for. */
static bool has_head(
	const char *line, size_t length, const char *name, json_t **key, int64_t *at)
{
	static const char then[] = "\"at\":";
	const size_t flags = JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK;
	size_t first = strlen(name);
	json_error_t read;

	if (length <= first || memcmp(line, name, first) != 0)
		return false;
	*key = json_loadb(line + first, length - first, flags, &read);
	if (!json_is_string(*key) || read.position <= 0)
		return false;
	const char *rest = line + first + (size_t)read.position;
	if ((size_t)(line + length - rest) <= sizeof(then) || rest[0] != ',' ||
		memcmp(rest + 1, then, sizeof(then) - 1) != 0)
		return false;
	char *end;
	*at = strtoll(rest + sizeof(then), &end, 10);
	return *end == ',';
}

/*
 * One of a text whose sum is right was written by this program: it is kept as it lies
 * there, and its values are made when somebody asks for them. False: not in this way.
 */
static bool keep_line(struct cache *cache, const char *line, size_t length, int64_t now)
{
	const int64_t kept = (int64_t)CACHE_DAYS * 24 * 60 * 60;
	json_t *key = NULL;
	int64_t at = 0;
	bool is_file = has_head(line, length, "{\"file\":", &key, &at);
	bool is_kept = false;

	if (!is_file) {
		json_decref(key);
		key = NULL;
	}
	if (is_file || has_head(line, length, "{\"key\":", &key, &at))
		is_kept = at < now - kept ||
			  json_object_set_new_nocheck(
				  is_file ? cache->files : cache->verdicts,
				  json_string_value(key),
				  json_stringn_nocheck(line, length)) == 0;
	json_decref(key);
	return is_kept;
}

static int read_line(struct cache *cache, const char *line, size_t length,
	unsigned number, int64_t now, struct kp_diag *diag)
{
	json_t *value;

	if (kp_json_parse(line, length, file_name, &value, diag) < 0) {
		diag->line = number;
		/* A note may be as deep as is allowed, and here it lies deeper. */
		return strcmp(diag->code, "json_too_deep") == 0 ? 0 : -1;
	}
	int failed = take_line(cache, value, now, diag);
	json_decref(value);
	return failed;
}

/* The last line: a file that was cut or that changed would still be lines of JSON. */
static int print_end(const char *text, size_t size, char *line, size_t room)
{
	char sum[KP_HASH_TEXT];

	return snprintf(line, room, "{\"sum\":\"%s\"}\n", kp_hash_print(text, size, sum));
}

/* Where the last line begins; NULL: it is not that of the text before it. */
static const char *find_end(const char *text, size_t size)
{
	char line[END_BYTES];
	const char *end = text + size;
	const char *last = size > 1 ? memrchr(text, '\n', size - 1) : NULL;

	if (!last)
		return NULL;
	last++;
	int length = print_end(text, (size_t)(last - text), line, sizeof(line));
	return length == end - last && memcmp(line, last, (size_t)length) == 0 ? last
									       : NULL;
}

/* What can be said in particular is said first. */
static int read_lines(struct cache *cache, const char *line, const char *end,
	bool is_whole, int64_t now, struct kp_diag *diag)
{
	for (unsigned number = 2; line < end; number++) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));
		size_t length = (size_t)(newline - line);
		if (!(is_whole && keep_line(cache, line, length, now)) &&
			read_line(cache, line, length, number, now, diag) < 0)
			return -1;
		line = newline + 1;
	}
	return 0;
}

static int read_text(struct cache *cache, const char *text, size_t size, int64_t now,
	struct kp_diag *diag)
{
	const char *end = text + size;
	size_t first = strlen(format_line);

	if (size <= first || memcmp(text, format_line, first) != 0 || text[first] != '\n')
		return kp_diag_set(diag, "cache_damaged", file_name,
			"the first line is not %s", format_line);
	if (end[-1] != '\n')
		return kp_diag_set(
			diag, "cache_damaged", file_name, "the last line has no end");
	const char *last = find_end(text, size);
	if (read_lines(cache, text + first + 1, last ? last : end, last != NULL, now,
		    diag) < 0)
		return -1;
	return last ? 0
		    : kp_diag_set(diag, "cache_damaged", file_name,
			      "it was cut, or changed: its last line is not the sum "
			      "of its text");
}

static int cannot_open(const char *dir, struct kp_diag *diag)
{
	return kp_diag_set(
		diag, "write_failed", dir, "cannot open %s: %s", dir, strerror(errno));
}

static int set_aside(struct cache *cache, int dir, const char *path, struct kp_diag *diag)
{
	struct kp_diag cause = *diag;
	char text[sizeof(cause.message) + sizeof(cause.file)];

	(void)json_object_clear(cache->files);
	(void)json_object_clear(cache->verdicts);
	(void)renameat(dir, file_name, dir, damaged_name);
	kp_diag_set(diag, "cache_damaged", path,
		"%s/%s: %s; kept as %s, plugins are probed again", path, file_name,
		kp_diag_text(&cause, text, sizeof(text)), damaged_name);
	return 1;
}

int cache_read(struct cache *cache, const char *dir, int64_t now, struct kp_diag *diag)
{
	struct kp_diag own = {0};
	char *text;
	size_t size;
	int failed = 0;
	int fd = open_dir(dir);

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0) {
		(void)cannot_open(dir, diag);
		return 1;
	}
	if (kp_file_read(fd, file_name, (size_t)CACHE_MIB << 20, &text, &size, &own) <
		0) {
		failed = strcmp(own.code, "missing_file") != 0;
	} else {
		failed = read_text(cache, text, size, now, &own) < 0;
		free(text);
	}
	if (failed) {
		failed = set_aside(cache, fd, dir, &own);
		*diag = own;
	}
	kp_file_close(&fd);
	return failed;
}

/* What is too long to be read back is left out: that plugin is probed again. */
static bool write_line(FILE *out, const char *name, const char *key, json_t *value)
{
	if (json_is_string(value))
		return json_string_length(value) > KP_JSON_BYTES ||
		       fprintf(out, "%s\n", json_string_value(value)) > 0;
	/* A shallow copy: the value itself may be read elsewhere meanwhile. */
	json_t *line = json_copy(value);
	char *text = NULL;

	if (line && json_object_set_new(line, name, json_string(key)) == 0)
		text = kp_json_dumps(line, JSON_COMPACT);
	json_decref(line);
	if (!text)
		return false;
	bool written = strlen(text) > KP_JSON_BYTES || fprintf(out, "%s\n", text) > 0;
	free(text);
	return written;
}

static bool write_text(FILE *out, const struct cache *cache)
{
	const char *key;
	json_t *value;

	if (fprintf(out, "%s\n", format_line) < 0)
		return false;
	json_object_foreach (cache->files, key, value)
		if (!write_line(out, "file", key, value))
			return false;
	json_object_foreach (cache->verdicts, key, value)
		if (!write_line(out, "key", key, value))
			return false;
	return true;
}

static char *print(const struct cache *cache, size_t *size)
{
	char *text = NULL;
	char line[END_BYTES];
	FILE *out = open_memstream(&text, size);

	if (!out)
		return NULL;
	bool written = write_text(out, cache) && fflush(out) == 0;
	if (written)
		written = print_end(text, *size, line, sizeof(line)) > 0 &&
			  fputs(line, out) >= 0;
	if (fclose(out) == 0 && written)
		return text;
	free(text);
	return NULL;
}

int cache_write(const struct cache *cache, const char *dir, struct kp_diag *diag)
{
	size_t size;

	if (kp_file_make_dirs(dir, 0755, diag) < 0)
		return -1;
	int fd = open_dir(dir);
	if (fd < 0)
		return cannot_open(dir, diag);
	char *text = print(cache, &size);
	int failed = text ? kp_file_replace(fd, file_name, text, size, 0644, false, diag)
			  : kp_diag_no_memory(diag);
	free(text);
	kp_file_close(&fd);
	return failed;
}
