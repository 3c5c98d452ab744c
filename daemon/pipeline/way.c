/* SPDX-License-Identifier: MIT */
/* The steps of a plugin's way, in the loop thread. */
#include "daemon/pipeline/way.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WAIT_MOST_MS = 60000 }; /* for a file that is being written */

static void copy(struct way *way);
static void keep(struct way *way);

static struct way *way_of(struct lane_job *job)
{
	return (struct way *)((char *)job - offsetof(struct way, job));
}

/* ---- steps ------------------------------------------------------------------- */

static void looked(struct lane_job *job)
{
	struct way *way = way_of(job);

	if (way_is_over(way))
		return;
	if (way->hit && way_recall(way, way->remembered, way->file.closure,
				way->file.entry) == 0) {
		way->trace = trace_ref(way->file.trace);
		way_finish(way);
		return;
	}
	copy(way);
}

static void settled(uv_timer_t *timer)
{
	copy(timer->data);
}

static void wait_for_file(struct way *way)
{
	if (way->waited_ms > WAIT_MOST_MS) {
		kp_diag_set(&way->diag, "keeps_changing", way->library,
			"%s has been changing for %u s", way->library,
			way->waited_ms / 1000);
		way_fail_file(way);
		return;
	}
	way->waited_ms += way->wait_ms;
	pipeline_waits(way->pipeline, way);
	(void)uv_timer_start(&way->settle, settled, way->wait_ms + 1, 0);
}

/* True when the step that came back was not the last. */
static bool goes_on(struct way *way)
{
	if (way->result == DRAFT_ADDED)
		return true;
	if (way->result == DRAFT_YOUNG)
		wait_for_file(way);
	else
		way_fail_file(way);
	return false;
}

static void copied(struct lane_job *job)
{
	struct way *way = way_of(job);

	if (way_is_over(way) || !goes_on(way))
		return;
	const char *digest = draft_file(way->draft, 0)->digest;
	if (way->manifest.sha256[0] && strcmp(way->manifest.sha256, digest) != 0)
		way_fail_digest(way, digest);
	else
		way_seal(way);
}

void way_sealed(struct way *way)
{
	if (way->same)
		keep(way);
	else
		way_identify(way);
}

static void forget_elfs(struct way *way)
{
	for (size_t i = 0; i < STORE_FILES; i++) {
		json_decref(way->elfs[i]);
		way->elfs[i] = NULL;
	}
	way->searched = way->identified = 0;
}

static void reset(struct way *way)
{
	way_return_permit(way);
	kp_verdict_finish(&way->verdict);
	kp_verdict_finish(&way->part);
	kp_finding_finish(&way->finding);
	kp_finding_finish(&way->beside);
	way->finding = (struct kp_finding){.verdict = &way->verdict};
	way->beside = (struct kp_finding){.verdict = &way->part};
	forget_elfs(way);
	way->closure[0] = way->deps[0] = '\0';
}

static void copy(struct way *way)
{
	reset(way);
	lane_add(pipeline_lane(way->pipeline), &way->job, way_copy, copied);
}

void way_copy_again(struct way *way)
{
	copy(way);
}

static void identify_more(struct way *way)
{
	if (way->identified < draft_count(way->draft))
		way_identify(way);
	else
		keep(way);
}

static void searched(struct lane_job *job)
{
	struct way *way = way_of(job);

	if (!way_is_over(way) && goes_on(way))
		identify_more(way);
}

static bool has_search_path(const json_t *elf)
{
	return json_array_size(json_object_get(elf, "runpath")) > 0 ||
	       json_array_size(json_object_get(elf, "rpath")) > 0;
}

/* Most libraries reach nothing by $ORIGIN: no thread need look for it. */
void way_identified(struct way *way)
{
	bool searches = has_search_path(way->elfs[0]);

	for (size_t i = way->searched; i < way->identified; i++)
		searches = searches || has_search_path(way->elfs[i]);
	if (searches) {
		lane_add(pipeline_lane(way->pipeline), &way->job, way_search, searched);
		return;
	}
	way->searched = way->identified;
	identify_more(way);
}

/* A known library whose verdict is not kept any more: from the start. */
static void unknown(struct way *way)
{
	trace_unref(way->file.trace);
	way->file = (struct cache_file){0};
	json_decref(way->known);
	way->known = NULL;
	copy(way);
}

static void kept(struct lane_job *job)
{
	struct way *way = way_of(job);

	if (way_is_over(way) || !goes_on(way))
		return;
	const json_t *remembered = way_known_verdict(way, way->closure, way->deps);
	if (remembered && way_recall(way, remembered, way->closure, way->entry) == 0) {
		way_remember_file(way);
		way_finish(way);
	} else if (way->same) {
		unknown(way);
	} else if (way->foreign) {
		way_fail_file(way);
	} else {
		way_probe(way);
	}
}

static void keep(struct way *way)
{
	lane_add(pipeline_lane(way->pipeline), &way->job, way_keep, kept);
}

static void begin_without_store(uv_timer_t *timer)
{
	struct way *way = timer->data;

	way->diag = *pipeline_store_diag(way->pipeline);
	way_fail_file(way);
}

void way_begin(struct way *way)
{
	if (!pipeline_store(way->pipeline)) {
		/* Never from inside of pipeline_start. */
		(void)uv_timer_start(&way->settle, begin_without_store, 0, 0);
		return;
	}
	const json_t *known =
		way->fresh ? NULL
			   : cache_find(pipeline_cache(way->pipeline), way->library);
	const json_t *remembered = NULL;

	if (known && cache_decode(known, &way->file) == 0) {
		way->known = json_incref((json_t *)known);
		remembered = way_known_verdict(way,
			way->file.closure[0] ? way->file.closure : way->file.digest,
			way->file.deps);
	}
	way->remembered = json_incref((json_t *)remembered);
	if (remembered)
		lane_add(pipeline_lane(way->pipeline), &way->job, way_look, looked);
	else
		copy(way);
}
