/* SPDX-License-Identifier: MIT */
/*
 * From states of the registry to generations. The file is written as a whole, a moment
 * after the first change, and the longer that takes the less often: a first start with a
 * thousand plugins is a few writes. It is printed some plugins at a time, between what
 * the loop does otherwise.
 */
#include "daemon/history/history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "daemon/daemon.h"
#include "daemon/event.h"
#include "daemon/history/history_file.h"
#include "daemon/options.h"
#include "daemon/state/state.h"
#include "lib/base/clock.h"

enum {
	WRITE_MS = 50,
	CALM_MOST_MS = 2000,
	CALM_TIMES = 50, /* of what the last text took to make: until the next one */
	PLUGINS_A_TURN = 32,
	DAY_S = 86400
};

/* A long text is parsed in the pool, while the rest of plugind starts. */
struct reading {
	uv_work_t work;
	uv_sem_t done;
	char *text;
	size_t size;
	struct kp_diags wrong;
	bool under_way; /* the list is not what it will be */
	bool in_pool;	/* the loop thread leaves the list alone */
	bool missed;	/* somebody was to be followed meanwhile */
};

struct history {
	struct daemon *daemon;
	struct chronicles list;
	struct reading reading;
	uv_timer_t later;
	int64_t calm_until;
	struct history_text text; /* that is being printed */
	uint64_t took_ns;	  /* so far */
	bool is_dirty, closing;
};

static void follow(struct history *history, const char *plugin);

/* ---- the file -------------------------------------------------------------------- */

static void no_memory(const struct history *history)
{
	struct kp_diag diag;

	kp_diag_no_memory(&diag);
	log_diag(&history->daemon->log, LOG_ERROR, &diag);
}

/* At once, whole. */
static void write_now(struct history *history)
{
	size_t size;

	history_text_finish(&history->text);
	if (!history->is_dirty || !history->daemon->state)
		return;
	char *text = history_print(&history->list, &size);
	if (!text) {
		no_memory(history);
		return;
	}
	history->is_dirty = false;
	state_keep_history(history->daemon->state, text, size);
}

static void on_later(uv_timer_t *timer);

/* Prints on, or begins once it was calm for long enough. */
static void go_on(struct history *history)
{
	int64_t calm = history->calm_until - kp_clock_ms();
	uint64_t wait = history->text.out ? 0
			: calm > WRITE_MS ? (uint64_t)calm
					  : WRITE_MS;

	if (!history->closing)
		(void)uv_timer_start(&history->later, on_later, wait, 0);
}

static void is_printed(struct history *history)
{
	uint64_t calm = history->took_ns * CALM_TIMES / 1000000;
	size_t size;
	char *text = history_text_take(&history->text, &size);

	history->calm_until =
		kp_clock_ms() + (int64_t)(calm < CALM_MOST_MS ? calm : CALM_MOST_MS);
	state_keep_history(history->daemon->state, text, size);
	if (history->is_dirty)
		go_on(history);
}

static void on_later(uv_timer_t *timer)
{
	struct history *history = timer->data;
	uint64_t began = uv_hrtime();

	/* What changes from now on may be missing in this text: then there is another. */
	if (!history->text.out) {
		history->is_dirty = false;
		history->took_ns = 0;
	}
	int left = history_text_go_on(&history->text, &history->list, PLUGINS_A_TURN);
	history->took_ns += uv_hrtime() - began;
	if (left > 0) {
		go_on(history);
	} else if (left == 0) {
		is_printed(history);
	} else {
		history->is_dirty = true;
		no_memory(history);
	}
}

static void changed(struct history *history)
{
	history->is_dirty = true;
	if (!uv_is_active((uv_handle_t *)&history->later))
		go_on(history);
}

static const char lost[] =
	"; what is right of it holds, and until that file is removed the store keeps "
	"everything";

/* In the pool. */
static void parse(uv_work_t *work)
{
	struct history *history = work->data;
	struct reading *reading = &history->reading;
	struct kp_diag diag;

	if (history_parse(reading->text, reading->size, "history.json", &history->list,
		    &reading->wrong, &diag) < 0)
		kp_diags_add(&reading->wrong, &diag);
	free(reading->text);
	uv_sem_post(&reading->done);
}

static void tell_damage(struct history *history)
{
	struct daemon *daemon = history->daemon;
	struct kp_diags told = {0};

	state_history_is_damaged(
		daemon->state, &history->reading.wrong.items[0], lost, &told);
	for (size_t i = 0; i < told.count; i++) {
		kp_diags_add(&daemon->warnings, &told.items[i]);
		log_diag(&daemon->log, LOG_WARNING, &told.items[i]);
		event_damage(daemon, &told.items[i]);
	}
	kp_diags_finish(&told);
	changed(history);
}

static void follow_all(struct history *history)
{
	const struct kp_registry *registry = history->daemon->registry;

	for (size_t i = 0; registry && i < kp_registry_count(registry); i++)
		follow(history, kp_registry_name(registry, i));
}

/* Whoever cannot do without it waits for what is left of it. */
static void have_read(struct history *history)
{
	struct reading *reading = &history->reading;

	if (!reading->under_way)
		return;
	if (!reading->in_pool)
		parse(&reading->work);
	uv_sem_wait(&reading->done);
	uv_sem_destroy(&reading->done);
	reading->under_way = false;
	if (reading->wrong.count > 0)
		tell_damage(history);
	kp_diags_finish(&reading->wrong);
	if (reading->missed)
		follow_all(history);
}

static void parsed(uv_work_t *work, int status)
{
	(void)status;
	have_read(work->data);
}

void history_load(struct history *history, struct kp_diags *warnings)
{
	struct reading *reading = &history->reading;

	reading->text = state_history(history->daemon->state, &reading->size, warnings);
	if (!reading->text)
		return;
	/* It fails for a count that is too large only. */
	(void)uv_sem_init(&reading->done, 0);
	reading->under_way = true;
	reading->work.data = history;
}

void history_read_on(struct history *history)
{
	struct reading *reading = &history->reading;

	if (!reading->under_way || reading->in_pool)
		return;
	reading->in_pool = true;
	(void)uv_queue_work(&history->daemon->loop, &reading->work, parse, parsed);
}

void history_settle(struct history *history)
{
	if (history)
		have_read(history);
}

bool history_is_whole(struct history *history)
{
	have_read(history);
	return !state_history_was_damaged(history->daemon->state);
}

/* ---- life ------------------------------------------------------------------------ */

struct history *history_new(struct daemon *daemon)
{
	struct history *new = calloc(1, sizeof(*new));

	if (!new)
		return NULL;
	new->daemon = daemon;
	(void)uv_timer_init(&daemon->loop, &new->later);
	new->later.data = new;
	return new;
}

void history_close(struct history *history)
{
	if (!history || history->closing)
		return;
	have_read(history);
	history->closing = true;
	history->is_dirty = history->is_dirty || history->text.out;
	write_now(history);
	uv_close((uv_handle_t *)&history->later, NULL);
}

void history_free(struct history *history)
{
	if (!history)
		return;
	chronicles_finish(&history->list);
	free(history);
}

/* ---- what happens ---------------------------------------------------------------- */

/* STORE/<closure>/<entry>; NULL: it is not. */
static const char *entry_of(const struct kp_stored *stored)
{
	const char *closure = strstr(stored->path, stored->closure);
	size_t length = strlen(stored->closure);

	return closure && closure[length] == '/' && closure[length + 1]
		       ? closure + length + 1
		       : NULL;
}

static void cut(struct history *history, struct chronicle *chronicle)
{
	const struct kp_rollback *rollback = kp_decisions_find_rollback(
		&history->daemon->decisions, chronicle->plugin);

	if (chronicle_cut(chronicle, history->daemon->options->history,
		    rollback ? rollback->number : 0))
		changed(history);
}

static int see(struct history *history, const char *plugin,
	const struct kp_stored *stored, const char *entry)
{
	const struct kp_decisions *decisions = &history->daemon->decisions;
	struct chronicle *chronicle = chronicles_find(&history->list, plugin);
	struct sight sight = {.now = daemon_now(),
		.is_rolled_back = kp_decisions_find_rollback(decisions, plugin) != NULL};
	enum kp_state state;
	bool differs = false;

	sight.is_active = kp_registry_state(history->daemon->registry, plugin, &state) &&
			  state == KP_STATE_ACTIVE;
	if (!sight.is_active && !chronicle)
		return 0;
	sight.edition = (struct edition){.bytes = stored->bytes,
		.verdict = stored->verdict,
		.entry = (char *)(uintptr_t)entry,
		.version = (char *)(uintptr_t)stored->version,
		.message = (char *)(uintptr_t)stored->message};
	(void)snprintf(
		sight.edition.code, sizeof(sight.edition.code), "%s", stored->code);
	(void)snprintf(
		sight.edition.digest, sizeof(sight.edition.digest), "%s", stored->digest);
	(void)snprintf(sight.edition.closure, sizeof(sight.edition.closure), "%s",
		stored->closure);
	if (!chronicle && !(chronicle = chronicles_open(&history->list, plugin)))
		return -1;
	int result = chronicle_see(chronicle, &sight, &differs);
	if (differs)
		changed(history);
	cut(history, chronicle);
	return result;
}

static void follow(struct history *history, const char *plugin)
{
	const struct kp_registry *registry = history->daemon->registry;
	struct kp_stored stored;
	const char *entry;

	/* What was loaded by a call leaves with this run. */
	if (kp_registry_is_loaded(registry, plugin) ||
		!kp_registry_stored(registry, plugin, &stored) ||
		!(entry = entry_of(&stored)))
		return;
	if (see(history, plugin, &stored, entry) < 0)
		no_memory(history);
}

void history_follow(struct history *history, const char *plugin)
{
	if (history->reading.under_way)
		history->reading.missed = true;
	else
		follow(history, plugin);
}

void history_leave(struct history *history, const char *plugin)
{
	have_read(history);
	struct chronicle *chronicle = chronicles_find(&history->list, plugin);

	if (chronicle && chronicle_end(chronicle, daemon_now()))
		changed(history);
}

void history_forget(struct history *history, const char *plugin, int64_t number)
{
	have_read(history);
	struct chronicle *chronicle = chronicles_find(&history->list, plugin);
	struct edition *edition = chronicle_by_number(chronicle, number);

	if (!edition)
		return;
	chronicle_drop(chronicle, edition);
	if (chronicle->count == 0)
		chronicles_remove(&history->list, plugin);
	changed(history);
}

/* Has it left, so long ago? */
static bool is_gone(const struct history *history, const struct chronicle *chronicle)
{
	enum kp_state state;
	int64_t last = 0;

	if (kp_registry_state(history->daemon->registry, chronicle->plugin, &state))
		return false;
	for (size_t i = 0; i < chronicle->count; i++)
		if (chronicle->editions[i].until > last)
			last = chronicle->editions[i].until;
	return last > 0 && last < daemon_now() - (int64_t)HISTORY_GONE_DAYS * DAY_S;
}

void history_tidy(struct history *history)
{
	have_read(history);
	for (size_t i = history->list.count; i-- > 0;) {
		struct chronicle *chronicle = &history->list.items[i];
		cut(history, chronicle);
		if (!is_gone(history, chronicle))
			continue;
		chronicles_remove(&history->list, chronicle->plugin);
		changed(history);
	}
}

/* ---- asking ---------------------------------------------------------------------- */

const struct chronicles *history_all(struct history *history)
{
	have_read(history);
	return &history->list;
}
