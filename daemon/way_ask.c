/* SPDX-License-Identifier: MIT */
/* A way's questions to workers: what is it, and does it work here? */
#include "daemon/way.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/file.h"

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

/* Takes the job. */
static int submit(struct way *way, json_t *job, int fd, unsigned timeout_ms,
	void (*on_line)(void *, json_t *),
	void (*on_end)(void *, const struct kp_worker_result *))
{
	struct pool_request request = {
		.job = job,
		.fds = {fd, -1, -1},
		.n_fds = fd >= 0 ? 1 : 0,
		.timeout_ms = timeout_ms,
		.on_line = on_line,
		.on_end = on_end,
		.context = way,
	};

	way->worker = job ? pool_submit(pipeline_pool(way->pipeline), &request) : NULL;
	json_decref(job);
	return way->worker ? 0 : -1;
}

/* True when the question is asked again. */
static bool lost(struct way *way, void (*again)(struct way *))
{
	if (++way->lost <= LOST_MOST) {
		again(way);
		return true;
	}
	fail(way, "worker_lost", "the workers' launcher ended several times meanwhile");
	return false;
}

/* ---- identify ------------------------------------------------------------------ */

static bool is_library(const struct way *way)
{
	return way->identified == 0;
}

/*
 * A library beside the plugin's is no plugin: what it lacks of one is nothing
 * against it. What cannot be read as a library is found before `elf` is told.
 */
static bool is_part(const struct way *way, enum kp_finding_end end)
{
	return !is_library(way) && way->part.elf &&
	       (end == KP_FINDING_GOOD || way->part.state == KP_STATE_REJECTED);
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
	if (way_is_over(way))
		return;
	enum kp_finding_end end = kp_finding_identified(finding_of(way), result, now_s());
	if (end == KP_FINDING_LOST) {
		(void)lost(way, way_identify);
		return;
	}
	way->lost = 0;
	if (is_library(way) && end == KP_FINDING_GOOD && !way->verdict.note) {
		fail(way, "garbled_report", "the worker reported neither note nor fault");
		return;
	}
	if (is_library(way) ? end == KP_FINDING_GOOD : is_part(way, end))
		keep_elf(way);
	else
		reject(way);
}

static unsigned identify_timeout(const struct way *way)
{
	return way->manifest.timeout_ms > IDENTIFY_MS ? way->manifest.timeout_ms
						      : IDENTIFY_MS;
}

void way_identify(struct way *way)
{
	const struct draft_file *file = draft_file(way->draft, way->identified);
	int fd = draft_open(way->draft, way->identified, &way->diag);

	if (fd < 0) {
		fail(way, way->diag.code, way->diag.message);
		return;
	}
	kp_finding_begin(finding_of(way));
	int failed = submit(way,
		json_pack("{s:s, s:s}", "kind", "identify", "file", file->from), fd,
		identify_timeout(way), take_identity, identify_end);
	kp_file_close(&fd);
	if (failed)
		fail(way, "no_memory", "no worker could be asked: memory is exhausted");
}

/* ---- probe --------------------------------------------------------------------- */

static void take_answer(void *context, json_t *line)
{
	struct way *way = context;

	kp_finding_probe(&way->finding, line);
}

static void probe_end(void *context, const struct kp_worker_result *result)
{
	struct way *way = context;

	way->worker = NULL;
	if (way_is_over(way))
		return;
	enum kp_finding_end end = kp_finding_probed(&way->finding, result, now_s());
	if (end == KP_FINDING_LOST) {
		(void)lost(way, way_probe);
		return;
	}
	if (end == KP_FINDING_GOOD)
		way->verdict.state = KP_STATE_ACTIVE;
	way_remember(way);
	way_finish(way);
}

void way_probe(struct way *way)
{
	kp_finding_begin(&way->finding);
	if (way_set_stored(way, way->closure, way->entry) < 0 ||
		submit(way,
			json_pack("{s:s, s:s, s:O, s:s}", "kind", "probe", "stored",
				way->verdict.stored, "note", way->verdict.note, "file",
				way->library),
			-1, way->manifest.timeout_ms, take_answer, probe_end) < 0)
		fail(way, "no_memory", "no worker could be asked: memory is exhausted");
}
