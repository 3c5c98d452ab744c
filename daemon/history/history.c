/* SPDX-License-Identifier: MIT */
/*
 * From states of the registry to generations. The file is written as a whole, a moment
 * after the first change, and the longer that takes the less often: a first start with a
 * thousand plugins is a few writes.
 */
#include "daemon/history/history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "daemon/daemon.h"
#include "daemon/history/history_file.h"
#include "daemon/options.h"
#include "daemon/state/state.h"
#include "lib/base/clock.h"
#include "lib/base/json.h"

enum {
	WRITE_MS = 50,
	CALM_MOST_MS = 2000,
	CALM_TIMES = 20, /* of what the last text took to make: until the next one */
	DAY_S = 86400
};

struct history {
	struct daemon *daemon;
	struct chronicles list;
	uv_timer_t later;
	int64_t calm_until;
	bool is_dirty, closing;
};

/* ---- the file -------------------------------------------------------------------- */

static void no_memory(const struct history *history)
{
	struct kp_diag diag;

	kp_diag_no_memory(&diag);
	log_diag(&history->daemon->log, LOG_ERROR, &diag);
}

static void write_now(struct history *history)
{
	size_t size;

	if (!history->is_dirty || !history->daemon->state)
		return;
	int64_t began = kp_clock_ms();
	char *text = history_print(&history->list, &size);
	int64_t calm = (kp_clock_ms() - began) * CALM_TIMES;
	history->calm_until = began + (calm < CALM_MOST_MS ? calm : CALM_MOST_MS);
	if (!text) {
		no_memory(history);
		return;
	}
	history->is_dirty = false;
	state_keep_history(history->daemon->state, text, size);
}

static void on_later(uv_timer_t *timer)
{
	write_now(timer->data);
}

static void changed(struct history *history)
{
	int64_t calm = history->calm_until - kp_clock_ms();

	history->is_dirty = true;
	if (!history->closing && !uv_is_active((uv_handle_t *)&history->later))
		(void)uv_timer_start(&history->later, on_later,
			calm > WRITE_MS ? (uint64_t)calm : WRITE_MS, 0);
}

static const char lost[] =
	"; what is right of it holds, and until that file is removed the store keeps "
	"everything";

void history_load(struct history *history, struct kp_diags *warnings)
{
	struct state *state = history->daemon->state;
	struct kp_diags wrong = {0};
	struct kp_diag diag;
	size_t size = 0;
	char *text = state_history(state, &size, warnings);

	if (!text)
		return;
	if (history_parse(text, size, "history.json", &history->list, &wrong, &diag) < 0)
		kp_diags_add(&wrong, &diag);
	free(text);
	if (wrong.count == 0)
		return;
	state_history_is_damaged(state, &wrong.items[0], lost, warnings);
	kp_diags_finish(&wrong);
	changed(history);
}

bool history_is_whole(const struct history *history)
{
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
	history->closing = true;
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

void history_follow(struct history *history, const char *plugin)
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

void history_leave(struct history *history, const char *plugin)
{
	struct chronicle *chronicle = chronicles_find(&history->list, plugin);

	if (chronicle && chronicle_end(chronicle, daemon_now()))
		changed(history);
}

void history_forget(struct history *history, const char *plugin, int64_t number)
{
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

const struct chronicles *history_all(const struct history *history)
{
	return &history->list;
}

/* The newest that is older than the one that runs. */
static const struct edition *before_current(const struct chronicle *chronicle)
{
	const struct edition *current = chronicle_current(chronicle);

	for (size_t i = chronicle ? chronicle->count : 0; i-- > 0;)
		if (chronicle->editions[i].until != 0 &&
			(!current || chronicle->editions[i].number < current->number))
			return &chronicle->editions[i];
	return NULL;
}

const struct edition *history_choose(const struct history *history, const char *plugin,
	int64_t number, struct kp_diag *diag)
{
	const struct chronicle *chronicle = chronicles_find(&history->list, plugin);
	const struct edition *edition = number ? chronicle_by_number(chronicle, number)
					       : before_current(chronicle);

	if (edition)
		return edition;
	if (number)
		kp_diag_set(diag, "no_such_generation", plugin,
			"%s has no generation %lld; `pluginctl history %s` lists those "
			"that are kept",
			plugin, (long long)number, plugin);
	else
		kp_diag_set(diag, "no_earlier_generation", plugin,
			"nothing that ran as %s before is kept; `pluginctl history %s` "
			"lists what is",
			plugin, plugin);
	return NULL;
}

static json_t *edition_json(const struct edition *edition, bool rolled_back)
{
	bool is_good = edition->verdict == KP_STATE_ACTIVE;

	return json_pack("{s:I, s:I, s:o, s:o, s:s, s:s, s:I, s:s, s:o, s:b, s:b}",
		"number", (json_int_t)edition->number, "at", (json_int_t)edition->at,
		"until",
		edition->until ? json_integer((json_int_t)edition->until) : json_null(),
		"version", kp_json_clean_or_null(edition->version), "sha256",
		edition->digest, "closure", edition->closure, "size",
		(json_int_t)edition->bytes, "verdict", kp_state_name(edition->verdict),
		"reason",
		is_good ? json_null()
			: json_pack("{s:s, s:o}", "code", edition->code, "message",
				  kp_json_clean_string(edition->message)),
		"current", edition->until == 0, "rolled_back", rolled_back);
}

json_t *history_json(const struct history *history, const char *plugin)
{
	const struct chronicle *chronicle = chronicles_find(&history->list, plugin);
	const struct kp_rollback *rollback =
		kp_decisions_find_rollback(&history->daemon->decisions, plugin);
	json_t *list = json_array();

	for (size_t i = chronicle ? chronicle->count : 0; list && i-- > 0;) {
		const struct edition *edition = &chronicle->editions[i];
		list = kp_json_append(
			list, edition_json(edition,
				      rollback && rollback->number == edition->number));
	}
	return list;
}
