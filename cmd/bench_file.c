/* SPDX-License-Identifier: MIT */
/* Saving and loading of results. */
#include "cmd/bench_file.h"

#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <libgen.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/field.h"
#include "lib/base/json.h"
#include "lib/base/owned.h"
#include "lib/protocol/message.h"

enum { FILE_BYTES = 64 << 20 };

static const char format[] = "kplug-bench/1";

/* ---- saving ------------------------------------------------------------------ */

/* Where a path leads, as directory and name; both malloc'ed. */
struct target {
	char *dir, *name;
};

static void target_finish(struct target *target)
{
	free(target->dir);
	free(target->name);
}

/* Of a link what it leads to: it is the file that is replaced. */
static int target_find(struct target *target, const char *path)
{
	owned_text real = realpath(path, NULL);
	owned_text first = strdup(real ? real : path);
	owned_text second = strdup(real ? real : path);
	if (!first || !second)
		return -1;
	target->dir = strdup(dirname(first));
	target->name = strdup(basename(second));
	return target->dir && target->name ? 0 : -1;
}

/* Before anything is measured: what would fail in the end, or put it elsewhere. */
static const char *misfit(const char *path, const struct target *target)
{
	struct stat st;
	if (path[strlen(path) - 1] == '/')
		return "it is the name of a directory";
	/* kp_file_replace has a longer name for it meanwhile. */
	if (strlen(target->name) + strlen("..new") > NAME_MAX)
		return "its name is too long";
	if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode) && stat(path, &st) < 0)
		return "it is a link to what does not exist";
	return NULL;
}

int bench_file_check_place(const struct output *output, const char *path)
{
	__attribute__((cleanup(target_finish))) struct target target = {NULL, NULL};
	struct stat st;
	if (strcmp(path, "-") == 0)
		return KP_EXIT_OK;
	if (target_find(&target, path) < 0)
		return output_no_memory(output);
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return output_refuse(output, "not_regular_file", path,
			"%s is there and is no regular file: nothing is saved there",
			path);
	const char *why = misfit(path, &target);
	if (why)
		return output_refuse(output, "write_failed", path,
			"%s cannot be written: %s", path, why);
	if (access(target.dir, W_OK | X_OK) == 0)
		return KP_EXIT_OK;
	return output_refuse(output, errno == EACCES ? "not_permitted" : "write_failed",
		path, "%s cannot be written: %s: %s", path, target.dir, strerror(errno));
}

int bench_file_save(const struct output *output, const char *path, const json_t *document)
{
	__attribute__((cleanup(target_finish))) struct target target = {NULL, NULL};
	struct kp_diag diag;
	if (strcmp(path, "-") == 0)
		return KP_EXIT_OK;
	owned_text text =
		kp_json_dumps(document, JSON_INDENT(1) | JSON_REAL_PRECISION(DBL_DIG));
	if (!text || target_find(&target, path) < 0)
		return output_no_memory(output);
	owned_fd dir = open(target.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return output_refuse(output, "write_failed", path,
			"%s cannot be written: %s: %s", path, target.dir,
			strerror(errno));
	bool was_there = faccessat(dir, target.name, F_OK, 0) == 0;
	if (kp_file_replace(dir, target.name, text, strlen(text), 0644, true, &diag) < 0)
		return output_fail_diag(output, &diag);
	output_remark(output, "pluginctl: bench: %s is %s", path,
		was_there ? "replaced" : "saved");
	return KP_EXIT_OK;
}

/* ---- loading ----------------------------------------------------------------- */

static const struct kp_json_key head_keys[] = {
	{"format", KP_JSON_STRING, true},
	{"version", KP_JSON_STRING, true},
	{"when", KP_JSON_INTEGER, true},
	{"families", KP_JSON_OBJECT, true},
	{"platform", KP_JSON_OBJECT, true},
	{"method", KP_JSON_OBJECT, true},
	{"threads", KP_JSON_INTEGER, true},
	{"request", KP_JSON_OBJECT, true},
	{"runs", KP_JSON_ARRAY, true},
};
static const struct kp_json_key machine_keys[] = {{"fingerprint", KP_JSON_STRING, true}};
static const struct kp_json_key request_keys[] = {{"operation", KP_JSON_STRING, true}};
static const struct kp_json_key run_keys[] = {
	{"operation", KP_JSON_STRING, true},
	{"kernel", KP_JSON_STRING, true},
	{"signature", KP_JSON_STRING, true},
	{"shape", KP_JSON_OBJECT, true},
	{"traits", KP_JSON_OBJECT | KP_JSON_NULL, false},
	{"seed", KP_JSON_INTEGER, true},
	{"verdict", KP_JSON_STRING, true},
	{"median_us", KP_JSON_NUMBER | KP_JSON_NULL, true},
	{"p10_us", KP_JSON_NUMBER | KP_JSON_NULL, true},
	{"p90_us", KP_JSON_NUMBER | KP_JSON_NULL, true},
	{"low_us", KP_JSON_NUMBER | KP_JSON_NULL, true},
	{"high_us", KP_JSON_NUMBER | KP_JSON_NULL, true},
};

/* As kp_json_check; members that a later version has are welcome. */
static int check_keys(const json_t *value, const char *path,
	const struct kp_json_key *keys, size_t count, struct kp_diag *diag)
{
	struct kp_diags unknown = {0};
	int failed = kp_json_check(value, path, keys, count, &unknown, diag);
	kp_diags_finish(&unknown);
	return failed;
}

/* All or none; positive, and in order. */
static int check_times(const json_t *run, const char *path, struct kp_diag *diag)
{
	static const char *const keys[] = {"p10_us", "median_us", "p90_us"};
	double last = 0;
	if (json_is_null(json_object_get(run, "median_us")))
		return 0;
	for (size_t i = 0; i < KP_COUNT(keys); i++) {
		double us = json_number_value(json_object_get(run, keys[i]));
		if (!(us > 0) || !isfinite(us) || us < last)
			return kp_diag_set(diag, "bad_result", path,
				"%s.%s: its times are not those of a benchmark", path,
				keys[i]);
		last = us;
	}
	double low = json_number_value(json_object_get(run, "low_us"));
	double high = json_number_value(json_object_get(run, "high_us"));
	double median = json_number_value(json_object_get(run, "median_us"));
	if (low > 0 && low <= median && median <= high && isfinite(high))
		return 0;
	return kp_diag_set(diag, "bad_result", path,
		"%s: low_us and high_us do not enclose its median", path);
}

static int check_runs(const json_t *document, struct kp_diag *diag)
{
	size_t i;
	json_t *run;
	char path[32];
	json_array_foreach (json_object_get(document, "runs"), i, run) {
		(void)snprintf(path, sizeof(path), "runs[%zu]", i);
		if (check_keys(run, path, run_keys, KP_COUNT(run_keys), diag) < 0 ||
			check_times(run, path, diag) < 0)
			return -1;
	}
	if (json_array_size(json_object_get(document, "runs")) > 0)
		return 0;
	return kp_diag_set(diag, "bad_result", "runs", "runs: nothing was measured");
}

static int check(const json_t *document, struct kp_diag *diag)
{
	const char *found = field_text(document, "format", NULL);
	if (!json_is_object(document) || !found)
		return kp_diag_set(diag, "wrong_format", "format",
			"it is no result of `pluginctl bench --save`: its format is not "
			"%s",
			format);
	if (strcmp(found, format) != 0)
		return kp_diag_set(diag, "wrong_format", "format",
			"its format is %.64s, not %s", found, format);
	if (check_keys(document, "", head_keys, KP_COUNT(head_keys), diag) < 0 ||
		check_keys(json_object_get(document, "platform"), "platform",
			machine_keys, KP_COUNT(machine_keys), diag) < 0 ||
		check_keys(json_object_get(document, "request"), "request", request_keys,
			KP_COUNT(request_keys), diag) < 0)
		return -1;
	return check_runs(document, diag);
}

int bench_file_load(const char *path, json_t **document, struct kp_diag *diag)
{
	char *bytes = NULL;
	size_t size = 0;
	owned_json *read = NULL;
	if (kp_file_read(AT_FDCWD, path, FILE_BYTES, &bytes, &size, diag) < 0)
		return -1;
	owned_text text = bytes;
	int failed = kp_answer_parse(text, size, &read, diag);
	if (!failed)
		failed = check(read, diag);
	if (failed) {
		struct kp_diag why = *diag;
		(void)kp_diag_set(diag, why.code, path, "%s", why.message);
		return kp_diag_at(diag, path, why.line, why.column);
	}
	*document = json_incref(read);
	return 0;
}
