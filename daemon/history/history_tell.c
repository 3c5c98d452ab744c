/* SPDX-License-Identifier: MIT */
/* What the history says to those who ask: the generation to go back to, and all of them.
 */
#include "daemon/daemon.h"
#include "daemon/history/history.h"
#include "lib/base/json.h"

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

const struct edition *history_choose(
	struct history *history, const char *plugin, int64_t number, struct kp_diag *diag)
{
	const struct chronicle *chronicle = chronicles_find(history_all(history), plugin);
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

json_t *history_json(struct daemon *daemon, const char *plugin)
{
	const struct chronicle *chronicle =
		chronicles_find(history_all(daemon->history), plugin);
	const struct kp_rollback *rollback =
		kp_decisions_find_rollback(&daemon->decisions, plugin);
	json_t *list = json_array();

	for (size_t i = chronicle ? chronicle->count : 0; list && i-- > 0;) {
		const struct edition *edition = &chronicle->editions[i];
		list = kp_json_append(
			list, edition_json(edition,
				      rollback && rollback->number == edition->number));
	}
	return list;
}
