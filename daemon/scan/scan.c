/* SPDX-License-Identifier: MIT */
/* The cycle of scans: on request, on changes, every so many seconds. */
#include "daemon/scan/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "daemon/daemon.h"
#include "daemon/history/history.h"
#include "daemon/options.h"
#include "daemon/pipeline/failures.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/scan/confirm.h"
#include "daemon/scan/index.h"
#include "daemon/scan/modified.h"
#include "daemon/scan/news.h"
#include "daemon/scan/survey.h"
#include "daemon/scan/tickets.h"
#include "daemon/scan/wanting.h"
#include "daemon/scan/watch.h"

enum {
	S_MS = 1000,
	ATTEMPTS = 3, /* of a plugin whose worker was lost without its fault */
	UNPUBLISHED = 64,
};

/* We are ending, or without memory. */
static const struct scan_result no_result;

struct scan {
	struct daemon *daemon;
	const char **dirs;   /* of places */
	char *store_dir;     /* likewise */
	struct index *index; /* of an earlier run, until the first scan has read */
	struct survey_places places;
	uv_work_t work;
	uv_timer_t period;
	bool busy, closing;
	bool only_stat; /* the one under way reads only if the stamp differs */
	bool wanted;	/* another one afterwards */
	bool again;	/* a look at the stamp afterwards */
	bool has_read, has_settled, has_watched;
	struct survey survey; /* in force */
	struct survey next;   /* of the one under way */
	bool is_same;	      /* next was not read: nothing has changed */
	bool is_updating;     /* what changes now was found by the look */
	int result;
	struct kp_diag diag;
	struct ticket *served, *waiting; /* by the one under way, by the next */
	struct news news;		 /* since it was last told */
	struct modified modified;
	json_t *attempts;   /* name -> how often a worker was lost */
	json_t *wanting;    /* daemon/scan/wanting.h */
	size_t unpublished; /* verdicts */
};

/* ---- results ---- */

void scan_note_change(struct scan *scan, const struct kp_change *change)
{
	if (change->is_new)
		news_put(scan->news.added, change->plugin);
	/* What is rejected or masked by its manifest alone goes no further. */
	if (scan->is_updating && !change->is_new && !change->is_gone)
		news_put(scan->news.changed, change->plugin);
	if (change->is_gone) {
		news_put(scan->news.removed, change->plugin);
		modified_forget(&scan->modified, change->plugin);
	}
}

static void tell(struct scan *scan)
{
	struct scan_result result = news_take(&scan->news);

	tickets_answer(&scan->served, &result);
	news_taken_finish(&result);
}

/* ---- the pipeline ---- */

static void start_plugin(
	struct scan *scan, const struct kp_manifest *manifest, bool fresh)
{
	struct kp_diag diag;
	if (!manifest || pipeline_start(scan->daemon->pipeline, manifest, fresh) == 0)
		return;
	kp_diag_set(&diag, "no_memory", manifest->name,
		"%s: cannot be looked at: no memory", manifest->name);
	log_diag(&scan->daemon->log, LOG_ERROR, &diag);
}

/* Updates the registry and starts what it asks for. `force` as there. */
static int update(struct scan *scan, const char *force, bool fresh, struct kp_diag *diag)
{
	struct kp_registry *registry = scan->daemon->registry;
	char **todo = NULL;
	size_t n = 0;

	if (history_roll(scan->daemon, &scan->survey.manifests) < 0)
		return kp_diag_no_memory(diag);
	scan->is_updating = true;
	int result = kp_registry_update(
		registry, &scan->survey.manifests, force, daemon_now(), &todo, &n, diag);
	scan->is_updating = false;
	if (result < 0)
		return -1;
	result = force ? 0 : confirm_plugins(scan->daemon, scan->index, todo, n, diag);
	for (size_t i = 0; i < n; i++) {
		if (!json_object_get(scan->news.added, todo[i]))
			news_put(scan->news.changed, todo[i]);
		(void)json_object_del(scan->attempts, todo[i]);
		if (kp_registry_is_pending(registry, todo[i]))
			start_plugin(
				scan, kp_registry_manifest(registry, todo[i]), fresh);
		free(todo[i]);
	}
	free(todo);
	return result;
}

int scan_retry(struct scan *scan, const char *plugin, struct kp_diag *diag)
{
	/* Without manifests the registry would take all plugins for gone. */
	if (!scan->has_read)
		return kp_diag_set(diag, "busy", plugin,
			"%s cannot be tried again yet: the directories of manifests have "
			"not been read since the start",
			plugin);
	return update(scan, plugin, true, diag);
}

int scan_follow(struct scan *scan, struct kp_diag *diag)
{
	return scan->has_read ? update(scan, NULL, false, diag) : 0;
}

/* Whether it was started again: a lost worker is nobody's fault, for a while. */
static bool try_again(
	struct scan *scan, const char *plugin, const struct kp_verdict *verdict)
{
	json_int_t before = json_integer_value(json_object_get(scan->attempts, plugin));
	const struct kp_manifest *manifest =
		kp_manifests_find(&scan->survey.manifests, plugin);

	if (!verdict->retry || !manifest || before + 1 >= ATTEMPTS || scan->closing)
		return false;
	(void)json_object_set_new(scan->attempts, plugin, json_integer(before + 1));
	log_line(&scan->daemon->log, LOG_WARNING, "%s: %s [%s]; trying again", plugin,
		verdict->message ? verdict->message : "", verdict->code);
	start_plugin(scan, manifest, false);
	return true;
}

/*
 * Once it is in a table what a note says takes little: not all of thousands wait for
 * somebody to ask. A table costs what all plugins do, so that more of them wait longer.
 */
static void publish_some(struct scan *scan)
{
	size_t most = kp_registry_count(scan->daemon->registry) / 8;

	if (++scan->unpublished < (most > UNPUBLISHED ? most : UNPUBLISHED))
		return;
	scan->unpublished = 0;
	(void)daemon_table(scan->daemon);
}

void scan_take_verdict(void *context, const char *plugin, const char *manifest_digest,
	struct kp_verdict *verdict)
{
	struct scan *scan = context;
	struct kp_diag diag;

	failures_note(scan->daemon->failures, plugin, verdict, daemon_now());
	if (scan->closing || try_again(scan, plugin, verdict)) {
		kp_verdict_finish(verdict);
		return;
	}
	wanting_note(scan->wanting, plugin, verdict);
	modified_tell(&scan->modified, scan->daemon, plugin, verdict);
	if (kp_registry_apply(scan->daemon->registry, plugin, manifest_digest, verdict,
		    daemon_now(), &diag) < 0)
		log_diag(&scan->daemon->log, LOG_ERROR, &diag);
	publish_some(scan);
	daemon_identify(scan->daemon);
	daemon_changed(scan->daemon);
}

/* ---- one scan ---- */

static void begin(struct scan *scan, bool only_stat);

static void end(struct scan *scan)
{
	scan->busy = false;
	if (scan->closing)
		return;
	tell(scan);
	if (scan->wanted || scan->again)
		begin(scan, !scan->wanted);
	daemon_changed(scan->daemon);
}

static void on_stale(void *context, const struct stale_plugin *plugins, size_t count)
{
	struct scan *scan = context;
	struct kp_diag diag;
	bool found =
		!scan->closing && wanting_mark(scan->wanting, scan->daemon->registry);

	/* However many have changed, all states are worked out once. */
	for (size_t i = 0; i < count && !scan->closing; i++) {
		const struct stale_plugin *plugin = &plugins[i];
		if (plugin->path)
			modified_note(&scan->modified, scan->daemon, plugin->name,
				plugin->path);
		found |= kp_registry_again(scan->daemon->registry, plugin->name);
	}
	if (found && update(scan, NULL, false, &diag) < 0)
		log_diag(&scan->daemon->log, LOG_ERROR, &diag);
	end(scan);
}

/* What happened in a directory before it was watched is not known: look again. */
static void watch_dirs(struct scan *scan)
{
	struct log *log = &scan->daemon->log;
	size_t failed = 0;

	if (!scan->daemon->watch)
		return;
	if (watch_set(
		    scan->daemon->watch, scan->survey.dirs, scan->survey.n_dirs, &failed))
		scan->again = true;
	if (failed && !scan->has_watched)
		log_line(log, LOG_WARNING,
			"%zu directories cannot be watched; changes there are noticed "
			"within %u s",
			failed, scan->daemon->options->rescan_s);
	scan->has_watched = true;
}

/* What is new since the last look: the rest has been said. */
static void log_warnings(struct scan *scan, const struct kp_diags *before)
{
	const struct kp_diags *warnings = &scan->survey.manifests.warnings;
	for (size_t i = 0; i < warnings->count; i++)
		if (!kp_diags_has(before, &warnings->items[i]))
			log_diag(&scan->daemon->log, LOG_WARNING, &warnings->items[i]);
}

static int take_survey(struct scan *scan)
{
	struct survey before = scan->survey;

	scan->survey = scan->next;
	scan->next = (struct survey){0};
	int result = update(scan, NULL, false, &scan->diag);
	index_free(scan->index);
	scan->index = NULL;
	log_warnings(scan, &before.manifests.warnings);
	survey_finish(&before);
	return result;
}

static void on_looked(uv_work_t *work, int status)
{
	struct scan *scan = work->data;
	(void)status;

	if (scan->closing) {
		if (scan->result == 0 && !scan->is_same)
			survey_finish(&scan->next);
		end(scan);
		return;
	}
	if (scan->result == 0 && !scan->is_same)
		scan->result = take_survey(scan);
	if (scan->result < 0) {
		log_diag(&scan->daemon->log, LOG_ERROR, &scan->diag);
		end(scan);
		return;
	}
	scan->has_read = true;
	watch_dirs(scan);
	/* What was confirmed is there: whoever waits for nothing else need not. */
	daemon_changed(scan->daemon);
	pipeline_open(scan->daemon->pipeline);
	pipeline_stale(scan->daemon->pipeline, &scan->survey.manifests, on_stale, scan);
}

/* In libuv's pool. */
static void look(uv_work_t *work)
{
	struct scan *scan = work->data;

	scan->is_same =
		scan->only_stat && survey_stamp(&scan->places) == scan->survey.stamp;
	scan->result = scan->is_same ? 0
				     : survey_read_known(&scan->places, scan->index,
					       &scan->next, &scan->diag);
}

static void begin(struct scan *scan, bool only_stat)
{
	scan->busy = true;
	scan->wanted = false;
	scan->again = false;
	scan->only_stat = only_stat && scan->has_read;
	scan->served = scan->waiting;
	scan->waiting = NULL;
	scan->work.data = scan;
	(void)uv_queue_work(&scan->daemon->loop, &scan->work, look, on_looked);
}

void scan_request(struct scan *scan, scan_done_fn *done, void *context)
{
	if (done && tickets_add(&scan->waiting, done, context) < 0) {
		done(context, &no_result);
		return;
	}
	scan->wanted = true;
	if (!scan->busy && !scan->closing)
		begin(scan, false);
}

static void on_period(uv_timer_t *timer)
{
	struct scan *scan = timer->data;
	if (!scan->busy)
		begin(scan, true);
}

/* ---- what others ask ---- */

bool scan_has_read(const struct scan *scan)
{
	return scan->has_read;
}

bool scan_has_settled(struct scan *scan)
{
	if (!scan->has_read)
		return false;
	if (scan->has_settled)
		return true;
	/* Remembered: what comes later does not hold anybody up. */
	scan->has_settled = !kp_registry_is_pending(scan->daemon->registry, NULL);
	return scan->has_settled;
}

const struct kp_manifests *scan_manifests(const struct scan *scan)
{
	return &scan->survey.manifests;
}

bool scan_stamp_of(
	const struct scan *scan, const struct kp_manifest *manifest, struct stamp *stamp)
{
	return survey_stamp_of(&scan->survey, manifest, stamp);
}

void scan_know(struct scan *scan, struct index *index)
{
	scan->index = index;
}

size_t scan_unclaimed(const struct scan *scan, const char *const **names)
{
	*names = (const char *const *)scan->survey.unclaimed;
	return scan->survey.n_unclaimed;
}

/* ---- life ---- */

/* Below the layers of manifests is that of what was loaded. */
static int set_places(struct scan *scan)
{
	const struct daemon *daemon = scan->daemon;
	size_t n = daemon->options->n_manifest_dirs;

	scan->dirs = calloc(n + 1, sizeof(*scan->dirs));
	if (!scan->dirs)
		return -1;
	for (size_t i = 0; i < n; i++)
		scan->dirs[i] = daemon->options->manifest_dirs[i];
	if (daemon->loaded_dir)
		scan->dirs[n++] = daemon->loaded_dir;
	if (asprintf(&scan->store_dir, "%s/store", daemon->options->state_dir) < 0) {
		scan->store_dir = NULL;
		return -1;
	}
	scan->places = (struct survey_places){n, scan->dirs, daemon->options->plugin_dir,
		daemon_trust(daemon), scan->store_dir,
		daemon->options->signing.count > 0 ? daemon->options->signing.trusted
						   : NULL};
	return 0;
}

struct scan *scan_new(struct daemon *daemon, struct kp_diag *diag)
{
	struct scan *scan = calloc(1, sizeof(*scan));
	if (scan)
		*scan = (struct scan){.daemon = daemon,
			.attempts = json_object(),
			.wanting = json_object()};
	if (!scan || !scan->attempts || !scan->wanting || set_places(scan) < 0 ||
		news_init(&scan->news) < 0 || modified_init(&scan->modified) < 0) {
		scan_free(scan);
		kp_diag_no_memory(diag);
		return NULL;
	}
	(void)uv_timer_init(&daemon->loop, &scan->period);
	scan->period.data = scan;
	uint64_t period = (uint64_t)daemon->options->rescan_s * S_MS;
	(void)uv_timer_start(&scan->period, on_period, period, period);
	return scan;
}

void scan_close(struct scan *scan)
{
	if (!scan || scan->closing)
		return;
	scan->closing = true;
	uv_close((uv_handle_t *)&scan->period, NULL);
}

void scan_free(struct scan *scan)
{
	if (!scan)
		return;
	tickets_answer(&scan->served, &no_result);
	tickets_answer(&scan->waiting, &no_result);
	free(scan->dirs);
	free(scan->store_dir);
	index_free(scan->index);
	survey_finish(&scan->survey);
	news_finish(&scan->news);
	modified_finish(&scan->modified);
	json_decref(scan->attempts);
	json_decref(scan->wanting);
	free(scan);
}
