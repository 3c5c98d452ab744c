/* SPDX-License-Identifier: MIT */
/* A way's questions to workers: what is it, and does it work here? */
#include "daemon/pipeline/way.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/file.h"
#include "lib/base/json.h"

enum {
	LOST_MOST = 3,	     /* workers that nobody is to blame for */
	IDENTIFY_MS = 10000, /* runs no code of the plugin, whose timeout is for probes */
};

static int64_t now_s(void)
{
	return (int64_t)time(NULL);
}

static void fail(struct way *way, const char *code, const char *message)
{
	kp_verdict_fail(&way->verdict, KP_STATE_FAILED, code, message);
	way->verdict.retry = true;
	way_finish(way);
}

static void fail_to_ask(struct way *way)
{
	fail(way, "no_memory", "no worker could be asked: memory is exhausted");
}

/* Takes request->job, NULL when memory is exhausted. */
static void submit(struct way *way, struct pool_request *request)
{
	request->context = way;
	way->worker =
		request->job ? pool_submit(pipeline_pool(way->pipeline), request) : NULL;
	json_decref(request->job);
	if (!way->worker)
		fail_to_ask(way);
}

/* True when the question is asked again. */
static bool lost(struct way *way, void (*again)(struct way *), bool no_memory)
{
	if (++way->lost <= LOST_MOST) {
		again(way);
		return true;
	}
	if (no_memory)
		fail(way, "no_memory",
			"memory was exhausted in each worker that looked at it");
	else
		fail(way, "worker_lost",
			"the workers' launcher ended several times meanwhile");
	return false;
}

/* ---- identify ------------------------------------------------------------------ */

static bool is_library(const struct way *way)
{
	return way->identified == 0;
}

static struct kp_finding *finding_of(struct way *way)
{
	return is_library(way) ? &way->finding : &way->beside;
}

static void keep_elf(struct way *way)
{
	struct kp_verdict *verdict = is_library(way) ? &way->verdict : &way->part;

	way->elfs[way->identified++] = json_incref(verdict->elf);
	kp_verdict_finish(&way->part);
	way_identified(way);
}

/* The first file's failure is the plugin's; a part's is so, too, and names it. */
static void reject(struct way *way)
{
	const struct draft_file *library = draft_file(way->draft, 0);

	if (!is_library(way)) {
		const char *message = way->part.message ? way->part.message : "";
		char text[1024];
		(void)snprintf(text, sizeof(text), "%s, which it needs: %s",
			draft_file(way->draft, way->identified)->from, message);
		kp_verdict_fail(&way->verdict, way->part.state, way->part.code, text);
		way->verdict.evidence = way->part.evidence;
		way->part.evidence = NULL;
	}
	memcpy(way->verdict.digest, library->digest, DIGEST_TEXT);
	way->verdict.bytes = (int64_t)library->size;
	kp_verdict_mark_evidence(&way->verdict);
	way_remember(way);
	way_finish(way);
}

static void take_identity(void *context, json_t *line)
{
	struct way *way = context;

	kp_finding_identify(finding_of(way), line);
}

static void identify_end(void *context, const struct kp_worker_result *result)
{
	struct way *way = context;

	way->worker = NULL;
	way->asked = NULL;
	if (way_is_over(way))
		return;
	enum kp_finding_end end = kp_finding_identified(finding_of(way), result, now_s());
	if (end == KP_FINDING_LOST) {
		(void)lost(way, way_identify, finding_of(way)->no_memory);
		return;
	}
	way->lost = 0;
	if (is_library(way) && end == KP_FINDING_GOOD && !way->verdict.note) {
		fail(way, "garbled_report", "the worker reported neither note nor fault");
		return;
	}
	if (end == KP_FINDING_GOOD)
		keep_elf(way);
	else
		reject(way);
}

static unsigned identify_timeout(const struct way *way)
{
	return way->manifest.timeout_ms > IDENTIFY_MS ? way->manifest.timeout_ms
						      : IDENTIFY_MS;
}

/* -1: the way has ended. */
static int open_copy(struct way *way, size_t file, struct pool_request *request)
{
	int fd = draft_open(way->draft, file, &way->diag);

	if (fd < 0) {
		json_decref(request->job);
		fail(way, way->diag.code, way->diag.message);
		return -1;
	}
	request->fds[0] = fd;
	request->n_fds = 1;
	request->timeout_ms = identify_timeout(way);
	request->identifies = true;
	return 0;
}

void way_ask_of_copy(struct way *way, size_t file, struct pool_request *request)
{
	if (open_copy(way, file, request) < 0)
		return;
	submit(way, request);
	kp_file_close(&request->fds[0]);
}

/* Beside others, where it takes no longer than they do. */
static void ask_beside_others(struct way *way, size_t file, struct pool_request *request)
{
	if (open_copy(way, file, request) < 0)
		return;
	request->context = way;
	if (request->job)
		way->asked = batches_submit(pipeline_batches(way->pipeline), request);
	else
		kp_file_close(&request->fds[0]);
	json_decref(request->job);
	if (!way->asked)
		fail_to_ask(way);
}

void way_ask_again(struct way *way, void (*again)(struct way *way))
{
	(void)lost(way, again, false);
}

void way_identify(struct way *way)
{
	size_t i = way->identified;
	const struct draft_file *file = draft_file(way->draft, i);
	struct pool_request request = {
		.job = json_pack("{s:s, s:s, s:b}", "kind", "identify", "file",
			file->from, "part", !is_library(way)),
		.on_line = take_identity,
		.on_end = identify_end,
	};

	kp_finding_begin(finding_of(way));
	if (file->size <= BATCH_BYTES && way->lost == 0)
		ask_beside_others(way, i, &request);
	else
		way_ask_of_copy(way, i, &request);
}

/* ---- probe --------------------------------------------------------------------- */

static void take_answer(void *context, json_t *line)
{
	struct way *way = context;

	kp_finding_probe(&way->finding, line);
	const char *stage = kp_json_text(line, "stage");
	if (stage && way->permit.alone)
		suspects_note(
			pipeline_suspects(way->pipeline), &way->permit, stage, NULL);
}

/* Kept where somebody will look, should plugind not live to hear of its end. */
static void take_output(void *context, const char *output)
{
	struct way *way = context;

	if (way->permit.alone)
		suspects_note(
			pipeline_suspects(way->pipeline), &way->permit, NULL, output);
}

static void conclude(struct way *way)
{
	way_remember(way);
	way_finish(way);
}

static struct way *way_of(struct lane_job *job)
{
	return (struct way *)((char *)job - offsetof(struct way, job));
}

/* Not the plugin failed, but our copy of it: from the start, with another. */
static void checked(struct lane_job *job)
{
	struct way *way = way_of(job);

	if (way_is_over(way))
		return;
	if (way->damaged)
		way_copy_again(way);
	else
		conclude(way);
}

static void probe_end(void *context, const struct kp_worker_result *result)
{
	struct way *way = context;

	way->worker = NULL;
	way->was_probed =
		result->end != KP_WORKER_CANCELLED && result->end != KP_WORKER_LOST;
	if (way_is_over(way))
		return;
	enum kp_finding_end end = kp_finding_probed(&way->finding, result, now_s());
	if (end == KP_FINDING_LOST) {
		(void)lost(way, way_probe, way->finding.no_memory);
		return;
	}
	if (end == KP_FINDING_GOOD)
		way->verdict.state = KP_STATE_ACTIVE;
	if (end == KP_FINDING_GOOD || way->checked) {
		conclude(way);
		return;
	}
	way->checked = true;
	lane_add(pipeline_lane(way->pipeline), &way->job, way_check, checked);
}

static void probe(struct way *way)
{
	const json_t *kernels = json_object_get(way->verdict.note, "kernels");

	kp_finding_begin(&way->finding);
	if (way_set_stored(way, way->closure, way->entry) < 0) {
		fail(way, "no_memory", "no worker could be asked: memory is exhausted");
		return;
	}
	submit(way, &(struct pool_request){
			    .job = json_pack("{s:s, s:s, s:O, s:s}", "kind", "probe",
				    "stored", way->verdict.stored, "note",
				    way->verdict.note, "file", way->library),
			    .timeout_ms = way->manifest.timeout_ms,
			    .kernels = json_array_size(kernels),
			    .alone = way->lost > 0 || way->permit.alone,
			    .on_line = take_answer,
			    .on_output = take_output,
			    .on_end = probe_end,
		    });
}

static void granted(struct permit *permit)
{
	probe((struct way *)((char *)permit - offsetof(struct way, permit)));
}

/* It has ended us too often: it is not even tried. */
static void quarantine(struct way *way, const struct mark *mark)
{
	char text[MARK_TEXT];

	kp_verdict_fail(&way->verdict, KP_STATE_QUARANTINED, "deadly_probe",
		mark_text(mark, text));
	way->verdict.evidence = mark_evidence(mark);
	way_finish(way);
}

static void ask(struct way *way, struct suspects *suspects)
{
	char key[DIGEST_TEXT];
	const struct suspects_subject subject = {
		key, way->manifest.name, way->verdict.digest, way->fresh};
	const struct mark *mark;

	way_key(way, key);
	way->permit.granted = granted;
	if (!suspects_ask(suspects, &subject, &way->permit, &mark)) {
		quarantine(way, mark);
		return;
	}
	if (way->permit.state == PERMIT_LAST)
		pipeline_suspects_it(way->pipeline, way);
	suspects_look(suspects);
}

void way_return_permit(struct way *way)
{
	suspects_return(pipeline_suspects(way->pipeline), &way->permit, way->was_probed);
	way->was_probed = false;
}

void way_probe(struct way *way)
{
	struct suspects *suspects = pipeline_suspects(way->pipeline);

	if (kp_finding_refuse(&way->finding, now_s()))
		conclude(way);
	else if (suspects && way->permit.state != PERMIT_HELD)
		ask(way, suspects);
	else
		probe(way);
}
