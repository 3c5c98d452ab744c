/* SPDX-License-Identifier: MIT */
/* A short list a plugin, the oldest first: texts, a fifth of what they take as values. */
#include "daemon/pipeline/failures.h"

#include "lib/base/json.h"
#include "lib/base/owned.h"
#include "lib/plugin/verdict.h"

/* A new reference; NULL: there is none, or no memory. */
static json_t *value_of(const json_t *list, size_t i)
{
	const json_t *text = json_array_get(list, i);
	json_error_t error;
	bool no_memory;

	return text ? kp_json_load(json_string_value(text), json_string_length(text), 0,
			      &error, &no_memory)
		    : NULL;
}

/* One that a cache remembers is told again at every look. */
static bool is_told(const json_t *list, const json_t *failure)
{
	owned_json *last = value_of(list, json_array_size(list) - 1);
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

static size_t count_all(json_t *failures)
{
	const char *plugin;
	json_t *list;
	size_t n = 0;

	json_object_foreach (failures, plugin, list)
		n += json_array_size(list);
	return n;
}

static bool has_too_many(json_t *failures, const json_t *list)
{
	size_t n = json_array_size(list);

	return n > FAILURES_KEPT || (n > 1 && count_all(failures) > FAILURES_ALL);
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
	owned_json *failure = failure_json(verdict, now);
	if (!failure || is_told(list, failure))
		return;
	owned_text text = kp_json_dumps(failure, JSON_COMPACT);
	if (text && json_array_append_new(list, json_string_nocheck(text)) == 0 &&
		has_too_many(failures, list))
		(void)json_array_remove(list, 0);
}

void failures_forget(json_t *failures, const char *plugin)
{
	(void)json_object_del(failures, plugin);
}

json_t *failures_of(const json_t *failures, const char *plugin)
{
	json_t *list = json_object_get(failures, plugin);
	json_t *values = json_array();

	for (size_t i = 0; values && i < json_array_size(list); i++)
		values = kp_json_append(values, value_of(list, i));
	return values;
}
