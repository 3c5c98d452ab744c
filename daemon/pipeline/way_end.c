/* SPDX-License-Identifier: MIT */
/* Ends of a way: what is kept of it, what went wrong, and how its memory goes. */
#include "daemon/pipeline/way.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/trust.h"

static struct way *way_of(struct lane_job *job)
{
	return (struct way *)((char *)job - offsetof(struct way, job));
}

static int64_t now_s(void)
{
	return (int64_t)time(NULL);
}

/* ---- begin and end of the memory ---------------------------------------------- */

struct way *way_new(
	struct pipeline *pipeline, const struct kp_manifest *manifest, bool fresh)
{
	const struct pipeline_options *settings = pipeline_settings(pipeline);
	struct way *way = calloc(1, sizeof(*way));

	if (!way)
		return NULL;
	way->pipeline = pipeline;
	way->fresh = fresh;
	if (kp_manifest_copy(manifest, &way->manifest) < 0 ||
		kp_manifest_library(
			&way->manifest, settings->plugin_dir, &way->library, NULL) < 0 ||
		uv_timer_init(pipeline_loop(pipeline), &way->settle) < 0) {
		way_free(way);
		return NULL;
	}
	/* What is kept of an earlier generation is that, whatever the manifest asks for.
	 */
	if (way->manifest.stored)
		memcpy(way->manifest.sha256, way->manifest.stored->digest,
			sizeof(way->manifest.sha256));
	way->settle.data = way;
	return way;
}

void way_free(struct way *way)
{
	if (!way)
		return;
	kp_manifest_finish(&way->manifest);
	free(way->library);
	trace_unref(way->file.trace);
	trace_unref(way->trace);
	trace_unref(way->kept);
	json_decref(way->known);
	json_decref(way->remembered);
	json_decref(way->parts);
	json_decref(way->seal);
	for (size_t i = 0; i < STORE_FILES; i++)
		json_decref(way->elfs[i]);
	draft_free(way->draft);
	free(way->entry);
	kp_finding_finish(&way->finding);
	kp_finding_finish(&way->beside);
	kp_verdict_finish(&way->verdict);
	kp_verdict_finish(&way->part);
	free(way);
}

/* ---- ends -------------------------------------------------------------------- */

static void gone(uv_handle_t *handle)
{
	struct way *way = handle->data;

	pipeline_gone(way->pipeline, way);
}

static void discarded(struct lane_job *job)
{
	uv_close((uv_handle_t *)&way_of(job)->settle, gone);
}

/* Removing files of a draft is work for the pool, too. */
static void leave(struct way *way)
{
	way_return_permit(way);
	if (way->draft)
		lane_add(pipeline_lane(way->pipeline), &way->job, way_discard, discarded);
	else
		uv_close((uv_handle_t *)&way->settle, gone);
}

void way_finish(struct way *way)
{
	if (way->damaged)
		kp_verdict_warn(&way->verdict, "store_damaged", way->library,
			"its entry in the store was not what it should be and was made "
			"again");
	way->closing = true;
	pipeline_finished(way->pipeline, way);
	leave(way);
}

/* Every step begins with it: true when nobody wants the result any more. */
bool way_is_over(struct way *way)
{
	if (!way->closing)
		return false;
	leave(way);
	return true;
}

void way_cancel(struct way *way)
{
	way->closing = true;
	if (way->worker) {
		pool_cancel(way->worker);
	} else if (way->asked) {
		batches_cancel(way->asked);
	} else if (uv_is_active((uv_handle_t *)&way->settle)) {
		(void)uv_timer_stop(&way->settle);
		leave(way);
	} else if (lane_take_back(&way->job) || !way->job.running) {
		leave(way);
	}
}

/* ---- the cache --------------------------------------------------------------- */

int way_set_stored(struct way *way, const char *closure, const char *entry)
{
	char *path = store_path(pipeline_store(way->pipeline), closure, entry);

	if (!path)
		return -1;
	free(way->verdict.stored);
	way->verdict.stored = path;
	(void)snprintf(way->verdict.closure, sizeof(way->verdict.closure), "%s", closure);
	return 0;
}

/* Takes the verdict of an earlier time for this entry. */
int way_recall(
	struct way *way, const json_t *remembered, const char *closure, const char *entry)
{
	struct kp_verdict verdict;

	if (kp_verdict_from_json(remembered, &verdict, NULL) < 0)
		return -1;
	kp_verdict_finish(&way->verdict);
	way->verdict = verdict;
	way->verdict.probe_ms = -1;
	if (!closure[0])
		return 0;
	return way_set_stored(way, closure, entry);
}

/* What was found under other terms does not hold under these. */
static void key_of(
	struct way *way, const char *closure, const char *deps, char key[DIGEST_TEXT])
{
	const struct pipeline_options *settings = pipeline_settings(way->pipeline);
	struct cache_terms terms = {closure, deps, settings->platform,
		kp_signing_policy_name(way_policy(way)), {0}};

	if (settings->confinement)
		terms.confinement = *settings->confinement;
	cache_key(&terms, key);
}

void way_key(struct way *way, char key[DIGEST_TEXT])
{
	key_of(way, way->closure[0] ? way->closure : way->verdict.digest, way->deps, key);
}

void way_remember_file(struct way *way)
{
	json_t *none = json_array();
	char key[DIGEST_TEXT];
	way_key(way, key);
	struct cache_file file = {
		.key = key,
		.digest = way->verdict.digest,
		.closure = way->closure,
		.entry = way->entry ? way->entry : "",
		.deps = way->deps,
		.parts = way->parts ? way->parts : none,
		.needs = way->same ? way->file.needs : way->finding.needs,
		.trace = way->trace,
	};

	if (!file.needs)
		file.needs = none;
	cache_put(pipeline_cache(way->pipeline), way->library, &file, now_s());
	pipeline_cache_changed(way->pipeline);
	json_decref(none);
}

/* Only what lies in the files: not what happened to us while we looked. */
void way_remember(struct way *way)
{
	char key[DIGEST_TEXT];

	if (way->verdict.retry)
		return;
	way_key(way, key);
	cache_put_verdict(pipeline_cache(way->pipeline), key, way->manifest.timeout_ms,
		now_s(), kp_verdict_json(&way->verdict));
	way_remember_file(way);
}

const json_t *way_known_verdict(struct way *way, const char *closure, const char *deps)
{
	char key[DIGEST_TEXT];

	if (way->fresh)
		return NULL;
	key_of(way, closure, deps, key);
	return cache_verdict(
		pipeline_cache(way->pipeline), key, way->manifest.timeout_ms);
}

/* ---- failures ---------------------------------------------------------------- */

static bool is_one_of(const char *code, const char *const *codes)
{
	for (; *codes; codes++)
		if (strcmp(code, *codes) == 0)
			return true;
	return false;
}

/* What the file is, or that it is not there, or that we could not do our part. */
static enum kp_state state_of(const char *code)
{
	static const char *const missing[] = {
		"missing_file", "dangling_link", "generation_lost", NULL};
	static const char *const rejected[] = {"not_regular_file", "link_loop",
		"not_permitted", "not_confined", "file_too_large", "too_many_files",
		"outside", "not_world_readable", "untrusted_owner", "writable_by_others",
		"path_too_long", "too_many_search_paths", NULL};

	if (is_one_of(code, missing))
		return KP_STATE_MISSING;
	return is_one_of(code, rejected) ? KP_STATE_REJECTED : KP_STATE_FAILED;
}

/* Says where a bare name was looked for; an absolute path has one place only. */
static const char *explain(const struct way *way, char *text, size_t size)
{
	const char *directory = pipeline_settings(way->pipeline)->plugin_dir;

	/* Where a directory above it is not there, it is not there either. */
	size_t length = strlen(way->diag.object);
	bool is_it = strncmp(way->diag.object, way->library, length) == 0 &&
		     (way->library[length] == '\0' || way->library[length] == '/');

	if (strcmp(way->diag.code, "missing_file") != 0 || !is_it)
		return way->diag.message;
	if (way->manifest.library[0] == '/')
		(void)snprintf(text, size, "%s does not exist", way->library);
	else
		(void)snprintf(text, size, "%s is not in the plugin directory: tried %s",
			way->manifest.library, directory);
	return text;
}

void way_fail_file(struct way *way)
{
	char text[sizeof(way->diag.message) + 256];
	enum kp_state state = state_of(way->diag.code);

	if (way->trace)
		way->trace->distrusted |= kp_trust_is_code(way->diag.code);
	kp_verdict_fail(
		&way->verdict, state, way->diag.code, explain(way, text, sizeof(text)));
	way->verdict.retry = state == KP_STATE_FAILED;
	way_finish(way);
}

void way_fail_digest(struct way *way, const char *digest)
{
	char text[512];

	(void)snprintf(text, sizeof(text),
		"%s has the SHA-256 %s, its manifest %s asks for %s", way->library,
		digest, way->manifest.path, way->manifest.sha256);
	memcpy(way->verdict.digest, digest, DIGEST_TEXT);
	kp_verdict_fail(&way->verdict, KP_STATE_REJECTED, "digest_mismatch", text);
	way_finish(way);
}
