/* SPDX-License-Identifier: MIT */
/* A line for each change, as loud as it is bad, and one for each oddity. */
#include "daemon/log_change.h"

#include "lib/base/json.h"

static enum log_level level_of(enum kp_state state)
{
	switch (state) {
	case KP_STATE_REJECTED:
	case KP_STATE_FAILED:
	case KP_STATE_QUARANTINED:
	case KP_STATE_MISSING:
		return LOG_WARNING;
	case KP_STATE_PENDING:
		return LOG_DEBUG;
	default:
		return LOG_INFO;
	}
}

/* Nobody asks about a plugin that works: what is odd about it is said by itself. */
static void log_oddities(struct log *log, const struct kp_change *change)
{
	const json_t *warning;
	size_t i;

	json_array_foreach ((json_t *)(uintptr_t)change->warnings, i, warning)
		log_line(log, LOG_WARNING, "%s: warning [%s]: %s", change->plugin,
			kp_json_text(warning, "code"), kp_json_text(warning, "message"));
}

void log_change(struct log *log, const struct kp_change *change)
{
	if (change->is_gone)
		log_line(log, LOG_INFO, "%s: gone", change->plugin);
	else if (change->code)
		log_line(log, level_of(change->after), "%s: %s [%s]: %s", change->plugin,
			kp_state_name(change->after), change->code,
			change->message ? change->message : "");
	else
		log_line(log, level_of(change->after), "%s: %s", change->plugin,
			kp_state_name(change->after));
	if (!change->is_gone && change->after == KP_STATE_ACTIVE)
		log_oddities(log, change);
}
