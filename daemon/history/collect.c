/* SPDX-License-Identifier: MIT */
/*
 * Two steps in the pool: to look, at any time, and to remove, while everything rests.
 * What is removed is decided in between, in the loop thread, from what holds then.
 */
#include "daemon/history/collect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "daemon/daemon.h"
#include "daemon/history/history.h"
#include "daemon/history/references.h"
#include "daemon/options.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/pipeline/pool.h"
#include "daemon/scan/scan.h"
#include "daemon/store/sweep.h"

enum {
	CALM_MS = 1500,
	AGAIN_MS = 2500, /* while something must wait for a worker or an application */
};

struct collector {
	struct daemon *daemon;
	uv_timer_t calm;
	uv_work_t work;
	struct store *store; /* of the step under way */
	bool busy, closing, removes;
	bool has_looked;
	int result;
	struct sweep_list list; /* as of the last look */
	struct sweep_list next; /* of the one under way; then those to remove */
	struct references references;
	int64_t at;
	uint64_t removed; /* since the start */
	size_t refused;	  /* of the last step */
	int error;
	bool is_told;
};

/* ---- what is to go ---------------------------------------------------------------- */

static int64_t bytes_of(const struct sweep_list *list, const char *closure)
{
	size_t low = 0, high = list->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(list->entries[middle].closure, closure);
		if (order == 0)
			return list->entries[middle].bytes;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return 0;
}

/* The generation that ended first, of those that nothing but the history keeps. */
static const struct edition *find_oldest(
	const struct collector *collector, const char **plugin, int64_t *total)
{
	const struct chronicles *all = history_all(collector->daemon->history);
	const struct edition *oldest = NULL;

	*total = 0;
	for (size_t i = 0; i < all->count; i++)
		for (size_t k = 0; k < all->items[i].count; k++) {
			const struct edition *edition = &all->items[i].editions[k];
			if (edition->until == 0 ||
				references_has(&collector->references, edition->closure))
				continue;
			*total += bytes_of(&collector->list, edition->closure);
			if (oldest && oldest->until <= edition->until)
				continue;
			oldest = edition;
			*plugin = all->items[i].plugin;
		}
	return oldest;
}

/* Generations give way, the oldest first, until the rest has room. */
static void bound_history(struct collector *collector)
{
	struct daemon *daemon = collector->daemon;
	const int64_t most = (int64_t)daemon->options->history_mib << 20;
	const struct edition *oldest;
	const char *plugin = NULL;
	int64_t total;

	while ((oldest = find_oldest(collector, &plugin, &total)) && total > most) {
		char *name = strdup(plugin);
		if (!name)
			return;
		log_line(&daemon->log, LOG_INFO,
			"%s: generation %lld is not kept any more: those that do not run "
			"would take %lld bytes, %lld may be",
			name, (long long)oldest->number, (long long)total,
			(long long)most);
		history_forget(daemon->history, name, oldest->number);
		free(name);
	}
}

/* Of what was seen; -1: memory. */
static int choose(struct collector *collector, struct sweep_list *chosen)
{
	const struct sweep_list *list = &collector->list;

	chosen->entries = calloc(list->count + 1, sizeof(*chosen->entries));
	if (!chosen->entries)
		return -1;
	for (size_t i = 0; i < list->count; i++)
		if (!references_has(&collector->references, list->entries[i].closure))
			chosen->entries[chosen->count++] = list->entries[i];
	return 0;
}

static void on_calm(uv_timer_t *timer);

/* ---- steps ----------------------------------------------------------------------- */

static void step(struct collector *collector, bool removes);

/* Unless it looks earlier anyway. */
static void look_in(struct collector *collector, uint64_t ms)
{
	uv_timer_t *calm = &collector->calm;

	if (!collector->closing &&
		(!uv_is_active((uv_handle_t *)calm) || uv_timer_get_due_in(calm) > ms))
		(void)uv_timer_start(calm, on_calm, ms, 0);
}

static void work(uv_work_t *request)
{
	struct collector *collector = request->data;

	if (!collector->removes) {
		collector->result = sweep_look(collector->store, &collector->next);
		return;
	}
	collector->refused = 0;
	for (size_t i = 0; i < collector->next.count; i++)
		if (sweep_remove(collector->store, collector->next.entries[i].closure) <
			0) {
			collector->error = errno;
			collector->refused++;
		}
}

/* A disk that refuses is told once. */
static void tell_refused(struct collector *collector)
{
	if (collector->refused > 0 && !collector->is_told)
		log_line(&collector->daemon->log, LOG_WARNING,
			"%zu entries of the store that nothing refers to cannot be "
			"removed: %s",
			collector->refused, strerror(collector->error));
	collector->is_told = collector->refused > 0;
}

static void removed(struct collector *collector)
{
	size_t count = collector->next.count - collector->refused;

	tell_refused(collector);
	collector->removed += count;
	if (count > 0)
		log_line(&collector->daemon->log, LOG_INFO,
			"%zu entries that nothing refers to were removed from the store",
			count);
	sweep_finish(&collector->next);
	pipeline_resume(collector->daemon->pipeline);
	if (count > 0 && !collector->closing)
		step(collector, false);
}

/* Workers have files of it mapped; of a bench more of them come. */
static bool is_at_rest(const struct daemon *daemon)
{
	return scan_has_settled(daemon->scan) && !daemon->bench &&
	       !kp_registry_is_pending(daemon->registry, NULL) &&
	       pool_running(daemon->pool) == 0;
}

/* All that must stay is gathered when nothing can come in between. */
static void consider(struct collector *collector)
{
	struct daemon *daemon = collector->daemon;
	struct sweep_list chosen = {0};

	daemon_table(daemon);
	if (!history_is_whole(daemon->history))
		return;
	if (!is_at_rest(daemon)) {
		look_in(collector, AGAIN_MS);
		return;
	}
	history_tidy(daemon->history);
	references_take(&collector->references, daemon, false);
	bound_history(collector);
	references_take(&collector->references, daemon, true);
	if (references_wait(&collector->references))
		look_in(collector, AGAIN_MS);
	if (choose(collector, &chosen) < 0 || chosen.count == 0 ||
		!pipeline_pause(daemon->pipeline)) {
		sweep_finish(&chosen);
		return;
	}
	collector->next = chosen;
	step(collector, true);
}

static void looked(struct collector *collector)
{
	if (collector->result < 0)
		return;
	sweep_finish(&collector->list);
	collector->list = collector->next;
	collector->next = (struct sweep_list){0};
	collector->at = daemon_now();
	collector->has_looked = true;
	if (!collector->closing)
		consider(collector);
}

static void worked(uv_work_t *request, int status)
{
	struct collector *collector = request->data;
	struct pipeline *pipeline = collector->daemon->pipeline;
	(void)status;

	collector->busy = false;
	if (collector->removes)
		removed(collector);
	else
		looked(collector);
	pipeline_let_go(pipeline);
}

static void step(struct collector *collector, bool removes)
{
	collector->store = pipeline_hold(collector->daemon->pipeline);
	if (!collector->store) {
		sweep_finish(&collector->next);
		return;
	}
	collector->busy = true;
	collector->removes = removes;
	collector->work.data = collector;
	(void)uv_queue_work(&collector->daemon->loop, &collector->work, work, worked);
}

static void on_calm(uv_timer_t *timer)
{
	struct collector *collector = timer->data;

	if (collector->busy || collector->closing)
		return;
	if (collector->has_looked && !is_at_rest(collector->daemon))
		look_in(collector, AGAIN_MS);
	else
		step(collector, false);
}

/* ---- life ------------------------------------------------------------------------ */

struct collector *collector_new(struct daemon *daemon)
{
	struct collector *new = calloc(1, sizeof(*new));

	if (!new)
		return NULL;
	new->daemon = daemon;
	(void)uv_timer_init(&daemon->loop, &new->calm);
	new->calm.data = new;
	return new;
}

void collector_close(struct collector *collector)
{
	if (!collector || collector->closing)
		return;
	collector->closing = true;
	uv_close((uv_handle_t *)&collector->calm, NULL);
}

void collector_free(struct collector *collector)
{
	if (!collector)
		return;
	sweep_finish(&collector->list);
	sweep_finish(&collector->next);
	references_finish(&collector->references);
	free(collector);
}

void collector_look(struct collector *collector)
{
	if (!collector || collector->closing)
		return;
	references_follow(&collector->references, collector->daemon);
	look_in(collector, CALM_MS);
}

/* ---- asking ---------------------------------------------------------------------- */

int64_t collector_bytes(const struct collector *collector)
{
	return collector->has_looked ? collector->list.bytes : -1;
}

int64_t collector_entries(const struct collector *collector)
{
	return collector->has_looked ? (int64_t)collector->list.count : -1;
}

json_t *collector_json(const struct collector *collector)
{
	if (!collector->has_looked)
		return json_null();
	return json_pack("{s:I, s:I, s:I, s:I, s:b}", "bytes",
		(json_int_t)collector->list.bytes, "entries",
		(json_int_t)collector->list.count, "removed",
		(json_int_t)collector->removed, "at", (json_int_t)collector->at,
		"keeps_all", !history_is_whole(collector->daemon->history));
}
