/* SPDX-License-Identifier: MIT */
/*
 * A way's work on files, in threads of the pool: the loop thread leaves the way
 * alone meanwhile.
 */
#include "daemon/pipeline/way.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/store/origin.h"
#include "lib/base/trust.h"

static const char loader_cache[] = "/etc/ld.so.cache";

static struct way *way_of(struct lane_job *job)
{
	return (struct way *)((char *)job - offsetof(struct way, job));
}

static bool digest_is_wanted(const struct way *way, const char *digest)
{
	return !way->manifest.sha256[0] || strcmp(way->manifest.sha256, digest) == 0;
}

static const struct kp_trust *trust_of(const struct way *way)
{
	const struct pipeline_options *settings = pipeline_settings(way->pipeline);

	return settings->any_files ? NULL : settings->trust;
}

/* Files are as they were; whose they are is asked again, as a restart may ask for more.
 */
static bool is_trusted_still(const struct way *way, const struct trace *trace)
{
	struct kp_trust_look look = {.trust = trust_of(way)};
	bool trusted = true;

	for (size_t i = 0; trusted && i < trace->count; i++)
		trusted = !trace->items[i].stamp.exists ||
			  kp_trust_look(&look, trace->items[i].path);
	kp_trust_look_finish(&look);
	return trusted;
}

/* As it is now: who looks for changes sees when it is not so any more. */
static void note_trust(struct way *way)
{
	if (way->trace)
		way->trace->distrusted = !is_trusted_still(way, way->trace);
}

void way_look(struct lane_job *job)
{
	struct way *way = way_of(job);
	const struct cache_file *file = &way->file;
	struct store *store = pipeline_store(way->pipeline);

	way->hit = digest_is_wanted(way, file->digest) && file->trace->proof &&
		   trace_holds(file->trace) && is_trusted_still(way, file->trace) &&
		   (!file->closure[0] ||
			   store_keeps(store, file->closure, &way->damaged, &way->kept));
}

static int out_of_memory(struct way *way)
{
	way->result = DRAFT_WRONG;
	return kp_diag_no_memory(&way->diag);
}

/* Each is looked at, and compared with the others. */
static int check_trace(struct way *way)
{
	if (way->trace->count < TRACE_MOST)
		return 0;
	way->result = DRAFT_WRONG;
	return kp_diag_set(&way->diag, "too_many_search_paths", way->library,
		"what it needs is looked for in more than %d places", TRACE_MOST);
}

static int trace_path(struct way *way, const char *path)
{
	struct stamp stamp;

	if (check_trace(way) < 0)
		return -1;
	stamp_take(path, &stamp);
	return trace_add(way->trace, path, &stamp) < 0 ? out_of_memory(way) : 0;
}

/* What was found wrong may be a directory on the way: when it is mended, we look again.
 */
static void trace_wrong(struct way *way, const char *path)
{
	(void)trace_path(way, path);
	if (way->diag.object[0] == '/')
		(void)trace_path(way, way->diag.object);
}

/* Adds a file to the draft and to the trace, also one that is wrong. */
static int add(struct way *way, const char *path)
{
	way->result = draft_add(way->draft, path, &way->wait_ms, &way->diag);
	if (way->result != DRAFT_ADDED) {
		if (way->result == DRAFT_WRONG)
			trace_wrong(way, path);
		return -1;
	}
	const struct draft_file *file =
		draft_file(way->draft, draft_count(way->draft) - 1);
	return trace_add(way->trace, path, &file->stamp) < 0 ? out_of_memory(way) : 0;
}

/* An earlier generation has nothing but its entry. */
static int lost(struct way *way, const char *why)
{
	(void)trace_path(way, way->library);
	way->result = DRAFT_WRONG;
	way->damaged = false;
	return kp_diag_set(&way->diag, "generation_lost", way->library,
		"what it was rolled back to is not in the store any more (%s): roll back "
		"to another generation, or release it with `pluginctl rollback %s "
		"--release`",
		why, way->manifest.name);
}

static int check_stored(struct way *way)
{
	const struct kp_manifest_stored *stored = way->manifest.stored;
	bool damaged = false;

	if (!stored ||
		store_has(pipeline_store(way->pipeline), stored->closure, &damaged))
		return 0;
	return lost(way, damaged ? "it was damaged, and has been set aside"
				 : "somebody has removed it");
}

static int start_draft(struct way *way)
{
	draft_free(way->draft);
	trace_unref(way->trace);
	way->trace = trace_new();
	way->draft =
		way->trace ? draft_new(pipeline_store(way->pipeline), &way->diag) : NULL;
	if (!way->trace)
		return out_of_memory(way);
	if (!way->draft) {
		way->result = DRAFT_WRONG;
		(void)trace_path(way, way->library);
		return -1;
	}
	if (way->fresh)
		draft_doubt(way->draft);
	return check_stored(way) < 0 ? -1 : add(way, way->library);
}

/* Are the other files of the entry there, and what they were? */
static bool parts_are_same(struct way *way)
{
	size_t i;
	json_t *item;

	json_array_foreach (way->file.parts, i, item) {
		const char *path, *digest;
		if (json_unpack(item, "[s, s]", &path, &digest) < 0 || add(way, path) < 0)
			return false;
		if (strcmp(draft_file(way->draft, i + 1)->digest, digest) != 0)
			return false;
	}
	return true;
}

/*
 * Bytes that are known need no identify: their files have new stamps only, as
 * long as nothing has come or gone in the places that were searched.
 */
static bool is_same(struct way *way)
{
	return way->known && way->file.closure[0] &&
	       strcmp(draft_file(way->draft, 0)->digest, way->file.digest) == 0 &&
	       trace_names_hold(way->file.trace) && parts_are_same(way);
}

static int trace_places(struct way *way, const struct trace *from)
{
	for (size_t i = 0; i < from->count; i++)
		if (trace_path(way, from->items[i].path) < 0)
			return -1;
	return 0;
}

static void copy(struct way *way)
{
	way->same = false;
	if (start_draft(way) < 0)
		return;
	if (is_same(way)) {
		way->same = trace_places(way, way->file.trace) == 0;
		return;
	}
	/* Parts that it had before may be in it, or one of them may be young. */
	if (way->result != DRAFT_ADDED || draft_count(way->draft) > 1)
		(void)start_draft(way);
}

void way_copy(struct lane_job *job)
{
	struct way *way = way_of(job);

	copy(way);
	if (way->result == DRAFT_ADDED && way_read_seal(way) < 0)
		(void)out_of_memory(way);
	note_trust(way);
}

/* ---- what is reached by $ORIGIN ---------------------------------------------- */

static int found(void *context, const char *path, bool exists)
{
	struct way *way = context;

	if (!exists)
		return trace_path(way, path);
	return draft_has(way->draft, path) ? 0 : add(way, path);
}

static int search_names(struct way *way, const struct origin *origin, const json_t *names)
{
	size_t i;
	json_t *item;

	json_array_foreach (names, i, item) {
		const char *name = json_string_value(item);
		if (name && origin_search(origin, name, found, way) != 0)
			return -1;
	}
	return 0;
}

/* What kernels open by themselves is looked for as if it were needed. */
static int search_opened(struct way *way, const struct origin *origin)
{
	const json_t *kernels = json_object_get(way->verdict.note, "kernels");
	size_t i;
	json_t *kernel;

	json_array_foreach (kernels, i, kernel)
		if (search_names(way, origin, json_object_get(kernel, "needs")) < 0)
			return -1;
	return 0;
}

static int search_file(struct way *way, size_t i)
{
	const json_t *elf = way->elfs[i];
	struct origin origin = {
		.path = draft_file(way->draft, i)->from,
		.runpath = json_object_get(elf, "runpath"),
		.rpath = json_object_get(elf, "rpath"),
	};

	if (i > 0 && json_array_size(json_object_get(way->elfs[0], "runpath")) == 0) {
		origin.inherited = json_object_get(way->elfs[0], "rpath");
		origin.inherited_path = way->library;
	}
	if (search_names(way, &origin, json_object_get(elf, "needed")) < 0)
		return -1;
	return i == 0 ? search_opened(way, &origin) : 0;
}

void way_search(struct lane_job *job)
{
	struct way *way = way_of(job);

	way->result = DRAFT_ADDED;
	for (; way->searched < way->identified; way->searched++) {
		if (search_file(way, way->searched) == 0)
			continue;
		if (way->result == DRAFT_ADDED)
			(void)out_of_memory(way);
		return;
	}
}

/* ---- what it all depends on -------------------------------------------------- */

/* One place where a dependency was not: it may come there. */
static int trace_place(struct way *way, const char *place, const char *name)
{
	char *path;

	if (strcmp(place, loader_cache) == 0)
		return trace_path(way, place);
	if (asprintf(&path, "%s/%s", place, name) < 0)
		return out_of_memory(way);
	int failed = trace_path(way, path);
	free(path);
	return failed;
}

static int trace_missing(struct way *way, const json_t *need, const char *name)
{
	size_t i;
	json_t *place;

	json_array_foreach (json_object_get(need, "searched"), i, place)
		if (json_is_string(place) &&
			trace_place(way, json_string_value(place), name) < 0)
			return -1;
	return 0;
}

/* What is loaded with it is loaded by everybody, too. */
static int check_need(struct way *way, const char *path)
{
	const struct kp_trust *trust = trust_of(way);

	if (!trust || kp_trust_path(trust, path, &way->diag) == 0 ||
		!kp_trust_is_code(way->diag.code))
		return 0;
	trace_wrong(way, path);
	return -1;
}

/* A line of what the verdict depends on; files of the entry are in its closure. */
static int print_need(struct way *way, const json_t *need, FILE *out)
{
	const char *name = json_string_value(json_object_get(need, "name"));
	const char *path = json_string_value(json_object_get(need, "path"));
	struct stamp stamp;

	if (!name)
		return 0;
	if (!path) {
		fprintf(out, "%s is missing\n", name);
		return trace_missing(way, need, name);
	}
	if (draft_has(way->draft, path))
		return 0;
	if (check_need(way, path) < 0)
		return -1;
	stamp_take(path, &stamp);
	fprintf(out, "%s %s %lld %lld\n", name, path, (long long)stamp.size,
		(long long)stamp.mtime);
	return trace_add(way->trace, path, &stamp) < 0 ? out_of_memory(way) : 0;
}

static int print_deps(struct way *way)
{
	const json_t *needs = way->same ? way->file.needs : way->finding.needs;
	char *text = NULL;
	size_t size = 0, i;
	json_t *need;
	int failed = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return out_of_memory(way);
	json_array_foreach (needs, i, need)
		if (!failed)
			failed = print_need(way, need, out);
	if (way->seal && json_dumpf(way->seal, out, JSON_COMPACT | JSON_SORT_KEYS) < 0 &&
		!failed)
		failed = out_of_memory(way);
	if (fclose(out) != 0 && !failed)
		failed = out_of_memory(way);
	if (!failed)
		digest_bytes(text, size, way->deps);
	free(text);
	return failed;
}

static int list_parts(struct way *way)
{
	json_decref(way->parts);
	way->parts = json_array();
	for (size_t i = 1; i < draft_count(way->draft); i++) {
		const struct draft_file *file = draft_file(way->draft, i);
		if (json_array_append_new(way->parts,
			    json_pack("[s, s]", file->from, file->digest)) < 0)
			return -1;
	}
	return way->parts ? 0 : -1;
}

static void note_library(struct way *way)
{
	const struct draft_file *library = draft_file(way->draft, 0);

	memcpy(way->verdict.digest, library->digest, DIGEST_TEXT);
	way->verdict.bytes = (int64_t)library->size;
}

/* Paths that are no UTF-8 cannot be kept; the plugin works, and starts cold. */
void way_keep(struct lane_job *job)
{
	struct way *way = way_of(job);

	note_library(way);
	free(way->entry);
	way->entry = NULL;
	way->result = DRAFT_WRONG;
	if (print_deps(way) < 0 || draft_keep(way->draft, way->closure, &way->entry,
					   &way->damaged, &way->diag) < 0)
		return;
	if (way->manifest.stored &&
		strcmp(way->closure, way->manifest.stored->closure) != 0) {
		(void)lost(way, "what is there reaches other files than it did");
		return;
	}
	note_trust(way);
	way_keep_seal(way);
	way->foreign = way_is_foreign(way);
	trace_unref(way->kept);
	way->kept = draft_kept(way->draft);
	if (list_parts(way) < 0) {
		json_decref(way->parts);
		way->parts = NULL;
	}
	draft_free(way->draft);
	way->draft = NULL;
	way->result = DRAFT_ADDED;
}

/* The mark of this boot says nothing of what the disk has done to it since. */
void way_check(struct lane_job *job)
{
	struct way *way = way_of(job);
	struct store *store = pipeline_store(way->pipeline);

	store_doubt(store, way->closure);
	(void)store_keeps(store, way->closure, &way->damaged, &way->kept);
}

void way_discard(struct lane_job *job)
{
	struct way *way = way_of(job);

	draft_free(way->draft);
	way->draft = NULL;
}
