/* SPDX-License-Identifier: MIT */
/* A short list a plugin, the oldest first. */
#include "daemon/pipeline/failures.h"

#include "lib/base/json.h"
#include "lib/plugin/verdict.h"

/* One that a cache remembers is told again at every look. */
static bool is_told(const json_t *list, const json_t *failure)
{
	const json_t *last = json_array_get(list, json_array_size(list) - 1);
	const json_t *evidence = json_object_get(failure, "evidence");

	return last && json_is_object(evidence) &&
	       json_equal(json_object_get(last, "evidence"), evidence) &&
	       json_equal(json_object_get(last, "message"),
		       json_object_get(failure, "message"));
}

static json_t *failure_json(const struct kp_verdict *verdict, int64_t now)
{
	const json_t *at = json_object_get(verdict->evidence, "at");

	return json_pack("{s:I, s:s, s:s, s:o, s:o}", "at",
		json_is_integer(at) ? json_integer_value(at) : (json_int_t)now, "state",
		kp_state_name(verdict->state), "code", verdict->code, "message",
		kp_json_clean_string(verdict->message ? verdict->message : ""),
		"evidence", kp_json_or_null(verdict->evidence));
}

void failures_note(json_t *failures, const char *plugin, const struct kp_verdict *verdict,
	int64_t now)
{
	json_t *list = json_object_get(failures, plugin);

	if (verdict->state == KP_STATE_ACTIVE)
		return;
	if (!list) {
		list = json_array();
		if (json_object_set_new(failures, plugin, list) < 0)
			return;
	}
	json_t *failure = failure_json(verdict, now);
	if (failure && !is_told(list, failure) && json_array_append(list, failure) == 0 &&
		json_array_size(list) > FAILURES_KEPT)
		(void)json_array_remove(list, 0);
	json_decref(failure);
}

void failures_forget(json_t *failures, const char *plugin)
{
	(void)json_object_del(failures, plugin);
}

json_t *failures_of(const json_t *failures, const char *plugin)
{
	json_t *list = json_object_get(failures, plugin);
	return list ? json_copy(list) : json_array();
}
